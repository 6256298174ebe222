-- run, list, dry-run, table, plot, claims: what can be done with an experiment script.
local command = require "longhaul.command"
local core = require "longhaul.core"
local runner = require "longhaul.runner"
local script = require "longhaul.script"

local options = {
  { "scale=", "smoke, small (default), medium, gpu or paper", "SCALE" },
  { "seeds=", "seeds per row; default: what the script says", "N" },
  { "device=", "cpu", "NAME" },
  { "only=", "only rows whose label or dataset contains this", "TEXT" },
  { "results=", "folder for results (default results)", "DIR" },
  { "threads=", "processor threads", "N" },
  { "force", "run finished runs again" },
  { "no-timing", "leave the step times out" },
}

local function integer(text, name)
  local number = math.tointeger(tonumber(text))
  if not number or number < 1 then command.misuse(("--%s takes a positive integer, not '%s'"):format(name, text)) end
  return number
end

local function settings_of(values)
  local scale = values.scale or "small"
  local scales = require("longhaul").scales
  local known = false
  for _, name in ipairs(scales) do known = known or name == scale end
  if not known then command.misuse(("no scale '%s'; there are: %s"):format(scale, table.concat(scales, ", "))) end
  if values.threads then core.set_threads(integer(values.threads, "threads")) end
  return {
    scale = scale,
    seeds = values.seeds and integer(values.seeds, "seeds"),
    device = values.device or "cpu",
    only = values.only,
    results = values.results or "results",
    force = values.force,
    no_timing = values["no-timing"],
  }
end

local function load_script(values, rest)
  if #rest ~= 1 then command.misuse("expected one SCRIPT.lua; `longhaul run --help`") end
  local settings = settings_of(values)
  return script.load(rest[1], settings), settings
end

-- Tables, charts and claims from what has been run.
local function report(experiment, settings)
  require("longhaul.report").all(experiment, settings)
end

local function run(values, rest)
  local experiment, settings = load_script(values, rest)
  local failed, interrupted = runner.run(experiment, settings)
  if interrupted then
    io.stderr:write("interrupted; the same command goes on from the last checkpoint\n")
    return command.interrupted
  end
  report(experiment, settings)
  if failed > 0 then io.stderr:write(("%d run%s failed\n"):format(failed, failed == 1 and "" or "s")) end
  return failed > 0 and command.failed or command.ok
end

local function list(values, rest)
  local experiment = load_script(values, rest)
  for _, row in ipairs(experiment.rows) do
    print(("%-28s %-12s %-12s %s"):format(row.label, row.dataset, row.model.name, row.line))
  end
end

local function dry_run(values, rest)
  local experiment, settings = load_script(values, rest)
  for _, entry in ipairs(runner.plan(experiment, settings)) do
    local task = entry.row.task
    local info = core.task_info(task.name, task.text)
    local length = math.tointeger(tonumber(task:option("segment"))) or 1
    local model = core.describe(entry.row.model.name, entry.row.model.text, info.vocabulary, length)
    print(("%s  %-22s %-12s seed %d  %s parameters  %s FLOP/token"):format(runner.identity(entry), entry.row.label,
      entry.row.dataset, entry.seed, require("longhaul.progress").amount(model.total),
      require("longhaul.progress").amount(model.flops_per_token)))
  end
end

local function views(values, rest)
  local experiment, settings = load_script(values, rest)
  report(experiment, settings)
end

return {
  {
    name = "run", summary = "run an experiment script, then print its table", options = options, run = run,
    usage = "run SCRIPT.lua [--scale SCALE] [--seeds N] [--only TEXT] ...",
    description = "Runs every row that is not finished yet, measures step times, and writes\n"
      .. "results/<experiment>/runs.csv, table.{csv,md,html,tex} and charts. Ctrl-C stops after a\ncheckpoint; the same command resumes.",
  },
  { name = "list", summary = "list the rows of a script", options = options, run = list, usage = "list SCRIPT.lua" },
  {
    name = "dry-run", summary = "show what would run, with sizes", options = options, run = dry_run,
    usage = "dry-run SCRIPT.lua [--scale SCALE]",
  },
  { name = "table", summary = "make the tables again from the results", options = options, run = views, usage = "table SCRIPT.lua" },
  { name = "plot", summary = "draw the charts again from the results", options = options, run = views, usage = "plot SCRIPT.lua" },
}
