-- What each kernel of a training step takes on the GPU, by ncu (scripts/gpu-check.sh, part profile).
--   longhaul lua tests/gpu/profile.lua steps MODEL [tiny]       the steps that ncu is to look at
--   longhaul lua tests/gpu/profile.lua sum RAW FOLDER MODEL     the last of them, into FOLDER/profile.csv
-- RAW is the CSV of `ncu --page raw --print-units base`. Fewer layers than the paper's, since ncu stops
-- the card at each kernel: what a layer takes is the same. A row has what one kernel took in all its launches, which
-- of ours it is of (`entry`), and what is expected of that with all its kernels. Rows of other models in profile.csv
-- stay.
local csv = require "longhaul.run.csv"

local settings = {
  slide = { model = "slide", precision = "bf16", batch = 4, layers = 2 },
  gpt2 = { model = "gpt2", precision = "bf16", batch = 16, dropout = 0.1, layers = 2 },
  reformer = { model = "reformer", precision = "bf16", batch = 1, layers = 2 },
  transformer_xl = { model = "transformer_xl", precision = "tf32", batch = 8, layers = 2 },
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

-- Where the last step lies: two equal runs of launches, behind which at most `tail` more follow, which end a
-- training (its last gradient's norm).
local shortest, tail = 64, 16

local function step_at(launches, last)
  local function name(i) return launches[i]["Kernel Name"] .. launches[i]["Grid Size"] end
  for period = shortest, last // 2 do
    local i = 0
    while i < period and name(last - i) == name(last - period - i) do i = i + 1 end
    if i == period then return last - period + 1, last end
  end
end

local function last_step(launches)
  for last = #launches, math.max(#launches - tail, 0), -1 do
    local first = step_at(launches, last)
    if first then return first, last end
  end
  error(("no two steps alike among %d launches"):format(#launches), 0)
end

-- Which of our kernels a launch is of, by its name with what it takes; "" where that does not tell.
local entries = {
  { "lh_adafactor_args", "adafactor_all" },
  { "lh_([%l_]-)_args" }, { "lh_cuda_([%l_]+)::" },
  { "nvjet", "matmul" }, { "cublas", "matmul" }, { "cutlass", "matmul" }, { "round_operand", "matmul" },
  { "lh_attention_", "attention_backward" }, { "copy_", "copy" }, { "sort_rows", "scatter_add" },
}

local function entry_of(name)
  for _, entry in ipairs(entries) do
    local found = name:match(entry[1])
    if found then return entry[2] or found end
  end
  return ""
end

-- The last step's launches by kernel, the longest first.
local function sums(launches)
  local rows, by_kernel = {}, {}
  local first, last = last_step(launches)
  for i = first, last do
    local name = launches[i]["Kernel Name"]
    local kernel = name:gsub("%s*%b()%s*$", "")
    local row = by_kernel[kernel]
    if not row then
      row = { entry = entry_of(name), kernel = kernel, launches = 0, seconds = 0, bytes_read = 0, bytes_written = 0 }
      by_kernel[kernel], rows[#rows + 1] = row, row
    end
    row.launches = row.launches + 1
    for metric, source in pairs(metrics) do
      local value = tonumber(((launches[i][source[1]] or ""):gsub(",", ""))) or 0
      row[metric] = row[metric] + value * source[2]
    end
  end
  table.sort(rows, function(a, b) return a.seconds > b.seconds end)
  return rows
end

-- ms that `longhaul describe MODEL --cost` expects of each of our kernels in such a step.
local function expected(baseline, setting)
  local ms = {}
  local _, _, rows = baseline.expected(setting)
  for _, row in ipairs(rows) do ms[row.kernel] = 1000 * row.seconds end
  return ms
end

local function sum(raw, folder, model)
  local baseline, file = dofile "tests/gpu/baseline.lua"(false), folder .. "/profile.csv"
  local rows = baseline.rows_of_others(file, "model", model)
  local setting = settings[model]
  local expected_ms = expected(baseline, setting)
  for _, row in ipairs(sums(read_launches(raw))) do
    row.model, row.precision, row.batch, row.layers = model, setting.precision, setting.batch, setting.layers
    row.ms, row.entry_expected_ms = 1000 * row.seconds, expected_ms[row.entry]
    rows[#rows + 1] = row
    print(("%8.3f ms %4d %8.3f GB  %s  %s"):format(row.ms, row.launches,
      (row.bytes_read + row.bytes_written) / 1e9, row.entry, row.kernel))
  end
  csv.write(file, { "model", "precision", "batch", "layers", "entry", "entry_expected_ms", "kernel", "launches", "ms",
    "bytes_read", "bytes_written" }, rows)
end

local what, a, b, c = ...
if what == "steps" then run_steps(a, b) else sum(a, b, c) end
return 0
