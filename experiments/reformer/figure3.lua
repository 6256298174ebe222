-- Reformer, Figure 3: shared queries and keys (left) and reversible layers (right) against the
-- regular Transformer, as bits per dim on held-out data while they train.
-- At `study` 1.4 hours of two cores, with figure4 and figure5.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "reformer-figure3"
setting.rows(bench, {
  { "Regular", { attention = "full", residual = "plain" } },
  { "Shared QK", { attention = "shared", residual = "plain" } },
  { "Reversible", { attention = "full", residual = "reversible" } },
})
bench:table { columns = { "bits_per_byte", "peak_memory_bytes", "relative_step_time",
  "parameters" }, baseline = "Regular" }
bench:plot { "loss", name = "heldout", y = "valid_bits",
  title = "Shared QK and reversible layers, bits per dim on held-out data" }
return bench
