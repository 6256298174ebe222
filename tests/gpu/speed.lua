-- Training steps of the paper-size baseline on the GPU, against the rates that matrix_rate.cu found.
--   longhaul lua tests/gpu/speed.lua FOLDER [tiny]
-- Reads FOLDER/rates.csv, writes FOLDER/speed.csv. LH_GRAPHS=0 starts kernels one by one: the
-- difference is what the gaps between them cost. `tiny` shows that the script runs, on any machine.
local core = require "longhaul.core"
local csv = require "longhaul.csv"

local folder, tiny = ...
folder = folder or "results/gpu"

-- Transformer-XL of Hutchins et al. 2022, section 4: segment 4096 with a window of 512, a layer
-- of width 1024 with 8 heads of 128; and the block-recurrent model beside it.
local shape = tiny and { width = 16, heads = 2, layers = 4, window = 8, segment = 16 }
  or { width = 1024, heads = 8, layers = 12, window = 512, segment = 4096 }
local models = {
  { "slide", "slide", "" },
  { "brt fixed:skip", "brt", " recurrence=fixed:skip" },
}
local settings = {
  { model = 1, precision = "bf16", batch = 4 }, { model = 1, precision = "bf16", batch = 1 },
  { model = 1, precision = "tf32", batch = 1 }, { model = 1, precision = "f32", batch = 1 },
  { model = 2, precision = "bf16", batch = 4 },
}
local warmup, steps = tiny and 3 or 5, tiny and 1 or 20

local function session(setting)
  local model = models[setting.model]
  local options = ("layers=%d width=%d heads=%d window=%d dropout=0%s"):format(shape.layers,
    shape.width, shape.heads, shape.window, model[3])
  local task = ("name=generate:books documents=%d document_bytes=%d segment=%d batch=%d"):format(
    4 * setting.batch, 16 * shape.segment, shape.segment, setting.batch)
  local train = ("steps=%d warmup=1000 log_every=%d precision=%s"):format(
    2 * (warmup + steps), warmup + steps, setting.precision)
  return core.session {
    model = model[2], model_options = core.check("model", model[2], options),
    task = "language_model", task_options = core.check("task", "language_model", task),
    train_options = core.check("train", "train", train), seed = 1, device = "cuda",
  }
end

-- The protocol's steps, each waited for; then steps that follow each other as in a run.
local function measure(setting)
  local run <close> = session(setting)
  local time = core.time_steps({ run }, warmup, steps)[1]
  local before = run:info()
  run:train()
  local after = run:info()
  local following = 1000 * (after.seconds - before.seconds) / (after.step - before.step)
  return time, following, after
end

local rates = {}
if core.exists(folder .. "/rates.csv") then
  for _, row in ipairs(csv.read(folder .. "/rates.csv")) do rates[row.name] = tonumber(row.value) end
end

local rows, graphs = {}, os.getenv "LH_GRAPHS" ~= "0"
for _, setting in ipairs(settings) do
  local good, time, following, info = pcall(measure, setting)
  local name = models[setting.model][1]
  if good then
    local flops = 3 * info.flops_per_token * time.tokens_per_step
    local reached = 1000 * flops / math.min(following, time.median_ms)
    rows[#rows + 1] = { model = name, precision = setting.precision, batch = setting.batch,
      segment = shape.segment, execution = graphs and "graph" or "eager",
      step_time_ms = time.median_ms, step_time_q1_ms = time.q1_ms, step_time_q3_ms = time.q3_ms,
      following_step_ms = following, peak_memory_bytes = time.peak_memory_bytes, flops = reached,
      share_of_bf16 = rates.bf16 and reached / rates.bf16 or "" }
    print(("%-16s %-5s batch %d, %s: %.2f ms alone, %.2f ms in a row, %.1f TFLOP/s%s"):format(name,
      setting.precision, setting.batch, graphs and "graph" or "eager", time.median_ms, following,
      reached / 1e12,
      rates.bf16 and (", %.1f%% of bf16"):format(100 * reached / rates.bf16) or ""))
  else
    print(("%-16s %-5s batch %d: %s"):format(name, setting.precision, setting.batch, time))
  end
end
core.make_folder(folder)
csv.write(folder .. (graphs and "/speed.csv" or "/speed-eager.csv"), { "model", "precision",
  "batch", "segment", "execution", "step_time_ms", "step_time_q1_ms", "step_time_q3_ms",
  "following_step_ms", "peak_memory_bytes", "flops", "share_of_bf16" }, rows)
return #rows == #settings and 0 or 1
