-- RSA, Table 2: whole strings of six regular languages that are right, of the lengths of training
-- (bin 0) and longer (bin 1).
-- At `study` 4.8 hours of two cores, with readings.
local lh = require "longhaul"
local languages = lh.include "regular_languages.lua"

local bench = lh.experiment "rsa-table2"

for _, name in ipairs(languages.names) do
  for _, row in ipairs(languages.models) do
    bench:row {
      row[1], slug = row[2], model = row[3], task = languages.task(name),
      train = languages.train(name),
      seeds = languages.seeds, dataset = name,
    }
  end
end

bench:table {
  columns = { "accuracy_bin0", "accuracy_bin1", "parameters", "relative_step_time" },
  published = "rsa_table2", baseline = "Transformer",
}
bench:table {
  name = "best", title = "rsa-table2: the best of all epochs, by the test strings themselves",
  columns = { "best_accuracy_bin0", "best_accuracy_bin1" }, published = "rsa_table2",
}
bench:table { name = "gates", title = "rsa-table2: mean gate of the layers",
  columns = { "rsa_gate" } }
return bench
