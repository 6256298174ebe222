-- Reformer, Figure 5: enwik8 by the number of layers (left), and the time of a step against the
-- length of the sequences at a fixed number of tokens (right).
-- At `study` 1.4 hours of two cores, with figure3 and figure4.
local lh = require "longhaul"
local costs = lh.include "costs.lua"
local setting = lh.include "setting.lua"

local bench = lh.experiment "reformer-figure5"

-- ---- left ----

local enwik8 = setting.corpora[1]

for point in lh.grid {
  { "series", "Reformer" }, { "layers",
    table.unpack(lh.by_scale { smoke = { 1, 2 }, small = { 1, 2, 4 }, paper = { 12, 16, 20 } }) },
} do
  bench:row {
    point, model = setting.model(enwik8, { layers = point.layers, rounds = 4 }), task = enwik8.task,
    train = setting.train, dataset = enwik8.name, seeds = setting.seeds,
  }
end

-- ---- right ----

local tokens = lh.by_scale { smoke = 512, small = 32768 }
local model = lh.by_scale {
  smoke = { width = 16, heads = 1, hidden = 16, chunk = 16 },
  small = { width = 64, heads = 1, hidden = 64, chunk = 64 },
  paper = { width = 256, heads = 4, hidden = 256, chunk = 64 },
}
local lengths = lh.by_scale { smoke = { 128, 512 },
  small = { 1024, 2048, 4096, 8192, 16384, 32768 } }
local rounds = { ["LSH, 1 hash"] = 1, ["LSH, 2 hashes"] = 2, ["LSH, 4 hashes"] = 4,
  ["LSH, 8 hashes"] = 8 }

for point in lh.grid {
  { "series", "Full attention", "LSH, 1 hash", "LSH, 2 hashes", "LSH, 4 hashes", "LSH, 8 hashes" },
  { "length", table.unpack(lengths) },
} do
  bench:row {
    point, model = lh.models.reformer(model):with {
      layers = 1, residual = "plain", positions = { tokens },
      attention = rounds[point.series] and "lsh" or "full", rounds = rounds[point.series] or 1,
    },
    task = costs.task(point.length, tokens // point.length), train = costs.train, dataset = "speed",
  }
end

bench:table { columns = { "bits_per_byte", "step_time_ms", "tokens_per_second",
  "peak_memory_bytes" } }
bench:plot {
  "lines", x = { "length", log = true }, x_title = "length of a sequence, tokens", y = { "step_time_ms", log = true },
  group = "series", dataset = "speed",
  title = ("A training step of %d tokens by the length of sequences"):format(tokens),
}
bench:plot { "lines", x = "layers", y = "bits_per_byte", group = "series", dataset = enwik8.name,
  band = "seeds", name = "layers" }
return bench
