-- Figures of a card in documents are what its files say: parts, steps beside what was expected, kernels, peers.
local t = dofile "tests/test.lua"
local filed = dofile "tests/lua/filed.lua"
local core = require "longhaul.core"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder .. "/card/gpu-speed")

local function write(file, columns, lines) filed.write(folder .. "/card/gpu-speed/" .. file, columns, lines) end

write("summary.csv", { "part", "seconds", "verdict", "code_version", "dirty", "date" },
  { { "steps", 54, "good", "0123456789ab", "no", "2026-11-29T19:00:00Z" } })
write("rates.csv", { "name", "result", "size", "value", "unit" },
  { { "bf16", "f32", 8192, 7e14, "FLOP/s" }, { "copy", "", 8192, 4e12, "byte/s" } })
write("speed.csv", { "model", "precision", "batch", "dropout", "segment", "execution", "expected_ms", "step_time_ms",
  "following_step_ms", "peak_memory_bytes", "flops", "share_of_bf16" },
  { { "slide", "bf16", 4, 0, 4096, "graph", 40, 54, 50, 7.6e9, 3.19e14, 0.4 },
    { "slide", "bf16", 4, 0, 4096, "eager", 40, 64, 60, 7.6e9, 3e14, "" } })
write("profile.csv", { "model", "precision", "batch", "layers", "entry", "entry_expected_ms", "kernel", "launches",
  "ms", "bytes_read", "bytes_written" },
  { { "slide", "bf16", 4, 2, "attention_backward", 3, "void pass_keys<128, 0, __nv_bfloat16>", 2, 4, 3e9, 1e9 },
    { "slide", "bf16", 4, 2, "attention_backward", 3, "void pass_queries<128>", 2, 4, 2e9, 0 },
    { "slide", "bf16", 4, 2, "", "", "unknown", 1, 1, 0, 0 },
    { "slide", "bf16", 4, 2, "fill", 0.1, "void each<lh_cuda_fill::[lambda(long) (instance 1)]>", 1, 0.01, 0, 0 },
    { "gpt2", "bf16", 16, 2, "matmul", 1, "nvjet_128", 1, 1, 1e9, 0 } })

write("attention.csv", { "model", "kernel", "us", "issue_slots_percent", "instructions", "hmma", "ldsm",
  "stall_fixed_latency_percent", "stall_global_percent", "stall_shared_percent", "stall_tensor_percent" },
  { { "slide", "attend_tiles<64>", 90 },
    { "slide", "attend_tiles<128 0 __nv_bfloat16>", 332.4, 28.5, 9e7, 9e6, 3e6, 26, 33, 10, 4 } })

local known = assert(loadfile "scripts/known-figures.lua")(folder .. "/")

t.test("a part has its verdict and commit", function()
  t.equal(filed.lines_of(known.gpu_calls "card"), "| gpu-speed | steps | good | 54 | 0123456789ab | 2026-11-29 |")
end)

t.test("rates stand beside those of the estimate", function()
  t.equal(filed.lines_of(known.gpu_rates("card/gpu-speed/rates.csv", "h200")),
    "| bf16, result in f32 | 700.00 | 790.00 | TFLOP/s |\n| copy | 4.00 | 4.20 | TB/s |")
end)

t.test("steps stand beside what was expected of them", function()
  t.equal(filed.lines_of(known.gpu_steps "card/gpu-speed/speed.csv"),
    "| slide | bf16 | 4 x 4096 | 0 | 40.0 | 50.0 | 1.25 | 54.0 | 319 | 40 | 7.6 |\n"
    .. "| slide, eager | bf16 | 4 x 4096 | 0 | 40.0 | 60.0 | 1.50 | 64.0 | 300 |  | 7.6 |")
end)

t.test("of a kernel whose instructions were counted stand products and what its warps waited for", function()
  t.equal(filed.lines_of(known.gpu_attention("card/gpu-speed/attention.csv", "slide")),
    "| `attend_tiles<128 0 bf16>` | 332 | 90 | 10.0 | 3.3 | 28 | 33 | 26 | 10 | 4 |")
end)

t.test("kernels are summed by what they are of, whose estimate counts once", function()
  t.equal(filed.lines_of(known.gpu_profile("card/gpu-speed/profile.csv", 0.02)), "| `matmul` |  |  | 1.00 | 1.00 |\n"
    .. "| `attention_backward` | 8.00 | 3.00 |  |  |\n| `others` | 1.00 |  |  |  |\n"
    .. "| all | 9.01 | 3.10 | 1.00 | 1.00 |")
  local layer = known.gpu_layer("card/gpu-speed/profile.csv", "slide", { "attention_backward", "fill" })
  t.near(layer.ms, 4.005, 1e-9)
  t.near(layer.expected, 1.55, 1e-9)
end)

t.test("the longest kernels have their names, shortened", function()
  t.equal(filed.lines_of(known.gpu_kernels("card/gpu-speed/profile.csv", 0.2)),
    "| slide | `pass_keys<128, 0, bf16>` | attention_backward | 2 | 2000 | 44 | 1.00 |\n"
    .. "| slide | `pass_queries<128>` | attention_backward | 2 | 2000 | 44 | 0.50 |\n"
    .. "| gpt2 | `nvjet_128` | matmul | 1 | 1000 | 100 | 1.00 |")
  t.contains(known.gpu_kernels("card/gpu-speed/profile.csv", 0), "`each<lh_cuda_fill>`")
end)

t.test("peers are in whatever files a call left them", function()
  t.equal(known.gpu_peers "card/gpu-speed", "No peer was timed there yet.")
  local columns = { "model", "precision", "batch", "segment", "implementation", "step_time_ms", "following_step_ms",
    "peak_memory_bytes", "loss_bits" }
  write("peers.csv", columns, { { "slide", "bf16", 4, 4096, "longhaul", 54, 50, 8e9, 2 },
    { "slide", "bf16", 4, 4096, "PyTorch 2.9", 108, 40, 16e9, 4 }, { "brt", "bf16", 4, 4096, "longhaul", 9, 9, 9, 9 } })
  write("peers-gpt2.csv", columns, { { "gpt2", "bf16", 16, 1024, "longhaul", 3, 2, 1e9, 1 },
    { "gpt2", "bf16", 16, 1024, "PyTorch 2.9", 3, 4, 2e9, 1 } })
  local text = known.gpu_peers "card/gpu-speed"
  t.contains(text, "| PyTorch 2.9, ms |")
  t.equal(filed.lines_of(text),
    "| gpt2 | bf16 | 16 x 1024 | 2.0 | 4.0 | 0.50 | 3.0 | 3.0 | 1.00 | 1.0 | 2.0 | 0.50 | 1.0000 |\n"
    .. "| slide | bf16 | 4 x 4096 | 50.0 | 40.0 | 1.25 | 54.0 | 108.0 | 0.50 | 8.0 | 16.0 | 0.50 | 0.5000 |")
end)

os.execute("rm -r '" .. folder .. "'")

t.finish()
