-- run, list, dry-run, table, plot, slurm: what can be done with an experiment script.
local command = require "longhaul.command"
local core = require "longhaul.core"
local experiments = require "longhaul.experiment"
local extension = require "longhaul.run.extension"
local finished = require "longhaul.run.finished"
local fold = require "longhaul.run.fold"
local gnuplot = require "longhaul.report.gnuplot"
local identity = require "longhaul.run.identity"
local jobs = require "longhaul.run.jobs"
local lists = require "longhaul.run.lists"
local outlook = require "longhaul.run.outlook"
local overrides = require "longhaul.overrides"
local plan = require "longhaul.run.plan"
local plugins = require "longhaul.run.plugins"
local progress = require "longhaul.run.progress"
local quantity = require "longhaul.run.quantity"
local quote = require "longhaul.run.quote"
local ranks = require "longhaul.run.ranks"
local rates = require "longhaul.run.rates"
local renamed = require "longhaul.run.renamed"
local report = require "longhaul.report.report"
local results = require "longhaul.report.results"
local runner = require "longhaul.run.runner"
local scale = require "longhaul.scale"
local script = require "longhaul.script"
local selection = require "longhaul.run.selection"
local stand_in = require "longhaul.run.stand_in"
local store = require "longhaul.run.store"
local watch = require "longhaul.report.watch"

-- Which runs are meant.
local choosing = {
  scale.option,
  { "seeds=", "seeds per row; default: what the script says", "N" },
  command.device_option "cpu, or cuda where built",
  { "only=", "only rows with this in label or dataset, or LABEL/DATASET; may be repeated", "TEXT",
    repeats = true },
  { "set=", "change options of these rows: model.window=64, task. or train.; may be repeated",
    "KIND.OPTION=VALUE", repeats = true, alone = "^%a+%.[%w_]+=" },
  { "results=", "folder for results (default results)", "FOLDER" },
  { "sandbox", "for a stranger's script: no files, no programs, bounded memory and time" },
}
local most_threads, most_rounds = 1024, 100
local threads = { "threads=", "processor threads", "N" }
local no_timing = { "no-timing", "leave the step times out" }
local side_by_side = { "jobs=", "runs side by side, the threads divided; auto: as many as fill them",
  "N|auto" }

local function settings_of(values)
  if values.threads then
    core.set_threads(command.integer(values, "threads", nil, 1, most_threads))
  end
  if values.rounds and values["no-timing"] then
    command.misuse "--rounds times steps, which --no-timing leaves out"
  end
  local set, wrong = overrides.read(values.set)
  if not set then command.misuse("--set: " .. wrong) end
  return {
    scale = values.scale or "small", set = set,
    seeds = command.integer(values, "seeds", nil, 1, experiments.most_seeds),
    device = values.device or "cpu",
    only = values.only,
    results = command.path(values, "results", "results"),
    sandbox = values.sandbox,
    force = values.force, rounds = command.integer(values, "rounds", 1, 1, most_rounds),
    no_timing = values["no-timing"], fail_fast = values["fail-fast"],
    keep_checkpoints = values["keep-checkpoints"],
  }
end

local passed_on = { "scale", "seeds", "device", "only", "set", "results" }

-- The words after the program's name that run a script as the command line here says, on so many
-- threads.
local function run_words(values, script_path, cores)
  local words = { "run", script_path }
  for _, name in ipairs(passed_on) do
    local given = values[name]
    for _, value in ipairs(type(given) == "table" and given or { given }) do
      words[#words + 1] = "--" .. name .. "=" .. value
    end
  end
  for _, name in ipairs { "sandbox", "keep-checkpoints" } do
    if values[name] then words[#words + 1] = "--" .. name end
  end
  words[#words + 1] = "--threads=" .. cores
  return words
end

-- Whether --only means a row of an experiment, or of one that is run before it.
local function means_some(experiment, only)
  for _, each in ipairs(plan.all(experiment)) do
    for _, row in ipairs(each.rows) do
      if selection.means(only, row.label, row.dataset) then return true end
    end
  end
  return false
end

-- A script without rows may show those of others, or judge claims by what was run before.
local function check_purpose(experiment, path, at)
  if #experiment.rows + #experiment.sources + #experiment.claims > 0 then return end
  error(("%s: the experiment '%s' has no row at scale %s, no other's and no claim: bench:row { ... } adds one"):format(
    path, experiment.name, at), 0)
end

local function load_script(values, rest)
  if not rest[1] then command.misuse("expected one SCRIPT.lua; --help says more") end
  local settings = settings_of(values)
  local experiment = script.load(rest[1], settings)
  check_purpose(experiment, rest[1], settings.scale)
  if lists.has(settings.only or {}, "") then command.misuse "--only takes a part of a label or data set" end
  if settings.only and not means_some(experiment, settings.only) then
    error(("no row contains '%s'"):format(table.concat(settings.only, "', nor '")), 0)
  end
  return experiment, settings
end

-- How many runs go on side by side: nil for one after the other in this process, "auto", or a
-- number.
local function jobs_of(values)
  if not values.jobs or values.jobs == "1" then return nil end
  if ranks.size > 1 then
    command.misuse("--jobs is for one process: ranks train each run together")
  end
  if values.run then command.misuse("--jobs is for a whole plan, --run for one run of it") end
  if (values.device or "cpu") ~= "cpu" then
    command.misuse("--jobs divides the processor; runs on a card go one after the other")
  end
  if values.jobs == "auto" then return "auto" end
  if not math.tointeger(tonumber(values.jobs)) then
    command.misuse(("--jobs takes a number or auto, not '%s'"):format(values.jobs))
  end
  return command.integer(values, "jobs", nil, 1, most_threads)
end

-- The command line of a process that does one run of the plan, or of that of the experiment
-- `source`, whose rows the script's charts show.
local function worker_words(values, script_path)
  return function(cores, number, source)
    local words = run_words(values, script_path, cores)
    words[#words + 1] = "--run=" .. number
    if values.force and not source then words[#words + 1] = "--force" end
    if source then words[#words + 1] = "--plan=" .. source end
    return words
  end
end

-- The experiment whose plan --plan means: the script's, or one that a run of it runs first.
local function planned(values, experiment)
  if not values.plan then return experiment end
  local named = lists.named(plan.all(experiment), values.plan)
  return named or command.misuse(("--plan: the script's charts show no rows of an experiment '%s'"):format(values.plan))
end

local function say_at_end(text)
  if not progress.is_worker then io.stderr:write(text, "\n") end
end

local function run(values, rest)
  core.check_device(values.device or "cpu")
  local asked = jobs_of(values)
  local experiment, settings = load_script(values, rest)
  settings.number, settings.jobs, settings.words = command.integer(values, "run"), asked,
    worker_words(values, rest[1])
  experiment = planned(values, experiment)
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
  if not settings.number then report.all(experiment, settings) end
  if failed > 0 then say_at_end(("%d run%s failed"):format(failed, failed == 1 and "" or "s")) end
  return failed > 0 and command.failed or command.ok
end

-- What cannot go on from a finished run, and why: "row "a" books seed 1: ...".
local function refusals_of(values, rest)
  local experiment, settings = load_script(values, rest)
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

local function extend(values, rest)
  local steps = command.integer(values, "steps", nil, 1)
  if not steps and not values.seeds then command.misuse "extend takes --steps N, --seeds N or both" end
  if not steps then return run(values, rest) end
  values.set = values.set or {}
  table.insert(values.set, "train.steps=" .. steps)
  values["keep-checkpoints"] = true
  local refusals = refusals_of(values, rest)
  if #refusals > 0 then
    error(("%s\n`longhaul run --set train.steps=%d` trains them from their start"):format(
      table.concat(refusals, "\n"), steps), 0)
  end
  return run(values, rest)
end

local function width(text) return utf8.len(text) or #text end

-- Prints lines of texts, each column as wide as its longest text, but at least `least`.
local function print_columns(lines, least)
  local widest = { table.unpack(least) }
  for _, texts in ipairs(lines) do
    for i in ipairs(least) do widest[i] = math.max(widest[i], width(texts[i])) end
  end
  for _, texts in ipairs(lines) do
    for i in ipairs(least) do texts[i] = texts[i] .. (" "):rep(widest[i] - width(texts[i])) end
    fold.print(table.concat(texts, " "))
  end
end

local function list(values, rest)
  local script_experiment, settings = load_script(values, rest)
  local lines = {}
  for _, experiment in ipairs(plan.all(script_experiment)) do
    for _, row in ipairs(experiment.rows) do
      if selection.means(settings.only, row.label, row.dataset) then
        lines[#lines + 1] = { quote.line(row.label), quote.line(row.dataset), row.model.name, row.line }
      end
    end
  end
  print_columns(lines, { 28, 14, 12 })
end

-- ---- dry-run ----

-- "0.3s", and what quantity.duration says of more.
local function duration(seconds)
  return seconds < 9.95 and ("%.1fs"):format(seconds) or quantity.duration(seconds)
end

local function mebibytes(bytes) return bytes and ("%.0f MiB"):format(bytes / 2 ^ 20) or "?" end

local function mark_of(run)
  if run.state ~= "new" then return run.state end
  return run.row.untuned and "to be tuned" or ""
end

local function show_run(run)
  local expected = run.expected
  local line = ("%s  %-22s %-14s seed %d  %6s parameters  %6s FLOP/token  %7s  %8s  %s"):format(run.id,
    quote.line(run.row.label), quote.line(run.row.dataset), run.seed,
    quantity.amount(expected.parameters), quantity.amount(expected.flops_per_token),
    duration(expected.seconds), mebibytes(expected.bytes), mark_of(run))
  fold.print((line:gsub(" +$", "")))
end

-- What is not known of a run's memory is at least that of its parameters, which may be too much. An
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
  local ahead = {}
  all.seconds = all.seconds + seconds
  for _, run in ipairs(runs) do
    if run.refusal then
      table.insert(all.refused_runs, run)
    else
      show_run(run)
      local is_over = finished.is_over(run.state)
      all.runs, all.over = all.runs + 1, all.over + (is_over and 1 or 0)
      if is_over then table.insert(all.records, run.record) else table.insert(ahead, run) end
      add_memory(run, settings, all)
      add_stand_in(run.row.task, all)
      all.by[run.expected.by] = (all.by[run.expected.by] or 0) + 1
      all.load = math.max(all.load, not is_over and run.expected.load or 0)
    end
  end
  table.move(ahead, 1, #ahead, #all.ahead + 1, all.ahead)
  local names = renamed.notes(ahead, experiment, store.under(settings, experiment.runs))
  table.move(names, 1, #names, #all.renamed + 1, all.renamed)
end

local by_words = { runs = "runs that were trained here", probe = "a few steps tried here",
  FLOPs = "FLOPs" }

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
    and (" (that of %d runs is known by their parameters alone)"):format(all.unknown) or ""))
  if #known > 0 then print("known: " .. table.concat(known, ", ")) end
  if all.load > 0 then
    print(("others used %.1f processors while rows were tried: on the idle machine it is less"):format(all.load))
  end
  local rebuilt = plugins.sentence(all.records)
  if rebuilt then fold.print("note: " .. rebuilt) end
  local crowded = jobs.note(machine, settings.jobs)
  if crowded then fold.print("note: " .. crowded) end
  for _, texts in ipairs { rates.notes(all.ahead), all.renamed, all.stand_ins } do
    for _, text in ipairs(texts) do fold.print("note: " .. text) end
  end
  for _, texts in ipairs { plan.refusals(all.refused_runs), all.refusals } do
    for _, text in ipairs(texts) do fold.print("refused: " .. text) end
  end
end

-- What its charts and its rows need first, the rounds of trials one after the other, then itself.
local function show_plans(experiment, settings, all)
  local gentle = setmetatable({ no_timing = true }, { __index = settings })
  for _, each in ipairs(plan.all(experiment)) do
    show_plan(each, each == experiment and settings or gentle, all)
  end
end

local function dry_run(values, rest)
  local experiment, settings = load_script(values, rest)
  settings.jobs = jobs_of(values)
  local all = { runs = 0, over = 0, seconds = 0, bytes = 0, refused_runs = {}, refusals = {}, refused = {}, by = {},
    load = 0, unknown = 0, records = {}, ahead = {}, renamed = {}, stand_ins = {} }
  show_plans(experiment, settings, all)
  show_total(all, settings, core.machine())
  return #all.refusals + #all.refused_runs > 0 and command.failed or command.ok
end

-- ---- what was run ----

local function tables(values, rest)
  local experiment, settings = load_script(values, rest)
  local measured = results.of(experiment, settings):selected(settings.only)
  report.print_paths("Files", report.tables(experiment, settings, measured))
  if settings.only then return end
  report.print_paths("Exponents", report.fits(experiment, settings, measured))
  report.print_paths("Moments", report.moments(experiment, settings, measured))
  report.claims(experiment, settings)
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
  local experiment, settings = load_script(values, rest)
  core.catching_signals(function() show_until_over(experiment, settings, every) end)
end

local function plot(values, rest)
  local experiment, settings = load_script(values, rest)
  local measured = results.of(experiment, settings):selected(settings.only)
  local paths, excuses, failed = report.charts(experiment, settings, measured, values.format)
  report.print_paths("Charts", paths)
  for _, excuse in ipairs(excuses) do io.stderr:write(excuse, "\n") end
  if #paths == 0 and #excuses == 0 then report.print_nothing(experiment, settings, measured) end
  return failed > 0 and command.failed or command.ok
end

-- ---- job arrays ----

-- The line of a shell script, or of a comment there, for a command that takes the script and what is
-- chosen of it.
local function line_of(job, name, more)
  local words = run_words(job.values, job.script, job.cores)
  words[1], words[#words + 1] = name, more
  table.insert(words, 1, core.program_folder() .. "/longhaul")
  for i, word in ipairs(words) do
    if word:find("[\r\n]") then
      command.misuse("slurm: a word with a line end cannot stand in a comment of the script")
    end
    words[i] = quote.shell(word)
  end
  return table.concat(words, " ")
end

local function say(...) print((...):format(select(2, ...))) end

local function say_end(line)
  say("# When all have ended, one process makes the step times, the tables and the charts:")
  say("#   %s", line)
end

-- Slurm starts the ranks of a run by srun. A signal comes before the time is up: to all ranks, or
-- to the one process that the shell has become.
local function say_array(experiment, runs, job)
  local whole, one = line_of(job, "run"), line_of(job, "run", "--plan=" .. experiment.name)
  local alone = job.ranks == 1
  local start = alone and "" or ("srun --mpi=pmix --kill-on-bad-exit=1 --cpus-per-task=%d "):format(job.cores)
  say("#!/bin/sh")
  say("#SBATCH --job-name=%s", experiment.name)
  say("#SBATCH --array=1-%d", runs)
  say("#SBATCH --ntasks=%d --cpus-per-task=%d", job.ranks, job.cores)
  if job.values.device == "cuda" then say("#SBATCH --gpus-per-task=1") end
  say("#SBATCH --signal=%sTERM@120", alone and "B:" or "")
  say("# One run per task of the array, into one results folder. What is stopped goes on when this is submitted again.")
  say_end(whole)
  say("exec %s%s --run \"$SLURM_ARRAY_TASK_ID\"", start, one)
end

-- Whether the rows of an experiment wait for trials.
local function is_untuned(runs)
  for _, run in ipairs(runs) do
    if run.row.untuned then return true end
  end
  return false
end

-- Puts the rounds of an experiment's trials into the list that it is to follow, as often again as it takes.
local function add_passes(list, experiment, meant)
  local rounds, round = {}, experiment.trials
  while round do
    if meant[round] then table.insert(rounds, 1, round) end
    round = round.trials
  end
  for _ = 2, #rounds > 0 and plan.passes(experiment) or 1 do
    table.move(rounds, 1, #rounds, #list + 1, list)
  end
end

-- The experiments that have something to run, in their order; of trials the rounds that rows still wait
-- for, more than once where a trial starts from what others decide. Whose trials they are comes behind them.
local function submitted(experiment, settings)
  local list, all, ended, meant = {}, plan.all(experiment), {}, {}
  for i = #all, 1, -1 do
    local runs = ended[all[i]] and {} or plan.of(all[i], settings)
    meant[all[i]] = #runs > 0
    if all[i].trials and not is_untuned(runs) then ended[all[i].trials] = true end
  end
  for _, each in ipairs(all) do
    if meant[each] then
      add_passes(list, each, meant)
      list[#list + 1] = each
    end
  end
  return list
end

-- A script for the shell that submits the array of each plan, printed as it is submitted. An array
-- begins when those that it waits for have ended, whatever became of them: a trial that failed is lost,
-- and a row some of whose trials are still to end says so.
local function say_submissions(list, job)
  local whole, array = line_of(job, "run"), line_of(job, "slurm", "--ranks=" .. job.ranks)
  say("#!/bin/sh")
  say("# Several job arrays, since trials decide what others train. Submit them by sh, not by sbatch, whose options")
  say("# may follow: sh job.sh --time=4:00:00. What is stopped goes on when they are submitted again.")
  say_end(whole)
  say("array() { %s --plan=\"$1\"; }", array)
  local numbers = {}
  for i, experiment in ipairs(list) do
    local name, waits = quote.shell(experiment.name), numbers[experiment] or ""
    for _, other in ipairs(plan.needs(experiment)) do waits = waits .. (numbers[other] or "") end
    numbers[experiment] = (":$job%d"):format(i)
    if waits ~= "" then waits = "--dependency=afterany" .. waits .. " " end
    say("job%d=$(array %s | sbatch --parsable %s\"$@\") || exit", i, name, waits)
    say("echo %s\": job $job%d\"", name, i)
  end
end

local function slurm(values, rest)
  local experiment, settings = load_script(values, rest)
  local job = { values = values, script = rest[1], cores = command.integer(values, "threads", 2, 1, most_threads),
    ranks = command.integer(values, "ranks", 1) }
  local list = values.plan and { planned(values, experiment) } or submitted(experiment, settings)
  local first = list[1] or experiment
  local runs = #plan.of(first, settings)
  if runs == 0 then error(("%s has no row that is wanted"):format(first.name), 0) end
  if #list == 1 then return say_array(first, runs, job) end
  say_submissions(list, job)
end

local function with(...)
  return table.move({ ... }, 1, select("#", ...), #choosing + 1, { table.unpack(choosing) })
end

local to_run = with(threads, { "force", "run finished runs again, and from their start those that are begun" },
  no_timing,
  { "rounds=", "rounds of step times on the idle machine that each row is to have (default 1); three or more "
    .. "decide a claim about time as seeds decide others", "N" },
  { "fail-fast", "stop at the first run that fails" },
  { "keep-checkpoints", "keep the last checkpoint of each run when it is finished" },
  { "run=", "only the N-th run of the plan, without step times", "N" },
  { "plan=", "with --run: of the plan of this experiment, whose rows the script's charts or trials have",
    "NAME" },
  side_by_side)
local to_extend = with(threads,
  { "steps=", "how many in all; a run goes on from the last checkpoint of its fewer steps", "N" },
  no_timing, { "fail-fast", "stop at the first run that fails" }, side_by_side)
local to_submit = with(threads, { "ranks=", "processes that train each run together", "N" },
  { "plan=", "the array of this experiment alone, whose rows the script's charts or trials have", "NAME" })

return {
  {
    name = "run", takes = "script", summary = "run an experiment script, then print its table", options = to_run,
    ranks = true,
    most = 1, usage = "run SCRIPT.lua [--scale SCALE] [--seeds N] [--only TEXT] ...", run = run,
    description = "Runs every row that is not finished yet, measures step times, and writes "
      .. "results/<experiment>/runs.csv, table.{csv,md,html,tex} and charts. Ctrl-C stops after a "
      .. "checkpoint; the same command resumes.",
  },
  {
    name = "extend", takes = "script", summary = "more steps, or more seeds, of the finished runs of a script",
    options = to_extend, ranks = true, run = extend,
    most = 1, usage = "extend SCRIPT.lua --steps N [--seeds N] [--scale SCALE] [--only TEXT] ...",
    description = "Goes on from the last checkpoints that `run --keep-checkpoints` left, and keeps its own. "
      .. "What comes out is bit for bit a run of N steps, under the identity of one; where it would not "
      .. "be (a schedule made for a number of steps, keep_best) it is refused with the reason. Seeds that "
      .. "are there are kept. `run --set train.steps=N` goes on in the same way where it can.",
  },
  {
    name = "list", takes = "script", summary = "list the rows of a script", options = choosing, run = list,
    most = 1, usage = "list SCRIPT.lua [--scale SCALE]",
  },
  {
    name = "dry-run", takes = "script", summary = "show what would run, how long and in how much memory",
    options = with(threads, no_timing, side_by_side), run = dry_run,
    most = 1, usage = "dry-run SCRIPT.lua [--scale SCALE] [--jobs N|auto]",
    description = "Each run with its sizes, the time and memory that are expected of it, and whether it is done, "
      .. "begun or to be tuned; the sum; every row that would be refused. Nothing of the plan is run or written: "
      .. "what no run here has told is measured by a few steps in memory, once, and kept in the cache folder.",
  },
  {
    name = "table", takes = "script", summary = "make the tables again from the results", options = choosing,
    run = tables, most = 1, usage = "table SCRIPT.lua [--scale SCALE] [--only TEXT] ...",
    description = "Also judges the claims that the script declares. With --only the tables of these rows are printed, "
      .. "and nothing is written or judged.",
  },
  {
    name = "plot", takes = "script", summary = "draw the charts again from the results",
    options = with({ "format=", "svg, png or pdf alone; default: SVG and PNG", "FORMAT",
      words = gnuplot.formats }), run = plot,
    most = 1, usage = "plot SCRIPT.lua [--scale SCALE] [--only TEXT] ... [--format FORMAT]",
    description = "With --only the charts show these rows alone, in files of their own, NAME-only.svg.",
  },
  {
    name = "watch", takes = "script", summary = "show how far a sweep is, from another terminal",
    options = with({ "every=", "seconds between two looks (default 2)", "N" },
      { "once", "look once; so it is, too, where there is no terminal" }),
    run = watch_script, most = 1, usage = "watch SCRIPT.lua [--scale SCALE] [--results FOLDER] [--every N]",
    description = "Reads what the processes of a sweep have written so far, wherever they run, and changes nothing. "
      .. "Ends when all runs are over.",
  },
  {
    name = "slurm", takes = "script",
    summary = "print a job array that runs a script on a cluster",
      options = to_submit,
    run = slurm, most = 1, usage = "slurm SCRIPT.lua [--scale SCALE] ... > job.sh; sbatch job.sh",
    description = "Every task of the array does one run. Where trials of lh.tune are missing, or charts show rows of "
      .. "other experiments, what is printed submits an array for each: `sh job.sh`. See docs/cluster.md.",
  },
}
