-- The paper-size baseline that the scripts beside this one measure: dofile
-- "tests/gpu/baseline.lua"(tiny). `tiny` shows that a script runs, on any machine.
local core = require "longhaul.core"
local cost = require "longhaul.run.cost"
local csv = require "longhaul.run.csv"

-- Transformer-XL of Hutchins et al. 2022, section 4: segment 4096 with a window of 512, a layer
-- of width 1024 with 8 heads of 128; the block-recurrent model beside it; GPT-2 of 124 million; one
-- with position vectors; and Reformer on 16K tokens. GPT-2 keeps what its backward pass needs, as PyTorch's does: made
-- again, as it is by default, it would take a pass forward more, and less memory.
local stack = { segment = 4096, options = "layers=12 width=1024 heads=8 window=512" }
local tiny_stack = { segment = 16, options = "layers=4 width=16 heads=2 window=8" }
local shapes = {
  slide = stack, brt = stack,
  gpt2 = { segment = 1024, options = "layers=12 width=768 heads=12 context=1024 recompute=false" },
  transformer_xl = { segment = 1024, options = "layers=12 width=512 heads=8" },
  reformer = { segment = 16384, options = "layers=12 width=1024 heads=8" },
}
local tiny_shapes = {
  slide = tiny_stack, brt = tiny_stack,
  gpt2 = { segment = 16, options = "layers=4 width=16 heads=2 context=16 recompute=false" },
  transformer_xl = { segment = 16, options = "layers=4 width=16 heads=2" },
  reformer = { segment = 128, options = "layers=4 width=16 heads=2" },
}

local models = {
  ["slide"] = { "slide", "" },
  ["brt fixed:skip"] = { "brt", " recurrence=fixed:skip" },
  ["gpt2"] = { "gpt2", "" },
  ["transformer_xl"] = { "transformer_xl", "" },
  ["reformer"] = { "reformer", "" },
}

-- What is expected of the card that is here; of another, what is of an H200.
local function device()
  local card = (os.getenv "GPU_NAME" or ""):lower()
  for _, known in ipairs(cost.devices) do
    if card:find(known.name, 1, true) then return known end
  end
  return cost.device "h200"
end

-- The rows that a file has of others than `value` in a column: they stay where its own are measured anew.
local function rows_of_others(path, column, value)
  local kept = {}
  if not core.exists(path) then return kept end
  for _, row in ipairs(csv.read(path)) do
    if row[column] ~= value then kept[#kept + 1] = row end
  end
  return kept
end

-- What matrix_rate.cu wrote, by name; of several lines the best.
local function read_rates(folder)
  local rates = {}
  if not core.exists(folder .. "/rates.csv") then return rates end
  for _, row in ipairs(csv.read(folder .. "/rates.csv")) do
    rates[row.name] = math.max(rates[row.name] or 0, tonumber(row.value))
  end
  return rates
end

return function(tiny)
  local baseline = { warmup = tiny and 3 or 5, rounds = tiny and 1 or 20, rates = read_rates,
    rows_of_others = rows_of_others }

  local function shape_of(setting)
    return (tiny and tiny_shapes or shapes)[models[setting.model][1]]
  end

  function baseline.segment(setting) return shape_of(setting).segment end

  -- setting: model, precision, batch, dropout (default 0), layers (default: its shape has them); steps in all, without
  -- a point of the loss curve before their end.
  local function parts(setting, steps)
    local model, shape = models[setting.model], shape_of(setting)
    local options = ("%s dropout=%g%s"):format(shape.options, setting.dropout or 0, model[2])
    if setting.layers then options = options:gsub("layers=%d+", "layers=" .. setting.layers) end
    local task = ("name=generate:books documents=%d document_bytes=%d segment=%d batch=%d"):format(
      4 * setting.batch, 16 * shape.segment, shape.segment, setting.batch)
    local train = ("steps=%d warmup=1000 log_every=%d precision=%s"):format(steps, steps,
      setting.precision)
    return { model = core.options("model", model[1], options),
      task = core.options("task", "language_model", task),
      train = core.options("train", "train", train) }
  end

  function baseline.session(setting, steps)
    local spec = parts(setting, steps)
    spec.seed, spec.device = 1, "cuda"
    return core.session(spec)
  end

  --- ms that a step of the setting should take (`longhaul describe MODEL --cost`), on what, and by kernel.
  function baseline.expected(setting)
    local on = device()
    local rows, sum = cost.estimate(core.step_cost(parts(setting, 1)), on)
    return 1000 * sum.seconds, on.name, rows
  end

  --- Of a time_steps result, as PyTorch counts: with what kernels work in.
  function baseline.memory(time) return time.peak_memory_bytes + time.workspace_bytes end

  --- Takes the session's last steps without waiting for any, as in a run: ms of each, and the mean
  --- loss of all since the first, bits per token.
  function baseline.follow(session)
    local before, loss = session:info(), nil
    session:train(nil, function(progress) loss = progress.loss_bits end)
    local after = session:info()
    return 1000 * (after.seconds - before.seconds) / (after.step - before.step), loss
  end

  return baseline
end
