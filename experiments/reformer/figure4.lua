-- Reformer, Figure 4: hash rounds on imagenet64, against full attention with shared queries and
-- keys.
-- At `study` 1.4 hours of two cores, with figure3 and figure5.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "reformer-figure4"
local rows = {}
for point in lh.grid { { "rounds", 1, 2, 4, 8, 16 } } do
  rows[#rows + 1] = { point, { attention = "lsh", rounds = point.rounds }, label = "LSH-"
    .. point.rounds }
end
rows[#rows + 1] = { "Full Attention", { attention = "shared" } }
setting.rows(bench, rows, { setting.corpora[2] })
bench:table { columns = { "bits_per_byte", "relative_step_time" }, baseline = "Full Attention" }
bench:plot { "loss", name = "heldout", y = "valid_bits",
  title = "Hash rounds, bits per dim on held-out data" }
bench:plot { "lines", x = { "rounds", log = true }, x_title = "hash rounds", y = "bits_per_byte",
  group = "attention", group_names = { lsh = "LSH attention", shared = "full attention" }, level = "shared",
  band = "seeds", title = "Hash rounds, bits per dim" }
return bench
