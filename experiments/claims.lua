-- The papers' claims, held against whatever has been run at this scale:
-- results/published/predicates.csv and what is ours. `longhaul run experiments/claims.lua --scale
-- small` after the tables.
local lh = require "longhaul"

local bench = lh.experiment "claims"
for _, claims in ipairs(lh.include_each "claims.lua") do
  for _, claim in ipairs(claims) do bench:claim(claim) end
end
return bench
