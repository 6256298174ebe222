-- What a training step of one sequence costs by its length: time and memory of every architecture,
-- the exponents fitted to them, and from which length on each costs less than full attention on this
-- machine. Nothing is learned here.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compare-length-costs"

local lengths = lh.by_scale {
  smoke = { 64, 128 }, small = { 256, 512, 1024, 2048 },
  medium = { 256, 1024, 4096, 16384, 32768 },
}
local longest = lengths[#lengths]

-- So many tokens: one sequence or, where a model sees no more than a segment at once, as many of
-- these side by side.
local function task_of(length)
  return function(segment)
    local own = math.min(segment or length, length)
    return lh.tasks.duplication { word = own // 2 - 1, alphabet = 63, batch = length // own,
      evaluate_sequences = 1 }
  end
end

-- Without the optimiser's state, memory beyond values and gradients of the parameters is that of
-- activations.
local train = lh.train { steps = 1, optimizer = "sgd", momentum = 0, rate = 1e-3, warmup = 1 }

local rows, names = {}, {}
for i, row in ipairs(setting.rows {
  task = task_of(longest), span = setting.span, length = longest,
}) do
  names[i], rows[row.label] = row.label, row
end

for point in lh.grid { { "architecture", table.unpack(names) }, { "length", table.unpack(lengths) } } do
  local row = rows[point.architecture]
  bench:row {
    point, model = row.model, task = task_of(point.length)(row.segment), train = train,
    dataset = "costs",
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
    group = "architecture", name = cost }
end
return bench
