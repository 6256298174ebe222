-- What a training step of one document costs by its length: time and memory of every architecture,
-- the exponents fitted to them, and from which length on each costs less than full attention on this
-- machine. Nothing is learned here.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compare-length-costs"

local lengths = lh.by_scale { smoke = { 64, 128 }, small = { 256, 512, 1024, 2048, 8192, 32768 } }
local longest = lengths[#lengths]

local text = lh.data.text {
  "books", tokens = "bytes", documents = 8, document_bytes = 2 * longest, limit_eval_bytes = longest,
}

-- So many tokens of one document: one segment or, where a model sees no more than a segment at once,
-- as many of these, one after the other.
local function segment_of(row, length) return math.min(row.segment or length, length) end

local function task_of(segment)
  return lh.tasks.language_model { text, segment = segment, batch = 1 }
end

-- Without the optimizer's state, memory beyond values and gradients of the parameters is that of
-- activations.
local train = lh.train { steps = 1, optimizer = "sgd", momentum = 0, rate = 1e-3, warmup = 1 }

-- In a segment of one window recurrent GPT-2 is recurrent between segments alone.
local function model_of(row, segment)
  local is_alone = row.model.name == "gpt2_recurrent" and row.model:option "window" >= segment
  return is_alone and row.model:with { carry = true } or row.model
end

local rows, names = {}, {}
for i, row in ipairs(setting.rows {
  task = task_of, span = setting.span, length = longest,
}) do
  names[i], rows[row.label] = row.label, row
end

for point in lh.grid { { "architecture", table.unpack(names) }, { "length", table.unpack(lengths) } } do
  local row = rows[point.architecture]
  local segment = segment_of(row, point.length)
  bench:row {
    point, model = model_of(row, segment), task = task_of(segment), dataset = "costs",
    train = train:with { segments_per_step = point.length // segment },
  }
end

bench:table { columns = { "step_time_ms", "peak_memory_bytes", "flops_per_token" } }
bench:fit {
  group = "architecture", over = { "length" }, crossing = "Transformer", of = {
    time = "step_time_ms",
    memory = function(value) return value "peak_memory_bytes" - 8 * value "parameters" end,
  },
}
for _, cost in ipairs { "step_time_ms", "peak_memory_bytes" } do
  bench:plot { "lines", x = { "length", log = true }, y = { cost, log = true },
    x_title = "length of a document, bytes", group = "architecture", name = cost }
end
return bench
