-- Runs an experiment: every row and seed once, finished runs never again, interrupted ones from their checkpoint;
-- then step times by the protocol (all rows interleaved in one process); then tables, charts and claims.
local core = require "longhaul.core"
local progress = require "longhaul.progress"
local store = require "longhaul.store"

local runner = {}

-- Step-time protocol: warm-up steps, then rounds in which every row takes one step in turn.
local timing = { smoke = { 1, 3 }, small = { 2, 9 }, medium = { 3, 21 }, gpu = { 5, 51 }, paper = { 5, 51 } }

local class_versions = {}
for _, class in ipairs(core.models()) do class_versions[class.name] = class.version end

local task_infos = {}

local function task_info(task)
  local key = task.name .. " " .. task.text
  task_infos[key] = task_infos[key] or core.task_info(task.name, task.text)
  return task_infos[key]
end

--- The identity of a run: a hash of everything that its numbers depend on.
function runner.identity(run)
  local row = run.row
  local parts = {
    run.experiment, row.label, row.dataset, row.model.name, class_versions[row.model.name], row.model.text,
    row.task.name, row.task.text, task_info(row.task).digest, row.train.text, run.seed, run.scale, run.device,
  }
  return core.hash(table.concat(parts, "\n")):sub(1, 16)
end

--- The runs of an experiment, seed by seed so that a whole table appears early.
function runner.plan(experiment, settings)
  local runs = {}
  local function wanted(row)
    return not settings.only or (row.label .. " " .. row.dataset):find(settings.only, 1, true) ~= nil
  end
  local most = 0
  for _, row in ipairs(experiment.rows) do
    most = math.max(most, settings.seeds or row.seeds or experiment.default_seeds)
  end
  for seed = 1, most do
    for _, row in ipairs(experiment.rows) do
      if wanted(row) and seed <= (settings.seeds or row.seeds or experiment.default_seeds) then
        runs[#runs + 1] = {
          experiment = experiment.name, row = row, seed = seed, scale = settings.scale, device = settings.device,
        }
      end
    end
  end
  return runs
end

local function new_session(run)
  return core.session {
    model = run.row.model.name, model_options = run.row.model.text,
    task = run.row.task.name, task_options = run.row.task.text,
    train_options = run.row.train.text, seed = run.seed, device = run.device,
  }
end

-- The columns that are known before a run starts.
local function new_record(run, machine)
  local row = run.row
  local record = {
    run_id = run.id, experiment = run.experiment, row = row.label, dataset = row.dataset,
    model = row.model.name, task = row.task.name, data = task_info(row.task).data, seed = run.seed,
    scale = run.scale, device = run.device, code_version = machine.version, machine = machine.cpu,
    blas = machine.blas, version = class_versions[row.model.name], date = os.date("!%Y-%m-%dT%H:%M:%SZ"),
    model_options = row.model.text, task_options = row.task.text, train_options = row.train.text,
  }
  for _, factor in ipairs(row.factors or {}) do
    if record[factor[1]] == nil then record[factor[1]] = factor[2] end
  end
  return record
end

local function factor_names(row)
  local names = {}
  for i, factor in ipairs(row.factors or {}) do names[i] = factor[1] end
  return names
end

-- Trains the session to its end; false when it was interrupted.
local function train(run, results, session, shown)
  local snapshot = results:checkpoint(run.id)
  if core.exists(snapshot) then session:restore(snapshot) end
  local points = results:read_curve(run.id, session:info().step)
  local saved = core.clock()
  local done = session:train(snapshot, function(p)
    points[#points + 1] = {
      step = p.step, time_s = p.seconds, loss_bits = p.loss_bits, rate = p.rate,
      gradient_norm = p.gradient_norm, valid_bits = p.valid_bits,
    }
    shown:show(p)
    run.tokens_per_second = p.tokens_per_second or run.tokens_per_second
    if core.clock() - saved > 10 then
      saved = core.clock()
      results:write_curve(run.id, points)
    end
  end)
  results:write_curve(run.id, points)
  return done
end

local function finish(run, results, session, record)
  local metrics = session:evaluate("test")
  if not metrics then return false end
  local info = session:info()
  for _, name in ipairs { "bits_per_token", "bits_per_byte", "perplexity", "word_perplexity", "accuracy", "error_percent" } do
    record[name] = metrics[name]
  end
  record.status, record.step = "done", info.step
  record.parameters, record.flops_per_token = info.parameters, info.flops_per_token
  record.peak_memory_bytes, record.wall_time_s = info.peak_memory_bytes, info.seconds
  record.tokens_per_second = run.tokens_per_second
  results:put(record, factor_names(run.row))
  core.remove_file(results:checkpoint(run.id))
  return true
end

-- One run; "done", "failed" or "interrupted".
local function execute(run, results, machine, shown)
  local record = new_record(run, machine)
  local good, outcome = pcall(function()
    local session <close> = new_session(run)
    if not train(run, results, session, shown) then return "interrupted" end
    return finish(run, results, session, record) and "done" or "interrupted"
  end)
  if good and outcome == "done" then
    shown:finish(("%.4f bits/token  %s parameters  %s"):format(record.bits_per_token or 0 / 0,
      progress.amount(record.parameters), progress.duration(record.wall_time_s)))
  elseif not good then
    record.status, record.error = "failed", ("%s: row \"%s\": %s"):format(run.row.line, run.row.label, outcome)
    results:put(record, factor_names(run.row))
    shown:finish("failed: " .. record.error)
    outcome = "failed"
  end
  return outcome
end

-- ---- step times ----

-- Rows of the same dataset are timed together; the first seed stands for all.
local function timing_groups(runs)
  local groups, by_dataset, seen = {}, {}, {}
  for _, run in ipairs(runs) do
    local key = run.row.label .. "\n" .. run.row.dataset
    if not seen[key] then
      seen[key] = true
      local group = by_dataset[run.row.dataset]
      if not group then
        group = { dataset = run.row.dataset }
        by_dataset[run.row.dataset] = group
        groups[#groups + 1] = group
      end
      group[#group + 1] = run
    end
  end
  return groups
end

local function is_timed(group, rows)
  local have = {}
  for _, row in ipairs(rows) do
    if row.status == "done" and (row.step_time_ms or "") ~= "" then have[row.row .. "\n" .. row.dataset] = true end
  end
  for _, run in ipairs(group) do
    if not have[run.row.label .. "\n" .. run.row.dataset] then return false end
  end
  return true
end

local function time_group(group, scale)
  local sessions = {}
  local good, times = pcall(function()
    for i, run in ipairs(group) do sessions[i] = new_session(run) end
    return core.time_steps(sessions, timing[scale][1], timing[scale][2])
  end)
  for _, session in ipairs(sessions) do session:close() end
  if not good then error(times, 0) end
  return times
end

local function record_times(group, times, results, baseline)
  local base
  for i, run in ipairs(group) do
    if run.row.label == baseline then base = times[i].median_ms end
  end
  results:update(function(rows)
    for _, row in ipairs(rows) do
      for i, run in ipairs(group) do
        if row.row == run.row.label and row.dataset == run.row.dataset and row.scale == run.scale and row.status == "done" then
          local t = times[i]
          row.step_time_ms, row.step_time_q1_ms, row.step_time_q3_ms = t.median_ms, t.q1_ms, t.q3_ms
          row.tokens_per_second = t.tokens_per_step / (t.median_ms / 1000)
          row.peak_memory_bytes = t.peak_memory_bytes
          row.relative_step_time = base and t.median_ms / base or nil
        end
      end
    end
  end)
end

local function measure_times(experiment, runs, results, settings)
  local baseline = experiment.tables[1] and experiment.tables[1].baseline
  for _, group in ipairs(timing_groups(runs)) do
    if settings.force or not is_timed(group, results:rows()) then
      io.stderr:write(("timing steps: %d rows of %s, interleaved\n"):format(#group, group.dataset))
      record_times(group, time_group(group, settings.scale), results, baseline)
    end
  end
end

-- ---- the whole ----

--- Runs what is not finished. Returns how many runs failed, and whether it was interrupted.
function runner.run(experiment, settings)
  local results = store.open(settings.results, experiment.name)
  local machine = core.machine()
  local runs = runner.plan(experiment, settings)
  local failed = 0
  for i, run in ipairs(runs) do
    run.id = runner.identity(run)
    local shown = progress.new(("[%d/%d] %s %s seed %d"):format(i, #runs, run.row.label, run.row.dataset, run.seed))
    local before = results:find(run.id)
    if not (before and before.status == "done") or settings.force then
      local outcome = execute(run, results, machine, shown)
      if outcome == "interrupted" then return failed, true end
      if outcome == "failed" then failed = failed + 1 end
    end
  end
  if failed == 0 and not settings.no_timing then measure_times(experiment, runs, results, settings) end
  return failed, false
end

return runner
