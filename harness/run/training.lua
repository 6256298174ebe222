-- One run from its checkpoint, if it has one, to its row of runs.csv: training, what is watched on
-- the way, and the evaluations at its end.
local causality = require "longhaul.run.causality"
local choice = require "longhaul.run.choice"
local context = require "longhaul.run.context"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local data = require "longhaul.run.data"
local divergence = require "longhaul.run.divergence"
local extension = require "longhaul.run.extension"
local finished = require "longhaul.run.finished"
local identity = require "longhaul.run.identity"
local metrics = require "longhaul.run.metrics"
local plan = require "longhaul.run.plan"
local plugins = require "longhaul.run.plugins"
local provenance = require "longhaul.run.provenance"
local quantity = require "longhaul.run.quantity"
local ranks = require "longhaul.run.ranks"
local reach = require "longhaul.run.reach"
local weights = require "longhaul.run.weights"
local work = require "longhaul.run.work"

local training = {}

-- The columns that are known before a run starts.
local function new_record(run, machine)
  local row = run.row
  local record = {
    run_id = run.id, configuration = run.identity.configuration, identity = identity.version,
    data_digest = run.identity.data_digest, starts_from = run.identity.starts_from,
    experiment = run.experiment, row = row.label, dataset = row.dataset, model = run.slug,
    class = row.model.name,
    task = row.task.name, data = identity.task_info(row.task).data, seed = run.seed,
    scale = run.scale, device = run.device, precision = row.train:option "precision",
    ranks = ranks.size,
    version = identity.class_version(row.model.name),
    model_options = row.model.text, task_options = row.task.text, train_options = row.train.text,
  }
  record.tuned = row.tuned and row.tuned.text
  record.plugin = plugins.text(row.model.name, row.task.name)
  for name, value in pairs(row.values or {}) do record[name] = value end
  for _, factor in ipairs(row.factors or {}) do
    if record[factor[1]] == nil then record[factor[1]] = factor[2] end
  end
  return provenance.fill(record, machine)
end

-- Columns of runs.csv that are the script's.
local function own_columns(row)
  local names = {}
  for i, factor in ipairs(row.factors or {}) do names[i] = factor[1] end
  for name in pairs(row.values or {}) do names[#names + 1] = name end
  if row.reach then names[#names + 1] = "reach" end
  if row.tuned then names[#names + 1] = "tuned" end
  if plugins.text(row.model.name, row.task.name) then names[#names + 1] = "plugin" end
  return names
end

-- Holds a session against its run, and gives it the weights that this starts from.
local function prepare(session, run)
  -- data that have become others since a sweep began would be run under the id of those before
  if session:info().digest ~= run.identity.data_digest then
    error("the data have changed since this command began: run it again", 0)
  end
  for _, split in ipairs { "valid", "test" } do session:check_split(split) end
  choice.check(run.row, function() return session:measure_split "valid" end)
  causality.check(session, run.row.model.name, run.row.model.text, run.row.task.name, run.row.task.text)
  local given, task = run.row.weights, run.row.task.options
  if given then
    weights.check_vocabulary(data.weights(given.name), task)
    session:load_weights(data.weights(given.name), given.partly)
  end
  if run.start then
    weights.check_vocabulary(run.start.path, task)
    session:load_weights(run.start.path, run.start.class ~= run.row.model.name)
  end
end

-- A session with the weights that the run starts from, on every rank or on none: the next run needs
-- the memory of one that is refused.
local function begin_session(run)
  local session
  local good, message = pcall(ranks.together, function()
    session = plan.session(run)
    prepare(session, run)
  end)
  if good then return session end
  if session then session:close() end
  error(message, 0)
end

-- The checkpoint that a run goes on from, or "": its own, or the last one of a finished run that
-- differs in its number of steps alone, and the id of the run whose curve it continues.
local function beginning_of(run, results)
  local words = ranks.decide_or_fail(function()
    local own = results:checkpoint(run.id)
    if core.exists(own) then return run.id .. " " .. own end
    local shorter = not run.starts_over and extension.of(run, results)
    if not shorter then return run.id .. " " end
    io.stderr:write(("going on from the %d steps of run %s\n"):format(shorter.steps, shorter.id))
    return shorter.id .. " " .. results:last_checkpoint(shorter.id)
  end)
  return words:match "^(%S*) (.*)$"
end

-- A session that goes on from a checkpoint when there is one, and the id of the run that left it; a
-- checkpoint that cannot be read (an older format, a damaged disk) is named and left behind.
local function open_session(run, results)
  local id, snapshot = beginning_of(run, results)
  local session = begin_session(run)
  if snapshot == "" then return session, run.id end
  local good, message = pcall(ranks.together, session.restore, session, snapshot)
  if good then return session, id end
  io.stderr:write(("starting again: %s\n"):format(message))
  session:close()
  return begin_session(run), run.id
end

-- A run that goes on from a checkpoint is by the builds of a plug-in that trained it so far, too.
local function note_builds(run, results, session, begun, record)
  if not record.plugin or not ranks.first then return end
  local file, before = results:builds(run.id), nil
  if begun ~= run.id then
    before = results:find(begun).plugin
  elseif session:info().step > 0 and core.exists(file) then
    before = core.read_file(file)
  end
  record.plugin = plugins.joined(before, record.plugin)
  core.write_file(file, record.plugin)
end

-- The gates of the model's recurrence encodings by name, and the names in order.
local function gates_of(session)
  local gates, names = {}, {}
  for name, value in pairs(session:probe()) do
    if name:find "_rsa_gate$" then
      gates[name] = value
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return gates, names
end

-- The curve's columns beside those of every run: gates, and what is watched of the test split.
local function own_curve_columns(run, gates)
  local columns = table.move(gates, 1, #gates, 1, {})
  if not run.row.train:option "evaluate_test" then return columns end
  local watched = metrics.watched_columns()
  return table.move(watched, 1, #watched, #columns + 1, columns)
end

-- What a run has left beside its checkpoint, which goes on from both.
local function fail_gone(path, what)
  error(("%s is gone, the %s of this run so far: put it back, or begin anew by --force"):format(path, what), 0)
end

-- On rank 0, what results:extend_curve gives of a curve that goes on from that of the run `begun`. A
-- finished run that is run again loses its row before its curve.
local function begin_curve(run, results, session, begun)
  if not ranks.first then return nil end
  local step, path = session:info().step, results:curve(begun)
  local points = results:read_curve(begun, step)
  if step > 0 and #points == 0 and not core.exists(path) then fail_gone(path, "curve") end
  local _, gates = gates_of(session)
  if finished.row(run.id, results) then results:forget(run.id) end
  return { results:extend_curve(run.id, points, own_curve_columns(run, gates)) }
end

-- Trains the session to its end and writes its curve; false when it was interrupted.
local function train_watched(run, results, session, shown, curve)
  local add, _ <close> = curve[1], curve[2]
  local _, gates = gates_of(session)
  local keeps_best = run.row.train:option "keep_best" ~= "false"
  return session:train(results:checkpoint(run.id), function(p)
    if keeps_best and p.is_best then session:save_weights(results:best_weights(run.id)) end
    local point = #gates > 0 and gates_of(session) or {}
    point.step, point.tokens, point.time_s = p.step, p.tokens, p.seconds
    point.rate, point.gradient_norm = p.rate, p.gradient_norm
    metrics.fill_point(point, p)
    add(point)
    shown:show(p)
    run.tokens_per_second = p.tokens_per_second or run.tokens_per_second
  end, function(...) shown:evaluating(...) end)
end

-- Gives a session that was trained the weights of its best evaluation, if it had one.
local function load_best(run, results, session)
  local best = results:best_weights(run.id)
  if ranks.exists(best) then return session:load_weights(best) end
  for _, point in ipairs(ranks.first and results:read_curve(run.id, session:info().step) or {}) do
    if (point.valid_bits or "") ~= "" or (point.valid_mse or "") ~= "" then
      fail_gone(best, "best weights")
    end
  end
end

-- The same on every rank; with early stopping the session ends with its best weights.
local function train(run, results, session, shown, begun)
  local complete
  local curve = ranks.together(begin_curve, run, results, session, begun)
  if ranks.first then
    complete = train_watched(run, results, session, shown, curve)
  else
    complete = session:train(results:checkpoint(run.id))
  end
  local keeps_best = run.row.train:option "keep_best" ~= "false"
  -- before the best weights, which the moments and the carried state are not of
  if complete and run.keeps_checkpoint then
    ranks.together(session.save, session, results:last_checkpoint(run.id))
  end
  if complete and keeps_best then ranks.together(load_best, run, results, session) end
  return complete
end

-- How far back the model looks, where the row asks for it: false when it was interrupted.
local function measure_context(run, session)
  local wanted = run.row.context
  if not wanted then return {} end
  return session:context(wanted.length, wanted.passages) or false
end

-- Keeps what the model says of itself and what was measured of its context, sorted by name, and the
-- mean gate of its recurrence encodings.
local function keep_probes(run, results, session, record, points)
  local list, sum = context.probes(points), 0
  record.context_tokens = context.tokens(points)
  for name, value in pairs(session:probe()) do list[#list + 1] = { name = name, value = value } end
  if #list == 0 then return end
  table.sort(list, function(a, b) return a.name < b.name end)
  results:write_probes(run.id, list)
  local gates, names = gates_of(session)
  for _, name in ipairs(names) do sum = sum + gates[name] end
  if #names > 0 then record.rsa_gate = sum / #names end
end

-- The last point of a curve of a run that ends with its last weights.
local function last_point(run, curve)
  local point = curve[#curve]
  if not point or run.row.train:option "keep_best" ~= "false" then return nil end
  return { loss_bits = csv.number(point.loss_bits), mse = csv.number(point.mse),
    gradient_norm = csv.number(point.gradient_norm) }
end

--- A finished run whose row of the script has come to name another loss is looked through again; where its curve is
--- gone, what is known stays.
function training.renew_reach(run, results, id)
  local points = results:read_curve(id, math.huge)
  if run.row.reach and #points == 0 then return end
  results:update(function(rows)
    for _, row in ipairs(rows) do
      if row.run_id == id then reach.fill(row, run.row.reach, points) end
    end
  end, own_columns(run.row))
end

-- The scores of the splits that are evaluated at the end; nil when that was interrupted.
local function scores_of(run, session, hear)
  local scored = {}
  for _, split in ipairs(work.splits(run.row)) do
    scored[split] = session:evaluate(split, hear)
    if not scored[split] then return nil end
  end
  return scored
end

-- Records how a run ended, and what it was worth and took, by its scores and its curve.
local function fill_end(record, run, session, scored, curve)
  local info = session:info()
  for split, values in pairs(scored) do metrics.fill_record(record, split, values) end
  record.error = divergence.reason {
    step = info.step, first_weights = divergence.has_first_weights(curve),
    falls = divergence.falls(curve, scored.valid), valid = scored.valid, test = scored.test,
    vocabulary = identity.task_info(run.row.task).vocabulary,
    last = last_point(run, curve),
  }
  record.status, record.step = record.error and "diverged" or "done", info.step
  metrics.fill_from(record, "model", info)
  record.peak_memory_bytes, record.wall_time_s = info.peak_memory_bytes, info.seconds
  record.inference_memory_bytes = session:inference_memory()
  record.training_tokens_per_second = run.tokens_per_second
  metrics.fill_record(record, "watched", metrics.best_of_curve(curve))
  reach.fill(record, run.row.reach, curve)
end

-- Evaluates a trained run and keeps its row; false when it was interrupted.
local function finish(run, results, session, record, shown)
  local scored = scores_of(run, session, shown and function(...) shown:evaluating(...) end or nil)
  if not scored then return false end
  -- all ranks look at the context: who waited for rank 0 meanwhile would take it for lost
  if not ranks.first then return measure_context(run, session) ~= false end
  fill_end(record, run, session, scored, results:read_curve(run.id, session:info().step))
  local points = measure_context(run, session)
  if not points then return false end
  if run.row.context then record.error = record.error or context.lack(run.row.context, points) end
  keep_probes(run, results, session, record, points)
  if run.row.keep_weights then
    session:save_weights(results:weights(run.id), false, weights.vocabulary_digest(run.row.task.options))
  end
  results:put(record, own_columns(run.row))
  results:end_attempt(run.id)
  return true
end

-- What is told of a run that has come to its end.
local function told_end(record)
  local mse = record.mse or record.valid_mse
  local score = mse and ("MSE %.4f"):format(mse)
    or ("%.4f bits/token"):format(record.bits_per_token or record.valid_bits_per_token or 0 / 0)
  return ("%s  %s parameters  %s%s"):format(score, quantity.amount(record.parameters),
    quantity.duration(record.wall_time_s), record.error and "  " .. record.error or "")
end

-- Keeps why a run failed; its checkpoint stays. One that failed before it began again keeps what it was worth.
local function keep_failure(run, results, record, message)
  record.status, record.error = "failed", ("%s: row \"%s\": %s"):format(run.row.line, run.row.label, message)
  core.remove_file(results:forced(run.id))
  if not finished.row(run.id, results) then results:put(record, own_columns(run.row)) end
end

--- Trains a run and keeps what it was worth; "done", "failed" or "interrupted", on every rank what
--- rank 0 says. What fails on one rank alone ends the program there, and the others find it gone.
function training.run(run, results, machine, shown)
  local record, trained = new_record(run, machine), false
  local good, outcome = pcall(function()
    local session <close>, begun = open_session(run, results)
    ranks.together(note_builds, run, results, session, begun, record)
    if not train(run, results, session, shown, begun) then return "interrupted" end
    trained = true
    return finish(run, results, session, record, shown) and "done" or "interrupted"
  end)
  if not good and ranks.size > 1 and (trained or ranks.lost()) then error(outcome, 0) end
  if not ranks.first then return ranks.decide() end
  if good and outcome == "done" then
    shown:finish(told_end(record))
  elseif not good then
    keep_failure(run, results, record, outcome)
    shown:finish("failed: " .. record.error)
    outcome = "failed"
  else
    shown:leave()
  end
  return ranks.decide(function() return outcome end)
end

return training
