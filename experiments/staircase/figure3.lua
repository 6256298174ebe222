-- Staircase, Figure 3: perplexity against the time of a training step, over the runs of Table 2.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment("staircase-figure3", { runs = "staircase-table2" })
setting.reddit_rows(bench)
bench:plot {
  "pareto", x = "step_time_ms", y = "valid_perplexity", group = "class", frontier = true,
  group_names = {
    transformer_xl = "Transformer-XL", feedback = "Feedback", cached_staircase = "Cached Staircase",
    staircase = "Staircase", universal = "Universal",
  },
  published = "staircase_table2",
  title = "Perplexity against training time",
}
return bench
