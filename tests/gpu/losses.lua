-- Losses of the first steps on the GPU, in every precision, beside those of the processor.
--   longhaul lua tests/gpu/losses.lua FOLDER [STEPS]
-- Writes FOLDER/losses.csv; fails when f32 is off by more than 1e-4 or bf16 by more than 1%.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"

local folder, steps = ...
folder, steps = folder or "results/gpu", math.tointeger(tonumber(steps or 50))

local models = {
  { "slide", "layers=3 width=64 heads=2 window=32 dropout=0.1", "adafactor" },
  { "brt", "layers=3 width=64 heads=2 window=32 dropout=0 recurrence=fixed:skip", "adam" },
  { "transformer_xl", "layers=2 width=64 heads=2 span=32 dropout=0", "adamw" },
}
-- The largest difference of a step's loss, as a part of the loss.
local bounds = { f32 = 1e-4, tf32 = 1e-2, bf16 = 1e-2 }

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

local rows, good = {}, true
for _, model in ipairs(models) do
  local cpu = losses(model, "cpu", "f32")
  for _, precision in ipairs { "f32", "tf32", "bf16" } do
    local gpu, worst = losses(model, "cuda", precision), 0
    for i = 1, #cpu do worst = math.max(worst, math.abs(gpu[i] - cpu[i]) / cpu[i]) end
    local holds = #cpu == steps and #gpu == steps and worst <= bounds[precision]
    good = good and holds
    rows[#rows + 1] = { model = model[1], optimizer = model[3], precision = precision,
      steps = steps, first = gpu[1], last = gpu[#gpu], last_cpu = cpu[#cpu],
      largest_difference = worst, bound = bounds[precision], verdict = holds and "holds"
        or "fails" }
    print(("%-16s %-5s last loss %.5f, on the processor %.5f, largest difference %.2g: %s"):format(
      model[1], precision, gpu[#gpu], cpu[#cpu], worst, holds and "holds" or "fails"))
  end
end
core.make_folder(folder)
csv.write(folder .. "/losses.csv", { "model", "optimizer", "precision", "steps", "first", "last",
  "last_cpu", "largest_difference", "bound", "verdict" }, rows)
return good and 0 or 1
