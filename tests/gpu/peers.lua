-- Training steps of the paper-size baseline beside PyTorch's on the same card, from the same
-- weights and batches.
--   longhaul lua tests/gpu/peers.lua FOLDER [all|slide|brt|gpt2|tiny]
-- Reads FOLDER/rates.csv, writes FOLDER/peers-NAME.csv, of all models peers.csv: a call on a lent machine brings back
-- at most eight files. Fails where longhaul is slower in steps that follow each other, as in a run: a step that is
-- waited for hides nothing of the host's time here, where it is captured whole, and most of it there, where kernels
-- start one by one. PYTHON names an interpreter that has PyTorch. `tiny` shows that the script runs, with PyTorch on
-- the processor.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local peer = require "longhaul.bench.peer"

local folder, name = ...
folder = folder or "results/gpu"
local tiny = name == "tiny"
local wanted = not tiny and name ~= "all" and name or ""

local baseline = dofile "tests/gpu/baseline.lua"(tiny)
local settings = {
  { model = "slide", precision = "bf16", batch = 4, script = "block_stack.py" },
  { model = "brt fixed:skip", precision = "bf16", batch = 4, script = "block_stack.py" },
  { model = "gpt2", precision = "bf16", batch = 16, script = "gpt2_steps.py" },
}
-- A warm-up, steps waited for one by one, steps in a row, and on a processor one for its memory.
local steps = baseline.warmup + 2 * baseline.rounds + 1
local arguments = ("--warmup %d --following %d --precision bf16 --device %s"):format(baseline.warmup,
  baseline.rounds, tiny and "cpu --eager" or "cuda")

local function ours(setting)
  local session <close> = baseline.session(setting, steps)
  local time = core.time_steps({ session }, baseline.warmup, baseline.rounds)[1]
  local flops = 3 * session:info().flops_per_token * time.tokens_per_step
  local following, loss = baseline.follow(session)
  return { step_time_ms = time.median_ms, step_time_q1_ms = time.q1_ms,
    step_time_q3_ms = time.q3_ms, following_step_ms = following,
    peak_memory_bytes = baseline.memory(time), loss_bits = loss }, flops
end

local function theirs(setting)
  local session <close> = baseline.session(setting, steps)
  local attention = setting.script == "block_stack.py" and " --attention best" or ""
  return peer.train(session, steps, setting.script, arguments .. attention)
end

local rates, rows, good = baseline.rates(folder), {}, true

-- After each side of each setting: what ends the call keeps what was measured before it.
local function write()
  local suffix = wanted ~= "" and "-" .. wanted or ""
  csv.write(folder .. "/peers" .. suffix .. ".csv", { "model", "precision", "batch",
    "segment", "steps", "implementation", "step_time_ms", "step_time_q1_ms", "step_time_q3_ms",
    "following_step_ms", "peak_memory_bytes", "loss_bits", "flops", "share_of_bf16" }, rows)
end

local function add(setting, implementation, values, flops)
  local row = { model = setting.model, precision = setting.precision, batch = setting.batch,
    segment = baseline.segment(setting), steps = steps, implementation = implementation,
    flops = 1000 * flops / values.following_step_ms }
  row.share_of_bf16 = rates.bf16 and row.flops / rates.bf16
  for name, value in pairs(values) do row[name] = row[name] or value end
  rows[#rows + 1] = row
  write()
  print(("%-16s %-16s %9.2f ms in a row, %.2f alone (%.2f to %.2f)  %7.2f GB  mean loss %.5f bits%s"):format(
    row.model, implementation, row.following_step_ms, row.step_time_ms, row.step_time_q1_ms, row.step_time_q3_ms,
    row.peak_memory_bytes / 1e9, row.loss_bits,
    rates.bf16 and ("  %.1f%% of bf16"):format(100 * row.share_of_bf16) or ""))
end

if not peer.version "torch" then
  print "no PyTorch here (PYTHON=... names another interpreter)"
  return 0
end
local function compare(setting)
  local own, flops = ours(setting)
  add(setting, "longhaul", own, flops)
  local other = theirs(setting)
  add(setting, "PyTorch " .. other.torch, other, flops)
  good = good and (tiny or own.following_step_ms <= other.following_step_ms)
    and math.abs(own.loss_bits / other.loss_bits - 1) < 0.01
end

local chosen = {}
for _, setting in ipairs(settings) do
  if setting.model:find(wanted, 1, true) == 1 then chosen[#chosen + 1] = setting end
end
if #chosen == 0 then error(("no peer of '%s'"):format(wanted), 0) end
core.make_folder(folder)
for _, setting in ipairs(chosen) do compare(setting) end
return good and 0 or 1
