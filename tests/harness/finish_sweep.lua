-- longhaul lua tests/harness/finish_sweep.lua SCRIPT RESULTS: fills the results folder as a finished
-- sweep of the script at scale smoke leaves it, without training: a row of runs.csv for each run
-- under its right id, with drawn numbers, and step times of every configuration on this machine.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local provenance = require "longhaul.run.provenance"
local plan = require "longhaul.run.plan"
local script = require "longhaul.script"
local store = require "longhaul.run.store"

local path, folder = ...
local settings = { scale = "smoke", device = "cpu", results = folder }
local experiment, machine = script.load(path, settings), core.machine()
local rows_of_a_round = 48
math.randomseed(7)

local times_of_row = {}

-- What a timing says of a row, as texts, since runs.csv has them as they are.
local function times_of(row)
  local ms = 10 + math.random()
  local function text(value) return ("%.17g"):format(value) end
  times_of_row[row] = times_of_row[row] or {
    step_time_ms = text(ms), step_time_q1_ms = text(0.9 * ms), step_time_q3_ms = text(1.1 * ms),
    tokens_per_second = text(64e3 / ms), peak_memory_bytes = "1000000",
    inference_memory_bytes = "500000",
  }
  return times_of_row[row]
end

-- What seeds have in common; their own fields are names between #.
local function record_of(run)
  local row = run.row
  local record = {
    run_id = "#id#", configuration = run.identity.configuration, identity = identity.version,
    data_digest = run.identity.data_digest, starts_from = "", experiment = run.experiment,
    row = row.label, dataset = row.dataset, model = run.slug, class = row.model.name,
    task = row.task.name, data = identity.task_info(row.task).data, seed = "#seed#",
    scale = run.scale, device = run.device, precision = row.train:option "precision", ranks = 1,
    version = identity.class_version(row.model.name), model_options = row.model.text,
    task_options = row.task.text, train_options = row.train.text, status = "done", step = 100,
    parameters = 12345, flops_per_token = 54321, state_bytes = 4096, bits_per_token = "#bits#",
    bits_per_byte = "#bits#", perplexity = "#perplexity#", valid_bits_per_token = "#valid#",
    valid_perplexity = "#perplexity#", wall_time_s = "#seconds#",
  }
  for name, value in pairs(times_of(row)) do record[name] = value end
  for _, factor in ipairs(row.factors or {}) do record[factor[1]] = factor[2] end
  return provenance.fill(record, machine)
end

local function seed_of(run)
  local bits = 2 + math.random()
  local numbers = { bits = bits, perplexity = 2 ^ bits, valid = bits + math.random() / 9,
    seconds = 10 + math.random() }
  for name, number in pairs(numbers) do numbers[name] = ("%.17g"):format(number) end
  numbers.id, numbers.seed = run.id, run.seed
  return numbers
end

local function time_of(run, round)
  local record = {
    round = ("round %d"):format(round), configuration = run.identity.configuration,
    row = run.row.label, dataset = run.row.dataset, scale = run.scale, device = run.device,
    data = "books", ranks = 1, precision = "f32", tokens_per_step = 64, steps = 3, warmup = 1,
    load = 0, busy = "no",
  }
  for name, value in pairs(times_of(run.row)) do record[name] = value end
  return provenance.fill(record, machine)
end

local runs, times, extra = plan.of(experiment, settings), {}, {}
for _, run in ipairs(runs) do
  if not run.identity then identity.fill(run.shared) end
  run.id = identity.id(run)
end
for i, factor in ipairs(experiment.rows[1].factors or {}) do extra[i] = factor[1] end
local columns = store.all_columns(store.columns, { record_of(runs[1]) }, extra)
local lines, line_of_row = { csv.format(columns, {}) }, {}
for i, run in ipairs(runs) do
  local line = line_of_row[run.row] or csv.line(columns, record_of(run))
  line_of_row[run.row] = line
  lines[i + 1] = line:gsub("#(%a+)#", seed_of(run))
  if run.seed == 1 then times[#times + 1] = time_of(run, 1 + #times // rows_of_a_round) end
end
local results = store.open(folder, experiment.runs)
core.write_file(results.file, table.concat(lines))
results:add_timings(times)
