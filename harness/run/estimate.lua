-- What runs will take before they are run: seconds and bytes of each. A step that was trained here
-- with the same model and task says best what one takes; then a probe of such a row (probes.lua);
-- then the FLOPs of the model at the rate of those of its size that are known.
local choice = require "longhaul.run.choice"
local core = require "longhaul.core"
local identity = require "longhaul.run.identity"
local probes = require "longhaul.run.probes"
local progress = require "longhaul.run.progress"
local provenance = require "longhaul.run.provenance"
local timing = require "longhaul.run.timing"
local work = require "longhaul.run.work"

local estimate = {}

-- A run writes its curve, a checkpoint and its row, and locks both; each waits for the disk.
local writes_per_run = 6

-- The rate of matrix products is measured for the rows of a data set.
local seconds_of_rate = 0.25

-- A run's memory without gradients is that of two passes over a batch.
local passes_of_memory = 2

-- Of the rate of matrix products, where nothing of the kind was measured.
local usual_share = 0.5

-- Steps of so many times the FLOPs, or so many times fewer, reach about the same rate. Far smaller
-- ones do not: what an op costs beside its arithmetic is most of them.
local alike = 8

-- A pass without gradients is the third of a step.
local share_of_pass = 1 / 3

local bytes_of_number = 4

-- A position of a batch has a token on the host and on the device, and a number of the model with its
-- gradient, at least.
local bytes_of_position = 4 * bytes_of_number

-- A batch of more positions is not read to see what a split has: that takes a second.
local most_read = 2 ^ 25

-- ---- what was trained here ----

-- A file may lack what a row of a script always has.
local function key_of(threads, class, model, task_name, task, precision)
  return table.concat({ threads, class or "", model or "", task_name or "", task or "", precision or "" }, "\n")
end

-- Of finished runs on this machine: by threads, model and task the seconds of a token in training,
-- bytes.
local function trained_here(settings)
  local known, here = {}, provenance.here(settings.machine, settings.device)
  for _, results in ipairs(settings.stores) do
    for _, run in ipairs(results:rows()) do
      -- before it had a column of its own, the rate stood where that of a round stands
      local rate = tonumber(run.training_tokens_per_second) or tonumber(run.tokens_per_second)
      -- what was brought over from an older store does not say its threads
      local threads = tonumber(run.threads)
      local is_here = provenance.are_of_one_machine(run, here) and run.device == settings.device
      if run.status == "done" and rate and threads and is_here then
        local key = key_of(threads, run.class, run.model_options, run.task, run.task_options, run.precision)
        known[key] = { token_s = 1 / rate, peak_memory_bytes = tonumber(run.peak_memory_bytes) }
      end
    end
  end
  return known
end

-- ---- one row ----

-- Bytes of a parameter, the least and the most: value, gradient and moments. Adafactor has the second one
-- by rows and columns, but whole for vectors and small matrices.
local function bytes_of_parameter(train)
  local optimizer, least = train:option "optimizer", 2
  if optimizer == "adam" or optimizer == "adamw" then
    least = least + 2
  elseif train:option "momentum" > 0 then
    least = least + 1
  end
  return bytes_of_number * least, bytes_of_number * (optimizer == "adafactor" and least + 1 or least)
end

-- What is not read may have any size.
local unread = { sizes = { bytes = math.huge, words = math.huge } }

local passes = {}

local function read_passes(task)
  local info = identity.task_info(task)
  if info.rows * info.length > most_read then return unread end
  local valid, test = core.task_passes(task.options)
  return { valid = valid.tokens, test = test.tokens, sizes = valid }
end

-- Tokens of an evaluation by split, and the sizes of the validation text; or `unread`.
local function passes_of(task)
  local key = task.name .. "\n" .. task.text
  passes[key] = passes[key] or read_passes(task)
  return passes[key]
end

-- Seconds that a whole file takes until it is on the disk, where one can be written at all.
local function seconds_of_write()
  local folder, begin, times = core.cache_folder(), core.clock(), 3
  if folder == "" then return 0 end
  local path = folder .. "/rates.try"
  local good = pcall(function()
    core.make_folder(folder)
    for _ = 1, times do core.write_file(path, ("x"):rep(65536)) end
  end)
  core.remove_file(path)
  return good and (core.clock() - begin) / times or 0
end

-- Tokens that are evaluated during training and after it; of a split that was not read one batch.
local function evaluated_tokens(row, batch)
  local own, every = passes_of(row.task), row.train:option "evaluate_every"
  local function tokens_of(split) return own[split] or batch end
  local times = every > 0 and row.train:option "steps" // every or 0
  local tokens = times * (tokens_of "valid" + (row.train:option "evaluate_test" and tokens_of "test" or 0))
  for _, split in ipairs(work.splits(row)) do tokens = tokens + tokens_of(split) end
  return tokens
end

-- Seconds of a step, as the FLOPs of those go that are known and of its size.
local function step_by_flops(self, row, threads)
  local own, flops, seconds = work.of(row).step, 0, 0
  for _, probe in pairs(self.probes.known) do
    local times = own / probe.flops
    if probe.threads == threads and times < alike and times > 1 / alike then
      flops, seconds = flops + probe.flops, seconds + probe.step_s
    end
  end
  local rates = self.matrix_rates
  rates[threads] = rates[threads] or core.matmul_rate(1024, threads, true)
  local rate = seconds > 0 and flops / seconds or usual_share * rates[threads]
  return own / rate
end

-- Seconds of a step and of a pass over a batch, of opening, bytes, and by what they are known.
local function costs_of(self, run)
  local row, info = run.row, identity.task_info(run.row.task)
  choice.check(row, function() return passes_of(row.task).sizes end)
  local model = core.describe(row.model.options, info, info.length)
  local tokens = info.rows * info.length
  local threads = self.settings.threads(row)
  local own = self.trained[key_of(threads, row.model.name, row.model.text, row.task.name,
    row.task.text, row.train:option "precision")]
  local probe = self.probes:of(run, threads)
  local ratio = probe and work.of(row).step / probe.flops
  local least, most = bytes_of_parameter(row.train)
  local segments = row.train:option "segments_per_step"
  local step = own and own.token_s * tokens * segments or probe and ratio * probe.step_s
    or step_by_flops(self, row, threads)
  return {
    step = step, pass = probe and ratio * probe.pass_s or share_of_pass * step / segments,
    open = probe and probe.open_s or 0, tokens = tokens,
    bytes = own and own.peak_memory_bytes
      or probe and probe.peak_memory_bytes + most * (model.total - probe.parameters),
    by = own and "runs" or probe and "probe" or "FLOPs", model = model,
    load = not own and probe and probe.load or nil, least_bytes = least * model.total + bytes_of_position * tokens,
  }
end

local function expect(self, run)
  local costs = costs_of(self, run)
  local passes = evaluated_tokens(run.row, costs.tokens) / costs.tokens + passes_of_memory
  self.write_s = self.write_s or seconds_of_write()
  return {
    seconds = costs.open + run.row.train:option "steps" * costs.step + passes * costs.pass
      + writes_per_run * self.write_s,
    open_s = costs.open, step_s = costs.step, pass_s = costs.pass, bytes = costs.bytes, by = costs.by,
    least_bytes = costs.least_bytes, load = costs.load,
    passes = passes_of(run.row.task), unread = passes_of(run.row.task) == unread and costs.tokens or nil,
    parameters = costs.model.total,
    flops_per_token = costs.model.flops_per_token,
  }
end

local trying = "trying rows for a few steps"

local function show_trial(board, row, place, count)
  board:show(trying, { step = place, steps = count, text = row.label .. " " .. row.dataset })
end

--- Gives each run of a plan what is expected of it, `expected`: seconds, step_s, bytes (nil where
--- unknown), least_bytes (of its parameters and a batch), by ("runs", "probe" or "FLOPs"), load (processors
--- that others used during its probe, nil where the machine was idle), passes (tokens of an evaluation
--- by split), unread (positions of a batch that is too large to be read ahead, else nil), parameters,
--- flops_per_token; or `refusal`, why it cannot be run, as it would say itself.
--- `settings`: machine, device, threads(row) (that it gets), stores (whose runs were trained before),
--- open (makes a session for a run; nil: nothing is probed).
function estimate.fill(runs, settings)
  local self = { settings = settings, trained = trained_here(settings),
    probes = probes.open(settings), matrix_rates = {} }
  local by_row, board = {}, settings.open and progress.board()
  for i, run in ipairs(runs) do
    local own = by_row[run.row]
    if not own then
      if board then show_trial(board, run.row, i, #runs) end
      local good, made = pcall(expect, self, run)
      own = good and { expected = made } or { refusal = tostring(made) }
      by_row[run.row] = own
    end
    run.expected, run.refusal = own.expected, own.refusal
    if core.interrupted() then break end
  end
  if board then board:finish(trying) end
  self.probes:close()
end

--- Seconds in which the step times of these runs (of estimate.fill) are measured.
function estimate.timing(runs, scale)
  local seconds, seen, count = 0, {}, timing.steps(scale)
  for _, run in ipairs(runs) do
    local expected = run.expected
    if expected and not seen[run.row] then
      seconds = seconds + expected.open_s + count * expected.step_s
        + passes_of_memory * expected.pass_s
    end
    if not seen[run.row.dataset] then seconds = seconds + seconds_of_rate end
    seen[run.row], seen[run.row.dataset] = true, true
  end
  return seconds
end

return estimate
