-- Compressive Transformer, Table 5: what compresses memories, and what it learns from, on Enwik8; and
-- of Table 4 the Transformer-XL, which compresses nothing. "Most-used" is not there.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compressive-table5"
bench:seeds(setting.seeds)

local wiki = setting.enwik8
setting.add(bench, wiki, "24L TXL", setting.transformer_xl(wiki))
for _, row in ipairs {
  { "Conv, BPTT", "convolution", "task", blocks = lh.by_scale { smoke = 4, paper = 2 } },
  { "Max Pooling", "max" },
  { "Conv, Auto-encoding", "convolution", "auto_encoding" },
  { "Mean Pooling", "mean" },
  { "Dilated conv, Attention", "dilated", "attention" },
  { "Conv, Attention", "convolution", "attention" },
} do
  setting.add(bench, wiki, row[1],
    setting.compressive(wiki, { compression = row[2], compression_loss = row[3] }), row.blocks)
end

bench:table {
  columns = { "bits_per_byte", "relative_step_time", "parameters" },
  baseline = "24L TXL", published = "compressive_table5",
}
return bench
