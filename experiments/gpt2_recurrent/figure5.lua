-- Adding Recurrence to Pretrained Transformers, Figure 5: perplexity against FLOPs, over the runs
-- of Figure 4.
-- At `study` 1.3 hours of two cores, with figure4.
local lh = require "longhaul"
local rows = lh.include "windows.lua"

local bench = lh.experiment("gpt2_recurrent-figure5", { runs = "gpt2_recurrent-table2" })
rows(bench)
bench:plot {
  "pareto", x = "kaplan_flops_per_token", y = "valid_word_perplexity", group = "series",
  frontier = true, published = "gpt2_recurrent_table2",
  title = "Validation perplexity against FLOPs per token",
}
return bench
