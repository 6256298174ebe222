-- slurm: an experiment's runs as job arrays of a cluster.
local asked = require "longhaul.asked"
local command = require "longhaul.command"
local core = require "longhaul.core"
local plan = require "longhaul.run.plan"
local quote = require "longhaul.run.quote"

-- The line of a shell script, or of a comment there, for a command that takes the script and what is
-- chosen of it.
local function line_of(job, name, more)
  local words = asked.run_words(job.values, job.script, job.cores)
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
  local experiment, settings = asked.script(values, rest[1])
  local job = { values = values, script = rest[1], cores = command.integer(values, "threads", 2, 1, asked.most_threads),
    ranks = command.integer(values, "ranks", 1) }
  local list = values.plan and { asked.planned(values, experiment) } or submitted(experiment, settings)
  local first = list[1] or experiment
  local runs = #plan.of(first, settings)
  if runs == 0 then error(("%s has no row that is wanted"):format(first.name), 0) end
  if #list == 1 then return say_array(first, runs, job) end
  say_submissions(list, job)
end

return {
  {
    name = "slurm", takes = "script", summary = "print a job array that runs a script on a cluster",
    options = asked.with(asked.threads, { "ranks=", "processes that train each run together", "N" },
      { "plan=", "the array of this experiment alone, whose rows the script's charts or trials have", "NAME" }),
    run = slurm, most = 1, usage = "slurm SCRIPT.lua [--scale SCALE] ... > job.sh; sbatch job.sh",
    description = "Every task of the array does one run. Where trials of lh.tune are missing, or charts show rows of "
      .. "other experiments, what is printed submits an array for each: `sh job.sh`. See docs/cluster.md.",
  },
}
