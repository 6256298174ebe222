-- Adding Recurrence to Pretrained Transformers, Table 2: PG-19 by overlap, perplexity per word.
-- At `study` 2.5 hours of two cores, with table1.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "gpt2_recurrent-table2"
local overlaps = table.move(setting.more_overlaps, 1, #setting.more_overlaps, #setting.overlaps + 1,
  { table.unpack(setting.overlaps) })
setting.overlap_rows(bench, "pg19", overlaps)
bench:table {
  columns = { "valid_word_perplexity", "word_perplexity", "kaplan_flops_per_token",
    "bits_per_byte" },
  published = "gpt2_recurrent_table2",
}
return bench
