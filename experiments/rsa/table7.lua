-- "Encoding Recurrence into Transformers", Table 7: parameters of the published models, to the
-- unit, and what the models of Table 3 at this scale have.
-- At `study` 0.05 hours of two cores, with figure9.
local lh = require "longhaul"
local code = lh.include "code.lua"
local language = lh.include "language.lua"

local bench = lh.experiment "rsa-table7"

local slugs = { XL = "transformer_xl", ["RSA-XL"] = "rsa_xl", BRT = "brt", ["RSA-BRT"] = "rsa_brt" }

for _, name in ipairs { "text8", "enwik8", "wikitext103" } do
  for _, row in ipairs { "XL", "RSA-XL", "BRT", "RSA-BRT" } do
    local count = language.count(name, row)
    if count then
      bench:row {
        row, slug = slugs[row], dataset = name, model = language.model(name, row),
        task = language.task(name):with { evaluate_batches = 1 }, train = lh.train { steps = 0 },
        values = { layout_parameters = count },
      }
    end
  end
end

code.add_rows(bench, 1)
bench:table { columns = { "layout_parameters", "parameters" }, published = "rsa_table7" }
return bench
