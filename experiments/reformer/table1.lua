-- Reformer, Table 1: how time and memory of attention grow with length, batch and heads, fitted.
-- At `study` 0.05 hours of two cores, with table3.
local lh = require "longhaul"
local costs = lh.include "costs.lua"

local bench = lh.experiment "reformer-table1"

local attention = {
  ["Scaled Dot-Product"] = "dot_product", ["Memory-Efficient"] = "full", ["LSH Attention"] = "lsh",
}
local lengths = lh.by_scale { smoke = { 128, 256 }, small = { 512, 1024, 2048, 4096 },
  gpu = { 1024, 4096, 16384 } }

costs.vary(bench, { "Scaled Dot-Product", "Memory-Efficient", "LSH Attention" }, {
  { "length", table.unpack(lengths) },
  { "batch", table.unpack(lh.by_scale { smoke = { 1, 2 }, small = { 1, 2, 4, 8 } }) },
  { "heads", table.unpack(lh.by_scale { smoke = { 1, 2 }, small = { 1, 2, 4 } }) },
}, function(variant, point)
  return lh.models.reformer {
    layers = 1, width = 64, heads = point.heads, head_width = 64, hidden = 64, residual = "plain",
    chunk = 64,
    attention = attention[variant], positions = { lengths[#lengths] },
  }
end)

bench:table { columns = { "step_time_ms", "peak_memory_bytes", "flops_per_token" } }
bench:fit {
  group = "variant", over = { "length", "batch", "heads" }, of = costs.measures,
  published = "reformer_table1", crossing = "Memory-Efficient",
}
return bench
