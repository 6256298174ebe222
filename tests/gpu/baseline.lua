-- The paper-size baseline that the scripts beside this one measure: dofile
-- "tests/gpu/baseline.lua"(tiny). `tiny` shows that a script runs, on any machine.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"

-- Transformer-XL of Hutchins et al. 2022, section 4: segment 4096 with a window of 512, a layer
-- of width 1024 with 8 heads of 128; and the block-recurrent model beside it.
local function shape_of(tiny)
  if tiny then return { width = 16, heads = 2, layers = 4, window = 8, segment = 16 } end
  return { width = 1024, heads = 8, layers = 12, window = 512, segment = 4096 }
end

local models = {
  ["slide"] = { "slide", "" },
  ["brt fixed:skip"] = { "brt", " recurrence=fixed:skip" },
}

-- What matrix_rate.cu wrote, by name.
local function read_rates(folder)
  local rates = {}
  if not core.exists(folder .. "/rates.csv") then return rates end
  for _, row in ipairs(csv.read(folder .. "/rates.csv")) do
    rates[row.name] = tonumber(row.value)
  end
  return rates
end

return function(tiny)
  local shape = shape_of(tiny)
  local baseline = { shape = shape, warmup = tiny and 3 or 5, rounds = tiny and 1 or 20,
    rates = read_rates }

  -- setting: model, precision, batch; steps in all, without a point of the loss curve before their
  -- end.
  function baseline.session(setting, steps)
    local model = models[setting.model]
    local options = ("layers=%d width=%d heads=%d window=%d dropout=0%s"):format(shape.layers,
      shape.width, shape.heads, shape.window, model[2])
    local task = ("name=generate:books documents=%d document_bytes=%d segment=%d batch=%d"):format(
      4 * setting.batch, 16 * shape.segment, shape.segment, setting.batch)
    local train = ("steps=%d warmup=1000 log_every=%d precision=%s"):format(steps, steps,
      setting.precision)
    return core.session {
      model = core.options("model", model[1], options),
      task = core.options("task", "language_model", task),
      train = core.options("train", "train", train), seed = 1, device = "cuda",
    }
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
