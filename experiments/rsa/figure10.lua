-- RSA, Figure 10: what the recurrence encodings have learnt on Parity (regular), Tomita 5 (dilated) and Tomita 6
-- (cyclical), from the runs of Table 2: the weight of a letter by how far back it stands.
local lh = require "longhaul"
local languages = lh.include "regular_languages.lua"

local bench = lh.experiment("rsa-figure10", { runs = "rsa-table2" })

local panels = { { "parity", 3 }, { "tomita5", 4 }, { "tomita6", 5 }, { "tomita6", 6 } }

for _, panel in ipairs(panels) do
  local name, row = panel[1], languages.models[panel[2]]
  bench:row {
    row[1], slug = row[2], model = row[3], task = languages.task(name), train = languages.train(name),
    seeds = languages.seeds, dataset = name,
  }
  for layer = 1, 3 do
    bench:plot {
      "recurrence", row = row[1], dataset = name, layer = layer,
      title = ("RSA, Figure 10: %s, %s, layer %d (scale %s)"):format(name, row[2]:match "case%u+", layer, lh.scale()),
      name = ("%s-%s-layer%d"):format(name, row[2]:match "case%u+", layer),
    }
  end
end
return bench
