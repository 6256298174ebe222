-- "Encoding Recurrence into Transformers", Table 3 (b): language models with and without recurrence
-- encoding, over bytes and over words.
-- At `study` 1.5 hours of two cores.
local lh = require "longhaul"
local language = lh.include "language.lua"

local bench = lh.experiment "rsa-table3"
-- Three seeds left open whether recurrence encodings help (docs/studies.md).
bench:seeds(lh.by_scale { smoke = 1, small = 2, study = 4, gpu = 1 })

-- Row, the paper's slug, the data sets that it has a number for.
local rows = {
  { "XL", "transformer_xl", { "enwik8", "text8", "wikitext103" } },
  { "RSA-XL", "rsa_xl", { "enwik8", "text8", "wikitext103" } },
  { "BRT", "brt", { "enwik8", "wikitext103" } }, { "RSA-BRT", "rsa_brt", { "enwik8" } },
}

for _, row in ipairs(rows) do
  local label, slug, names = table.unpack(row)
  for _, name in ipairs(names) do
    bench:row {
      label, slug = slug, dataset = name, model = language.model(name, label),
      task = language.task(name),
      train = language.train(name),
    }
  end
end

bench:table { columns = { "bits_per_byte", "perplexity", "rsa_gate", "parameters",
  "relative_step_time" },
  baseline = "XL", published = "rsa_table3" }
bench:plot { "pareto", x = "step_time_ms", y = "bits_per_byte" }
return bench
