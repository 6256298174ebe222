-- One step of plain gradient descent on the processor and on the GPU.
--   longhaul lua tests/cudasim/update.lua TASK TASK_OPTIONS MODEL OPTIONS
-- Prints how far the two are apart, parameter by parameter, as a share of the parameter's largest change; what is
-- small against the model's largest change (a bias that nothing depends on) is rounding. Fails above 1 in 1000. A loss
-- after some steps of a scale-free optimizer hardly tells a gradient that lacks a part.
local core = require "longhaul.core"

local task, task_options, model, options = ...
local most, rounding = 1e-3, 1e-6

local function read_weights(path)
  local text = assert(core.read_file(path))
  local size = string.unpack("<I8", text)
  local found = {}
  for name, dtype, first, last in
    text:sub(9, 8 + size):gmatch '"([^"]+)":{"dtype":"(%w+)","shape":%[[%d,]*%],"data_offsets":%[(%d+),(%d+)%]}'
  do
    local values = {}
    for at = 9 + size + first, 8 + size + last, 4 do
      values[#values + 1] = dtype == "F32" and string.unpack("<f", text, at) or 0
    end
    found[name] = values
  end
  return found
end

local function weights_after(steps, device)
  local path = os.tmpname()
  local session <close> = core.session {
    model = core.options("model", model, options), task = core.options("task", task, task_options),
    train = core.options("train", "train",
      ("steps=%d warmup=0 schedule=constant optimizer=sgd momentum=0 rate=10"):format(steps)),
    seed = 1, device = device,
  }
  session:train()
  session:save_weights(path)
  local found = read_weights(path)
  os.remove(path)
  return found
end

local function largest_difference(a, b)
  local largest = 0
  for i, x in ipairs(a) do
    local difference = math.abs(x - b[i])
    largest = difference > largest and difference or difference ~= difference and math.huge or largest
  end
  return largest
end

local first, cpu, gpu = weights_after(0, "cpu"), weights_after(1, "cpu"), weights_after(1, "cuda")
local changes, largest = {}, 0
for name, values in pairs(first) do
  changes[name] = largest_difference(values, cpu[name])
  largest = math.max(largest, changes[name])
end
local apart, where = 0, "none"
for name, change in pairs(changes) do
  local share = math.max(0, largest_difference(cpu[name], gpu[name]) - rounding * largest) / change
  if share > apart then apart, where = share, name end
end
print(("%s: updates apart by %.3g (%s)"):format(model, apart, where))
return largest > 0 and apart <= most and 0 or 1
