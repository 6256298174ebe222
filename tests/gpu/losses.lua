-- Losses of the first steps on the GPU, in every precision, beside those of the processor.
--   longhaul lua tests/gpu/losses.lua FOLDER [STEPS]
-- Writes FOLDER/losses.csv; fails when f32 is off by more than 1e-4 in the first ten steps, or anything
-- by more than 1% in any: differences of rounding grow with every step.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"

local folder, steps = ...
folder, steps = folder or "results/gpu", math.tointeger(tonumber(steps or 50))

local models = {
  { "slide", "layers=3 width=64 heads=2 window=32 dropout=0.1", "adafactor" },
  { "brt", "layers=3 width=64 heads=2 window=32 dropout=0 recurrence=fixed:skip", "adam" },
  { "transformer_xl", "layers=2 width=64 heads=2 span=32 dropout=0", "adamw" },
}
-- The largest difference of a step's loss, as a part of the loss: of the first ten, and of all.
local first_steps = 10
local first_bound = { f32 = 1e-4, tf32 = 1e-2, bf16 = 1e-2 }
local bound = 1e-2

local function losses(model, device, precision)
  local task = "name=generate:books documents=8 document_bytes=8192 segment=128 batch=4"
  local train = ("steps=%d warmup=10 rate=%g optimizer=%s log_every=1 precision=%s"):format(steps,
    model[3] == "adafactor" and 0.3 or 0.003, model[3], precision)
  local session <close> = core.session {
    model = core.options("model", model[1], model[2]),
    task = core.options("task", "language_model", task),
    train = core.options("train", "train", train), seed = 1, device = device,
  }
  local list = {}
  session:train(nil, function(p) list[#list + 1] = p.loss_bits end)
  return list
end

-- The largest of the first steps, as far as they go, and of all; what is no number is as far as can be.
local function differences(gpu, cpu)
  local first, all = 0, 0
  for i = 1, #cpu do
    local apart = math.abs((gpu[i] or 0 / 0) - cpu[i]) / cpu[i]
    all = math.max(all, apart == apart and apart or math.huge)
    if i <= first_steps then first = all end
  end
  return first, all
end

local rows, good = {}, true

-- After each precision: what ends the call keeps what was compared before it.
local function write()
  csv.write(folder .. "/losses.csv", { "model", "optimizer", "precision", "steps", "first", "last",
    "last_cpu", "first_difference", "first_bound", "largest_difference", "bound", "verdict" }, rows)
end

core.make_folder(folder)
for _, model in ipairs(models) do
  local cpu = losses(model, "cpu", "f32")
  for _, precision in ipairs { "f32", "tf32", "bf16" } do
    local gpu = losses(model, "cuda", precision)
    local first, all = differences(gpu, cpu)
    local holds = #cpu == steps and #gpu == steps and first <= first_bound[precision] and all <= bound
    good = good and holds
    rows[#rows + 1] = { model = model[1], optimizer = model[3], precision = precision,
      steps = steps, first = gpu[1], last = gpu[#gpu], last_cpu = cpu[#cpu], first_difference = first,
      largest_difference = all, bound = bound, first_bound = first_bound[precision],
      verdict = holds and "holds" or "fails" }
    write()
    print(("%-16s %-5s last loss %.5f, on the processor %.5f, largest difference %.2g, of the first %d steps %.2g: %s")
      :format(model[1], precision, gpu[#gpu], cpu[#cpu], all, first_steps, first, holds and "holds" or "fails"))
  end
end
return good and 0 or 1
