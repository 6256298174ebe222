-- dry-run: what running an experiment script would do, how long it would take and in how much memory.
local asked = require "longhaul.asked"
local command = require "longhaul.command"
local core = require "longhaul.core"
local finished = require "longhaul.run.finished"
local fold = require "longhaul.run.fold"
local identity = require "longhaul.run.identity"
local jobs = require "longhaul.run.jobs"
local lists = require "longhaul.run.lists"
local lost = require "longhaul.run.lost"
local outlook = require "longhaul.run.outlook"
local plan = require "longhaul.run.plan"
local plugins = require "longhaul.run.plugins"
local quantity = require "longhaul.run.quantity"
local quote = require "longhaul.run.quote"
local rates = require "longhaul.run.rates"
local renamed = require "longhaul.run.renamed"
local row_notes = require "longhaul.run.row_notes"
local stand_in = require "longhaul.run.stand_in"
local store = require "longhaul.run.store"

-- "0.3s", and what quantity.duration says of more.
local function duration(seconds)
  return seconds < 9.95 and ("%.1fs"):format(seconds) or quantity.duration(seconds)
end

local function mebibytes(bytes) return bytes and ("%.0f MiB"):format(bytes / 2 ^ 20) or "?" end

local function mark_of(run)
  if run.state ~= "new" then return run.state end
  return run.row.untuned and "to be tuned" or ""
end

-- A run as texts: what it is, then what it takes.
local function line_of(run)
  local expected = run.expected
  local sizes = ("seed %d  %6s parameters  %6s FLOP/token  %7s  %8s  %s"):format(run.seed,
    quantity.amount(expected.parameters), quantity.amount(expected.flops_per_token), duration(expected.seconds),
    mebibytes(expected.bytes), mark_of(run))
  return { run.id .. " ", quote.line(run.row.label), quote.line(run.row.dataset), (sizes:gsub(" +$", "")) }
end

-- What is not known of a run's memory is at least that of its parameters and a batch, which may be too much. An
-- estimate refuses nothing.
local function add_memory(run, settings, all)
  local expected, memory = run.expected, core.machine().memory_bytes
  local least = expected.least_bytes
  all.bytes = math.max(all.bytes, expected.bytes or least)
  all.unknown = all.unknown + (expected.bytes and 0 or 1)
  if settings.device ~= "cpu" or least <= memory or finished.is_over(run.state) then return end
  local text = ("%s: row \"%s\" (%s): takes %s of memory or more, where this machine has %s"):format(
    run.row.line, run.row.label, run.row.dataset, mebibytes(least), mebibytes(memory))
  if not all.refused[text] then table.insert(all.refusals, text) end
  all.refused[text] = true
end

local by_words = { runs = "runs that were trained here", probe = "a few steps tried here",
  FLOPs = "FLOPs" }

-- Of a run whose batch was too large to be read: what was done instead.
local function unread_of(run)
  local positions = run.expected.unread
  return positions and { ("a batch of %s positions is too large to be read or tried here: its time is by %s, "
    .. "each evaluation counted as one batch"):format(quantity.amount(positions), by_words[run.expected.by]) } or {}
end

-- Notes, once, that a generator stands in for a corpus.
local function add_stand_in(task, all)
  local text = stand_in.of(identity.task_info(task).data, task)
  if text and not lists.has(all.stand_ins, text) then table.insert(all.stand_ins, text) end
end

-- Shows a plan; adds to `all`: runs, those that are over and their records, seconds ahead, the most bytes,
-- those refused, those too large (refusals), what generators stand in for, and how many are known by what.
local function show_plan(experiment, settings, all)
  experiment:baselines()
  local runs, seconds = outlook.of(experiment, settings)
  local ahead, lines = {}, {}
  all.seconds = all.seconds + seconds
  for _, run in ipairs(runs) do
    if run.refusal then
      table.insert(all.refused_runs, run)
    else
      lines[#lines + 1] = line_of(run)
      local is_over = finished.is_over(run.state)
      all.runs, all.over = all.runs + 1, all.over + (is_over and 1 or 0)
      if is_over then table.insert(all.records, run.record) else table.insert(ahead, run) end
      add_memory(run, settings, all)
      add_stand_in(run.row.task, all)
      all.by[run.expected.by] = (all.by[run.expected.by] or 0) + 1
      all.load = math.max(all.load, not is_over and run.expected.load or 0)
    end
  end
  fold.print_columns(lines, { 17, 22, 14 })
  table.move(ahead, 1, #ahead, #all.ahead + 1, all.ahead)
  local stored = store.under(settings, experiment.runs)
  all.amiss[#all.amiss + 1] = lost.note(ahead, stored)
  local names = renamed.notes(ahead, experiment, stored)
  table.move(names, 1, #names, #all.amiss + 1, all.amiss)
end

local function order_of(asked)
  if not asked then return "one run after the other" end
  return asked == "auto" and "as many runs side by side as fill them"
    or ("%d runs side by side"):format(asked)
end

local function show_total(all, settings, machine)
  local known = {}
  for _, by in ipairs { "runs", "probe", "FLOPs" } do
    if all.by[by] then known[#known + 1] = ("%d by %s"):format(all.by[by], by_words[by]) end
  end
  fold.print(("%d runs, %d done; %s ahead on %d threads, %s, step times %s; at %s %s of %s%s"):format(
    all.runs, all.over, duration(all.seconds), machine.threads, order_of(settings.jobs),
    settings.no_timing and "left out" or "included", all.unknown > 0 and "least" or "most",
    mebibytes(all.bytes), mebibytes(machine.memory_bytes), all.unknown > 0
    and (" (that of %d runs is known by their parameters and batches alone)"):format(all.unknown) or ""))
  if #all.scripts > 1 then
    for _, text in ipairs(all.scripts) do fold.print(text) end
  end
  if #known > 0 then print("known: " .. table.concat(known, ", ")) end
  if all.load > 0 then
    print(("others used %.1f processors while rows were tried: on the idle machine it is less"):format(all.load))
  end
  for _, texts in ipairs { { plugins.sentence(all.records) }, { jobs.note(machine, settings.jobs) },
    rates.notes(all.ahead), row_notes.all(all.ahead, unread_of), all.amiss, all.stand_ins } do
    for _, text in ipairs(texts) do fold.print("note: " .. text) end
  end
  for _, texts in ipairs { plan.refusals(all.refused_runs), all.refusals } do
    for _, text in ipairs(texts) do fold.print("refused: " .. text) end
  end
end

-- What its charts and its rows need first, the rounds of trials one after the other, then itself.
local function show_plans(path, experiment, settings, all)
  local gentle = setmetatable({ no_timing = true }, { __index = settings })
  local runs, over, seconds = all.runs, all.over, all.seconds
  for _, each in ipairs(plan.all(experiment)) do
    show_plan(each, each == experiment and settings or gentle, all)
  end
  table.insert(all.scripts, ("of these %s: %d runs, %d done; %s ahead"):format(
    path, all.runs - runs, all.over - over, duration(all.seconds - seconds)))
end

local function dry_run(values, rest)
  local all = { runs = 0, over = 0, seconds = 0, bytes = 0, refused_runs = {}, refusals = {}, refused = {}, by = {},
    load = 0, unknown = 0, records = {}, ahead = {}, amiss = {}, stand_ins = {}, scripts = {} }
  local last
  asked.each_script(values, rest, function(path)
    local experiment, settings = asked.script(values, path)
    settings.jobs = asked.jobs(values)
    show_plans(path, experiment, settings, all)
    last = settings
  end)
  show_total(all, last, core.machine())
  return #all.refusals + #all.refused_runs > 0 and command.failed or command.ok
end

return {
  {
    name = "dry-run", takes = "script", summary = "show what would run, how long and in how much memory",
    options = asked.with(asked.threads, asked.no_timing, asked.side_by_side), run = dry_run,
    most = 1, usage = "dry-run SCRIPT.lua [--scale SCALE] [--jobs N|auto]",
    description = "Each run with its sizes, the time and memory that are expected of it, and whether it is done, "
      .. "begun or to be tuned; the sum; every row that would be refused. Nothing of the plan is run or written: "
      .. "what no run here has told is measured by a few steps in memory, once, and kept in the cache folder. In place "
      .. "of a script a folder stands for all scripts in it, each with its own sum.",
  },
}
