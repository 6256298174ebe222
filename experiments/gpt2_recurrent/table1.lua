-- Adding Recurrence to Pretrained Transformers, Table 1: WikiText-103 by overlap, perplexity per
-- word.
-- At `study` 2.5 hours of two cores, with table2.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "gpt2_recurrent-table1"
setting.overlap_rows(bench, "wikitext103", setting.overlaps)
bench:table {
  columns = { "valid_word_perplexity", "word_perplexity", "kaplan_flops_per_token",
    "bits_per_byte" },
  published = "gpt2_recurrent_table1",
}
return bench
