-- Reformer, Table 3: how time and memory of whole models grow with length, batch and layers,
-- fitted.
-- At `study` 0.05 hours of two cores, with table1.
local lh = require "longhaul"
local costs = lh.include "costs.lua"

local bench = lh.experiment "reformer-table3"

local variants = {
  ["Transformer"] = { attention = "dot_product", residual = "plain" },
  ["Reversible Transformer"] = { attention = "dot_product" },
  ["Chunked Reversible Transformer"] = { attention = "dot_product", feed_forward_chunk = 64 },
  ["LSH Transformer"] = { attention = "lsh", residual = "plain" },
  ["Reformer"] = { attention = "lsh", feed_forward_chunk = 64 },
}
local lengths = lh.by_scale { smoke = { 128, 256 }, small = { 512, 1024, 2048 },
  gpu = { 1024, 4096, 16384 } }

local axes = {
  { "length", table.unpack(lengths) },
  { "batch", table.unpack(lh.by_scale { smoke = { 1, 2 }, small = { 1, 2, 4 } }) },
  { "layers", table.unpack(lh.by_scale { smoke = { 1, 2 }, small = { 2, 4, 8, 16 } }) },
}

costs.vary(bench, {
  "Transformer", "Reversible Transformer", "Chunked Reversible Transformer", "LSH Transformer",
  "Reformer",
}, axes, function(variant, point)
  return lh.models.reformer {
    layers = point.layers, width = 64, heads = 1, hidden = 512, chunk = 32,
    positions = { lengths[#lengths] },
  }:with(variants[variant])
end)

local called = { length = "length, tokens", batch = "batch, sequences", layers = "layers" }
bench:table { columns = { "step_time_ms", "peak_memory_bytes", "flops_per_token" } }
for _, axis in ipairs(axes) do
  local where = {}
  for _, other in ipairs(axes) do
    if other ~= axis then where[other[1]] = other[2] end
  end
  bench:plot {
    "lines", x = { axis[1], log = true }, x_title = called[axis[1]], y = { "peak_memory_bytes", log = true },
    group = "variant", where = where, name = "memory-by-" .. axis[1],
  }
end
bench:fit {
  group = "variant", over = { "length", "batch", "layers" }, of = costs.measures,
  published = "reformer_table3",
}
return bench
