-- RSA, Figure 10: what the recurrence encodings have learnt on Parity (regular), Tomita 5 (dilated)
-- and Tomita 6 (cyclical), from the runs of Table 2. Top: the weight of a letter by how far back it
-- stands; bottom: what a head gets from its encoding while the model reads a string.
local lh = require "longhaul"
local languages = lh.include "regular_languages.lua"

local bench = lh.experiment("rsa-figure10", { runs = "rsa-table2" })

local panels = { { "parity", 3 }, { "tomita5", 4 }, { "tomita6", 5 }, { "tomita6", 6 } }

-- Twelve of each letter, which all three languages have.
local input = "011010011001011010010110"

for _, panel in ipairs(panels) do
  local name, row = panel[1], languages.models[panel[2]]
  bench:row {
    row[1], slug = row[2], model = row[3], task = languages.task(name),
    train = languages.train(name),
    seeds = languages.seeds, dataset = name,
  }
  for layer = 1, 3 do
    local case = row[2]:match "case%u+"
    local place = ("%s, layer %d"):format(case, layer)
    bench:plot {
      "recurrence", row = row[1], dataset = name, layer = layer, title = "RSA, Figure 10, top: "
        .. place,
      name = ("%s-%s-layer%d"):format(name, case, layer),
    }
    bench:plot {
      "outputs", row = row[1], dataset = name, layer = layer, input = input,
      title = "RSA, Figure 10, bottom: " .. place,
      name = ("%s-%s-layer%d-output"):format(name, case, layer),
    }
  end
end
return bench
