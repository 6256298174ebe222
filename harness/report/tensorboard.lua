-- Runs as event files of TensorBoard: TFRecords (tensorflow/core/lib/io/record_writer.h) of Event
-- messages (tensorflow/core/util/event.proto) with scalars alone, a folder for each run.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local metrics = require "longhaul.run.metrics"
local quote = require "longhaul.run.quote"

local tensorboard = {}

-- ---- TFRecord ----

-- CRC-32C (Castagnoli, reflected), by bytes.
local crc_of_byte = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do crc = (crc >> 1) ~ ((crc & 1) * 0x82f63b78) end
  crc_of_byte[byte] = crc
end

local function crc32c(text)
  local crc = 0xffffffff
  for i = 1, #text do crc = (crc >> 8) ~ crc_of_byte[(crc ~ text:byte(i)) & 0xff] end
  return crc ~ 0xffffffff
end

-- Sums of what holds sums are turned, so that they do not stand for themselves.
local function masked(text)
  local crc = crc32c(text)
  return (((crc >> 15) | (crc << 17)) + 0xa282ead8) & 0xffffffff
end

local function record(data)
  local length = ("<I8"):pack(#data)
  return length .. ("<I4"):pack(masked(length)) .. data .. ("<I4"):pack(masked(data))
end

-- ---- messages ----

local function varint(number)
  local bytes = {}
  repeat
    local rest = number >> 7
    bytes[#bytes + 1] = string.char((number & 0x7f) | (rest > 0 and 0x80 or 0))
    number = rest
  until number == 0
  return table.concat(bytes)
end

-- Fields by number and wire type (0: varint, 1: 64 bits, 2: with its length, 5: 32 bits).
local function key(number, wire) return varint(number << 3 | wire) end
local function text_field(number, text) return key(number, 2) .. varint(#text) .. text end

-- Event: wall_time = 1, step = 2, summary = 5 (file_version = 3). Summary: value = 1, of Values:
-- tag = 1, simple_value = 2.
local function event(seconds, step, scalars)
  local values = {}
  for i, scalar in ipairs(scalars) do
    values[i] = text_field(1, text_field(1, scalar[1]) .. key(2, 5) .. ("<f"):pack(scalar[2]))
  end
  return record(key(1, 1) .. ("<d"):pack(seconds) .. key(2, 0) .. varint(step)
    .. text_field(5, table.concat(values)))
end

-- ---- runs ----

-- No scalars: what a point of a curve is placed by.
local is_place = { step = true, tokens = true, time_s = true }

local function scalars_of(point)
  local list = {}
  for name, text in pairs(point) do
    local number = not is_place[name] and csv.number(text)
    if number then list[#list + 1] = { name, number } end
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

local function results_of(run)
  local list = {}
  for _, name in ipairs(metrics.scored "test") do
    local number = csv.number(run[name])
    if number then list[#list + 1] = { "test/" .. name, number } end
  end
  return list
end

--- An event file of a run and its curve: all columns of the curve, and its results as "test/NAME" at
--- its last step. Times are seconds of training.
function tensorboard.events(run, curve)
  local parts = { record(text_field(3, "brain.Event:2")) } -- the version of the format
  local step, seconds = 0, 0
  for _, point in ipairs(curve) do
    step, seconds = math.tointeger(tonumber(point.step)), tonumber(point.time_s) or 0
    parts[#parts + 1] = event(seconds, step, scalars_of(point))
  end
  local results = results_of(run)
  if #results > 0 then parts[#parts + 1] = event(seconds, step, results) end
  return table.concat(parts)
end

--- Writes an event file for every run of `stores` that has a curve below the folder `to`:
--- EXPERIMENT/ROW/DATASET-SEED-ID. Gives their paths.
function tensorboard.write(stores, to)
  local paths = {}
  for _, from in ipairs(stores) do
    for _, run in ipairs(from:rows()) do
      local curve = from:read_curve(run.run_id, math.huge)
      if #curve > 0 then
        local folder = ("%s/%s/%s/%s-seed%s-%s"):format(to, quote.file_name(run.experiment),
          quote.file_name(run.row), quote.file_name(run.dataset), run.seed, run.run_id:sub(1, 8))
        core.make_folder(folder)
        paths[#paths + 1] = folder .. "/events.out.tfevents.longhaul"
        core.write_file(paths[#paths], tensorboard.events(run, curve))
      end
    end
  end
  return paths
end

return tensorboard
