-- timings.csv, a curve, probes or the curves of a packed folder (by the first byte) with any bytes:
-- refused, or read.
local core = require "longhaul.core"
local step_times = require "longhaul.run.step_times"
local store = require "longhaul.run.store"
local refused = dofile "tests/fuzz/refused.lua"

local function read_timings(sweep)
  local times = step_times.of(sweep)
  for configuration in pairs(times.of) do
    local record = times:latest(configuration)
    if record then step_times.quartiles(record) end
    for other in pairs(times.of) do times:ratio(configuration, other) end
  end
end

-- File and reader by number.
local kinds = {
  [0] = { "timings.csv", read_timings },
  { "curves/run.csv", function(sweep) return sweep:read_curve("run", 100) end },
  { "probes/run.csv", function(sweep) return sweep:read_probes "run" end },
  { "curves.csv", function(sweep) return sweep:read_curve("run", 100) end },
}

return function(bytes, folder)
  local kind = kinds[(bytes:byte() or 0) % (#kinds + 1)]
  local path = folder .. "/" .. kind[1]
  for _, name in ipairs { "curves", "probes" } do core.make_folder(folder .. "/" .. name) end
  local file = assert(io.open(path, "wb"))
  file:write(bytes:sub(2))
  file:close()
  local read, message = refused(kind[2], store.of(folder))
  os.remove(path)
  assert(read or message:find(path, 1, true), "a refusal does not name its file")
end
