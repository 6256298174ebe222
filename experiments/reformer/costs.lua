-- What the cost experiments of Reformer share: duplication sequences of one length, a single
-- training step, times and memory by the protocol. Values do not matter here, so models are narrow
-- and nothing is trained.
local lh = require "longhaul"

local costs = {}

--- `batch` sequences of `length` tokens.
function costs.task(length, batch)
  return lh.tasks.duplication { word = length // 2 - 1, batch = batch, evaluate_sequences = batch }
end

-- Without optimizer state, memory beyond values and gradients of the parameters is that of
-- activations.
costs.train = lh.train { steps = 1, optimizer = "sgd", momentum = 0, rate = 1e-3, warmup = 1 }

--- What a row's exponents are fitted to.
costs.measures = {
  time = "step_time_ms",
  memory = function(value) return value "peak_memory_bytes" - 8 * value "parameters" end,
}

--- Adds rows for every variant in which one of `axes` varies and the others keep their first value.
--- `model(variant, point)` makes the model; axes `length` and `batch` are the task's.
function costs.vary(bench, variants, axes, model)
  local seen = {}
  for a in ipairs(axes) do
    local grid = { { "variant", table.unpack(variants) } }
    for b, axis in ipairs(axes) do grid[b + 1] = b == a and axis or { axis[1], axis[2] } end
    for point in lh.grid(grid) do
      local words = { point.variant }
      for i, axis in ipairs(axes) do words[i + 1] = ("%s %d"):format(axis[1], point[axis[1]]) end
      local label = table.concat(words, ", ")
      if not seen[label] then
        bench:row {
          point, label = label, model = model(point.variant, point),
          task = costs.task(point.length, point.batch),
          train = costs.train, dataset = "costs",
        }
      end
      seen[label] = true
    end
  end
end

return costs
