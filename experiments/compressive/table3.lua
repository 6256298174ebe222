-- Compressive Transformer, Table 3: PG-19 by word, beside a Transformer-XL of as many layers.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compressive-table3"
bench:seeds(setting.seeds)

local books = setting.pg19
setting.add(bench, books, "36L Transformer-XL", setting.transformer_xl(books))
setting.add(bench, books, "36L Compressive Transf.", setting.compressive(books))

bench:table {
  columns = { "word_perplexity", "valid_word_perplexity", "bits_per_byte", "relative_step_time",
    "parameters" },
  baseline = "36L Transformer-XL", published = "compressive_table3",
}
return bench
