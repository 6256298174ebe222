-- What each kernel of a training step takes on the GPU, by ncu (scripts/gpu-check.sh, part profile).
--   longhaul lua tests/gpu/profile.lua steps MODEL [tiny]       the steps that ncu is to look at
--   longhaul lua tests/gpu/profile.lua sum RAW FOLDER MODEL     the last of them, into FOLDER/profile.csv
-- RAW is the CSV of `ncu --page raw --print-units base`. Fewer layers than the paper's, since ncu stops
-- the card at each kernel: what a layer takes is the same. Rows of other models in profile.csv stay.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"

local settings = {
  slide = { model = "slide", precision = "bf16", batch = 4, layers = 4 },
  gpt2 = { model = "gpt2", precision = "bf16", batch = 16, dropout = 0.1, layers = 4 },
  reformer = { model = "reformer", precision = "bf16", batch = 1, layers = 4 },
  transformer_xl = { model = "transformer_xl", precision = "tf32", batch = 8, layers = 4 },
}
local steps = 2

local function run_steps(model, tiny)
  local baseline = dofile "tests/gpu/baseline.lua"(tiny)
  local session <close> = baseline.session(settings[model], steps)
  session:train()
end

-- By column of ncu's what a row has of it, for the sums below.
local metrics = {
  seconds = { "gpu__time_duration.sum", 1e-9 },
  bytes_read = { "dram__bytes_read.sum", 1 },
  bytes_written = { "dram__bytes_write.sum", 1 },
}

-- ncu's CSV: what it says itself (==...), names, units, then a line for each launch.
local function read_launches(raw)
  local lines = {}
  for line in io.lines(raw) do
    if line:sub(1, 1) == '"' then lines[#lines + 1] = line end
  end
  table.remove(lines, 2)
  local bare = os.tmpname()
  local file <close> = assert(io.open(bare, "w"))
  file:write(table.concat(lines, "\n"), "\n")
  file:close()
  local launches = csv.read(bare)
  os.remove(bare)
  return launches
end

-- How many launches a step has: after as many the same kernels come again.
local function launches_of_step(launches)
  local function name(i) return launches[i]["Kernel Name"] .. launches[i]["Grid Size"] end
  local n = #launches
  for period = 64, n // 2 do
    local same = true
    for i = 0, period - 1 do
      if name(n - i) ~= name(n - period - i) then same = false break end
    end
    if same then return period end
  end
  error(("no two steps alike among %d launches"):format(n), 0)
end

-- The last step's launches by kernel, the longest first.
local function sums(launches)
  local first, rows, by_kernel = #launches - launches_of_step(launches) + 1, {}, {}
  for i = first, #launches do
    local kernel = launches[i]["Kernel Name"]:gsub("%s*%b()%s*$", "")
    local row = by_kernel[kernel]
    if not row then
      row = { kernel = kernel, launches = 0, seconds = 0, bytes_read = 0, bytes_written = 0 }
      by_kernel[kernel], rows[#rows + 1] = row, row
    end
    row.launches = row.launches + 1
    for name, metric in pairs(metrics) do
      local value = tonumber(((launches[i][metric[1]] or ""):gsub(",", ""))) or 0
      row[name] = row[name] + value * metric[2]
    end
  end
  table.sort(rows, function(a, b) return a.seconds > b.seconds end)
  return rows
end

local function sum(raw, folder, model)
  local file, rows = folder .. "/profile.csv", {}
  if core.exists(file) then
    for _, row in ipairs(csv.read(file)) do
      if row.model ~= model then rows[#rows + 1] = row end
    end
  end
  local setting = settings[model]
  for _, row in ipairs(sums(read_launches(raw))) do
    row.model, row.precision, row.batch, row.layers = model, setting.precision, setting.batch, setting.layers
    row.ms = 1000 * row.seconds
    rows[#rows + 1] = row
    print(("%8.3f ms %4d %8.3f GB  %s"):format(row.ms, row.launches,
      (row.bytes_read + row.bytes_written) / 1e9, row.kernel))
  end
  csv.write(file, { "model", "precision", "batch", "layers", "kernel", "launches", "ms",
    "bytes_read", "bytes_written" }, rows)
end

local what, a, b, c = ...
if what == "steps" then run_steps(a, b) else sum(a, b, c) end
return 0
