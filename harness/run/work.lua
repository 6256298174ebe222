-- How much a row has to compute, told by the size of its model and of its batches before anything
-- is trained: for the time that is left, and for how many threads a row can fill.
local core = require "longhaul.core"
local identity = require "longhaul.run.identity"

local work = {}

-- Reading a batch, the update of parameters and the calls themselves are not counted: a model of
-- almost no products has some all the same, and so does a row that will fail.
local least = 1e6

-- A thread is worth it for so many operations of a step. Two threads take 0.87 of the time of one
-- for a step of 0.5e9 that nobody else disturbs (an LSTM of 16 rows), and a half of it for one of
-- 5.6e9.
local per_thread = 2.5e9

local is_sequential = {}
for _, class in ipairs(core.models()) do is_sequential[class.name] = class.sequential end

local memo = setmetatable({}, { __mode = "k" })

--- Floating-point operations of a row's training: `run`, of all its steps; `step`, of one;
--- `at_once`, of what can be computed side by side within one step. Opens the row's data.
function work.of(row)
  if memo[row] then return memo[row] end
  local info = identity.task_info(row.task)
  local good, model = pcall(core.describe, row.model.options, info, info.length)
  local token = good and 3 * model.flops_per_token or 0
  local segments = row.train:option "segments_per_step"
  local segment = math.max(least, token * info.rows * info.length)
  memo[row] = {
    run = segments * segment * math.max(1, row.train:option "steps"), step = segments * segment,
    at_once = is_sequential[row.model.name] and segment / info.length or segment,
  }
  return memo[row]
end

--- How many threads a row can fill, at most `most`.
function work.threads(row, most)
  return math.max(1, math.min(most, math.floor(work.of(row).at_once / per_thread)))
end

--- The splits that are evaluated at the end of a row's runs. A trial is chosen by the validation
--- split: nobody is to read of it what the test split says.
function work.splits(row) return row.tried_for and { "valid" } or { "valid", "test" } end

return work
