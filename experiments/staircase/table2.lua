-- Staircase, Table 2: dialogue (Reddit's substitute) by recurrent steps, against baselines of the
-- same, twice and a quarter of the parameters.
-- At `study` 2.4 hours of two cores.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "staircase-table2"
setting.reddit_rows(bench)
bench:table {
  columns = { "parameters", "flops_per_token", "valid_perplexity", "perplexity", "bits_per_byte", "step_time_ms",
    "relative_step_time", "peak_memory_bytes", "inference_memory_bytes" },
  baseline = "Transformer-XL [9]", published = "staircase_table2",
}
return bench
