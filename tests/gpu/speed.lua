-- Training steps of the paper-size baseline on the GPU, against the rates that matrix_rate.cu
-- found.
--   longhaul lua tests/gpu/speed.lua FOLDER [tiny]
-- Reads FOLDER/rates.csv, writes FOLDER/speed.csv, beside each time what arithmetic expects of the
-- card (`longhaul describe MODEL --cost`), of GPU_NAME's if that is known there. LH_GRAPHS=0 starts
-- kernels one by one, in the first setting alone: the difference is what the gaps between them cost.
-- LH_EPILOGUES=0 has biases, activations and residuals in passes of their own, where they are most.
-- Rows of the other executions that the file has stay.
-- Fails where the driver makes a graph anew for steps that repeat: it takes milliseconds. `tiny`
-- shows that the script runs, on any machine.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"

local folder, tiny = ...
folder = folder or "results/gpu"

local baseline = dofile "tests/gpu/baseline.lua"(tiny)
local gpt2 = { model = "gpt2", precision = "bf16", batch = 16, dropout = 0.1 }
local settings = {
  { model = "slide", precision = "bf16", batch = 4 },
  { model = "slide", precision = "bf16", batch = 1 },
  { model = "slide", precision = "tf32", batch = 1 },
  { model = "brt fixed:skip", precision = "bf16", batch = 4 },
  { model = "slide", precision = "bf16", batch = 4, dropout = 0.05 },
  gpt2,
  { model = "transformer_xl", precision = "bf16", batch = 8 },
  { model = "transformer_xl", precision = "tf32", batch = 8 },
  { model = "reformer", precision = "bf16", batch = 1 },
  { model = "slide", precision = "f32", batch = 1 },
}

-- The protocol's steps, each waited for; then steps that follow each other as in a run.
local function measure(setting)
  local alone = baseline.warmup + baseline.rounds
  local run <close> = baseline.session(setting, 2 * alone)
  local time = core.time_steps({ run }, baseline.warmup, baseline.rounds)[1]
  return time, baseline.follow(run), run:info()
end

local rates = baseline.rates(folder)
local execution, measured, remade = "graph", 0, 0
if os.getenv "LH_GRAPHS" == "0" then
  settings, execution = { settings[1] }, "eager"
elseif os.getenv "LH_EPILOGUES" == "0" then
  settings, execution = { settings[1], gpt2 }, "passes"
end

local rows = baseline.rows_of_others(folder .. "/speed.csv", "execution", execution)

-- After each setting: what ends the call keeps what was measured before it.
local function write()
  csv.write(folder .. "/speed.csv", { "model", "precision", "batch", "dropout", "segment", "execution",
    "expected_ms", "expected_on", "step_time_ms", "step_time_q1_ms", "step_time_q3_ms",
    "following_step_ms", "graphs_after_warmup", "peak_memory_bytes", "flops", "share_of_bf16" }, rows)
end

core.make_folder(folder)
for _, setting in ipairs(settings) do
  local good, time, following, info = pcall(measure, setting)
  local name = setting.model
  if good then
    local flops = 3 * info.flops_per_token * time.tokens_per_step
    local reached = 1000 * flops / math.min(following, time.median_ms)
    local expected, on = baseline.expected(setting)
    rows[#rows + 1] = { model = name, precision = setting.precision, batch = setting.batch,
      dropout = setting.dropout or 0, segment = baseline.segment(setting),
      execution = execution, expected_ms = expected, expected_on = on,
      step_time_ms = time.median_ms, step_time_q1_ms = time.q1_ms, step_time_q3_ms = time.q3_ms,
      following_step_ms = following, graphs_after_warmup = time.graphs_after_warmup,
      peak_memory_bytes = baseline.memory(time), flops = reached,
      share_of_bf16 = rates.bf16 and reached / rates.bf16 or "" }
    measured = measured + 1
    write()
    print(("%-16s %-5s batch %d, dropout %g, %s: %.2f ms alone, %.2f ms in a row, %.2f expected, "
      .. "%.1f TFLOP/s%s"):format(name, setting.precision, setting.batch, setting.dropout or 0,
      execution, time.median_ms, following, expected, reached / 1e12,
      rates.bf16 and (", %.1f%% of bf16"):format(100 * reached / rates.bf16) or ""))
    remade = remade + time.graphs_after_warmup
    if time.graphs_after_warmup > 0 then
      print(("  %d graphs made anew in %d steps"):format(time.graphs_after_warmup, baseline.rounds))
    end
  else
    print(("%-16s %-5s batch %d: %s"):format(name, setting.precision, setting.batch, time))
  end
end
return measured == #settings and remade == 0 and 0 or 1
