-- The papers' claims, held against whatever has been run at this scale: results/published/predicates.csv and what is
-- ours. `longhaul run experiments/claims.lua --scale small` after the tables.
local lh = require "longhaul"

local bench = lh.experiment "claims"
for _, paper in ipairs { "brt", "staircase", "gpt2_recurrent", "reformer", "rsa" } do
  for _, claim in ipairs(lh.include(paper .. "/claims.lua")) do bench:claim(claim) end
end
return bench
