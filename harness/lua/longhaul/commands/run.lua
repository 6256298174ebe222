-- run, extend, list, table, plot, watch: what can be done with an experiment script.
local asked = require "longhaul.asked"
local command = require "longhaul.command"
local core = require "longhaul.core"
local extension = require "longhaul.run.extension"
local finished = require "longhaul.run.finished"
local fold = require "longhaul.run.fold"
local gnuplot = require "longhaul.report.gnuplot"
local identity = require "longhaul.run.identity"
local lost = require "longhaul.run.lost"
local plan = require "longhaul.run.plan"
local progress = require "longhaul.run.progress"
local quote = require "longhaul.run.quote"
local ranks = require "longhaul.run.ranks"
local report = require "longhaul.report.report"
local results = require "longhaul.report.results"
local runner = require "longhaul.run.runner"
local selection = require "longhaul.run.selection"
local store = require "longhaul.run.store"
local watch = require "longhaul.report.watch"

-- The command line of a process that does one run of the plan, or of that of the experiment
-- `source`, whose rows the script's charts show.
local function worker_words(values, script_path)
  return function(cores, number, source)
    local words = asked.run_words(values, script_path, cores)
    words[#words + 1] = "--run=" .. number
    if values.force and not source then words[#words + 1] = "--force" end
    if source then words[#words + 1] = "--plan=" .. source end
    return words
  end
end

local function say_at_end(text)
  if not progress.is_worker then io.stderr:write(text, "\n") end
end

local function run(values, path)
  core.check_device(values.device or "cpu")
  local side_by_side = asked.jobs(values)
  local experiment, settings = asked.script(values, path)
  settings.number, settings.jobs, settings.words = command.integer(values, "run"), side_by_side,
    worker_words(values, path)
  experiment = asked.planned(values, experiment)
  local failed, interrupted = runner.run(experiment, settings)
  if not ranks.first then return command.ok end
  local same = "the same command" .. (settings.force and " without --force" or "")
  if interrupted and failed > 0 and settings.fail_fast then
    say_at_end(("stopped where a run failed; %s goes on with the others"):format(same))
    return command.failed
  end
  if interrupted then
    say_at_end(("interrupted; %s goes on from the last checkpoint"):format(same))
    return command.interrupted
  end
  local undrawn = settings.number and 0 or report.all(experiment, settings)
  if failed > 0 then say_at_end(("%d run%s failed"):format(failed, failed == 1 and "" or "s")) end
  return failed + undrawn > 0 and command.failed or command.ok
end

-- A command on one script, or on each of a folder: those behind one with runs that failed go on, as rows do, but for
-- --fail-fast; none does behind Ctrl-C.
local function each(act)
  return function(values, rest)
    local worst = command.ok
    asked.each_script(values, rest, function(path)
      local code = act(values, path)
      worst = math.max(worst, code)
      return code == command.interrupted or code ~= command.ok and values["fail-fast"]
    end)
    return worst
  end
end

-- What cannot go on from a finished run, and why: "row "a" books seed 1: ...".
local function refusals_of(values, path)
  local experiment, settings = asked.script(values, path)
  local refusals, results = {}, store.at(settings.results, experiment.runs)
  for _, run in ipairs(plan.of(experiment, settings)) do
    run.id = identity.of(run).run_id
    local shorter, why = extension.of(run, results)
    local is_new = values.seeds and why == extension.nothing
    if not shorter and not is_new and not finished.is_done(run, results) then
      refusals[#refusals + 1] = ("row \"%s\" %s seed %d: %s"):format(run.row.label, run.row.dataset,
        run.seed, why)
    end
  end
  return refusals
end

local function extend(values, path)
  local steps = command.integer(values, "steps", nil, 1)
  if not steps and not values.seeds then command.misuse "extend takes --steps N, --seeds N or both" end
  if not steps then return run(values, path) end
  values.set = values.set or {}
  table.insert(values.set, "train.steps=" .. steps)
  values["keep-checkpoints"] = true
  local refusals = refusals_of(values, path)
  if #refusals > 0 then
    error(("%s\n`longhaul run --set train.steps=%d` trains them from their start"):format(
      table.concat(refusals, "\n"), steps), 0)
  end
  return run(values, path)
end

local function list(values, path)
  local script_experiment, settings = asked.script(values, path)
  local lines = {}
  for _, experiment in ipairs(plan.all(script_experiment)) do
    for _, row in ipairs(experiment.rows) do
      if selection.means(settings.only, row.label, row.dataset) then
        lines[#lines + 1] = { quote.line(row.label), quote.line(row.dataset), row.model.name, row.line }
      end
    end
  end
  fold.print_columns(lines, { 28, 14, 12 })
  return command.ok
end

-- ---- what was run ----

local function tables(values, path)
  local experiment, settings = asked.script(values, path)
  local measured = results.of(experiment, settings):selected(settings.only)
  lost.tell(experiment, settings)
  report.print_paths("Files", report.tables(experiment, settings, measured))
  if settings.only then return command.ok end
  report.print_paths("Exponents", report.fits(experiment, settings, measured))
  report.print_paths("Moments", report.moments(experiment, settings, measured))
  report.claims(experiment, settings)
  return command.ok
end

-- Until all runs are over or Ctrl-C; once where there is no terminal.
local function show_until_over(script_experiment, settings, every)
  local once = not every or not core.terminal_width "output"
  repeat
    local pages, left = {}, 0
    for i, experiment in ipairs(plan.all(script_experiment)) do
      local more
      pages[i], more = watch.page(experiment, settings)
      left = left + more
    end
    io.write(once and "" or "\27[H\27[2J", table.concat(pages, "\n\n"), "\n")
    io.flush()
    if not once and left > 0 and not core.interrupted() then core.sleep(every) end
  until once or left == 0 or core.interrupted()
end

local function watch_script(values, rest)
  local every = not values.once and command.integer(values, "every", 2, 1, 3600) or nil
  local experiment, settings = asked.script(values, rest[1])
  core.catching_signals(function() show_until_over(experiment, settings, every) end)
end

local function plot(values, path)
  local experiment, settings = asked.script(values, path)
  local measured = results.of(experiment, settings):selected(settings.only)
  lost.tell(experiment, settings)
  local paths, excuses, failed = report.charts(experiment, settings, measured, values.format)
  report.print_paths("Charts", paths)
  for _, excuse in ipairs(excuses) do io.stderr:write(excuse, "\n") end
  if #paths == 0 and #excuses == 0 then report.print_nothing(experiment, settings, measured) end
  return failed > 0 and command.failed or command.ok
end

local to_run = asked.with(asked.threads,
  { "force", "run finished runs again, and from their start those that are begun" },
  asked.no_timing,
  { "rounds=", "rounds of step times on the idle machine that each row is to have (default 1); three or more "
    .. "decide a claim about time as seeds decide others", "N" },
  { "fail-fast", "stop at the first run that fails" },
  { "keep-checkpoints", "keep the last checkpoint of each run when it is finished" },
  { "run=", "only the N-th run of the plan, without step times", "N" },
  { "plan=", "with --run: of the plan of this experiment, whose rows the script's charts or trials have",
    "NAME" },
  asked.side_by_side)
local to_extend = asked.with(asked.threads,
  { "steps=", "how many in all; a run goes on from the last checkpoint of its fewer steps", "N" },
  asked.no_timing, { "fail-fast", "stop at the first run that fails" },
  asked.side_by_side)

return {
  {
    name = "run", takes = "script", summary = "run an experiment script, then print its table", options = to_run,
    ranks = true,
    most = 1, usage = "run SCRIPT.lua [--scale SCALE] [--seeds N] [--only TEXT] ...", run = each(run),
    description = "Runs every row that is not finished yet, measures step times, and writes "
      .. "results/<experiment>/runs.csv, table.{csv,md,html,tex} and charts. Ctrl-C stops after a "
      .. "checkpoint; the same command resumes. In place of a script a folder stands for all scripts in it, one after "
      .. "the other.",
  },
  {
    name = "extend", takes = "script", summary = "more steps, or more seeds, of the finished runs of a script",
    options = to_extend, ranks = true,
    run = function(values, rest) return extend(values, rest[1]) end,
    most = 1, usage = "extend SCRIPT.lua --steps N [--seeds N] [--scale SCALE] [--only TEXT] ...",
    description = "Goes on from the last checkpoints that `run --keep-checkpoints` left, and keeps its own. "
      .. "What comes out is bit for bit a run of N steps, under the identity of one; where it would not "
      .. "be (a schedule made for a number of steps, keep_best) it is refused with the reason. Seeds that "
      .. "are there are kept. `run --set train.steps=N` goes on in the same way where it can.",
  },
  {
    name = "list", takes = "script", summary = "list the rows of a script", options = asked.options, run = each(list),
    most = 1, usage = "list SCRIPT.lua [--scale SCALE]",
  },
  {
    name = "table", takes = "script", summary = "make the tables again from the results", options = asked.options,
    run = each(tables), most = 1, usage = "table SCRIPT.lua [--scale SCALE] [--only TEXT] ...",
    description = "Also judges the claims that the script declares. With --only the tables of these rows are printed, "
      .. "and nothing is written or judged.",
  },
  {
    name = "plot", takes = "script", summary = "draw the charts again from the results",
    options = asked.with({ "format=", "svg, png or pdf alone; default: SVG and PNG", "FORMAT",
      words = gnuplot.formats }), run = each(plot),
    most = 1, usage = "plot SCRIPT.lua [--scale SCALE] [--only TEXT] ... [--format FORMAT]",
    description = "With --only the charts show these rows alone, in files of their own, NAME-only.svg.",
  },
  {
    name = "watch", takes = "script", summary = "show how far a sweep is, from another terminal",
    options = asked.with({ "every=", "seconds between two looks (default 2)", "N" },
      { "once", "look once; so it is, too, where there is no terminal" }),
    run = watch_script, most = 1, usage = "watch SCRIPT.lua [--scale SCALE] [--results FOLDER] [--every N]",
    description = "Reads what the processes of a sweep have written so far, wherever they run, and changes nothing. "
      .. "Ends when all runs are over.",
  },
}
