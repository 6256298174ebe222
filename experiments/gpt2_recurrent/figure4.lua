-- Adding Recurrence to Pretrained Transformers, Figure 4: PG-19 validation perplexity by window,
-- without overlap.
-- At `study` 1.3 hours of two cores, with figure5.
local lh = require "longhaul"
local rows = lh.include "windows.lua"

local bench = lh.experiment("gpt2_recurrent-figure4", { runs = "gpt2_recurrent-table2" })
rows(bench)
bench:table { columns = { "valid_word_perplexity", "word_perplexity", "kaplan_flops_per_token" } }
bench:plot {
  "lines", x = "window", x_title = "window, tokens", y = "valid_word_perplexity", group = "series",
  band = "seeds", published = "gpt2_recurrent_table2",
  title = "Effect of the window on validation perplexity",
}
return bench
