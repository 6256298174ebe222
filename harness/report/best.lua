-- Which row of a column is the best, and which are not told from it: one rule for every table.
local statistics = require "longhaul.report.statistics"

local best = {}

-- The values of a candidate by seed; what learns nothing has its one value for every seed of the other.
local function values_beside(candidate, other)
  if not candidate.constant then return candidate.by_seed end
  local values = {}
  for seed in pairs(other.by_seed) do values[seed] = candidate.constant end
  return values
end

-- The differences of two candidates over the seeds that both have.
local function differences(a, b)
  return statistics.paired(values_beside(a, b), values_beside(b, a))
end

local function mark_ties(candidates, first)
  local others, from_first = {}, {}
  for _, candidate in ipairs(candidates) do
    if candidate ~= first then
      others[#others + 1], from_first[#from_first + 1] = candidate, differences(candidate, first)
    end
  end
  local apart = statistics.told_apart(from_first)
  for i, other in ipairs(others) do
    other.cell.tie = not apart[i]
    other.cell.behind = from_first[i]
  end
end

--- Marks cells of a column as `best` or as a `tie`, false where a test tells them from the best; of those `behind` are
--- the differences from the best, seed by seed. `candidates`: what may be the best, { cell =, value =, by_seed = its
--- values by seed, constant = its one value if it learns nothing } each; `better`: "min" or "max"; `seeds`: the most
--- that a row has, nil where a row's seeds share a value. Of fewer seeds than tests need, all that have the best value
--- are the best.
function best.mark(candidates, better, seeds)
  local sign, first = better == "max" and -1 or 1, nil
  for _, candidate in ipairs(candidates) do
    if not first or sign * candidate.value < sign * first.value then first = candidate end
  end
  if not first then return end
  first.cell.best = true
  if seeds and seeds >= statistics.fewest_seeds then return mark_ties(candidates, first) end
  for _, candidate in ipairs(candidates) do candidate.cell.best = candidate.value == first.value end
end

--- What the mark of a tie means.
best.meaning = ("not told from it by paired t tests over seeds, two-sided, of all rows of the column at a false "
  .. "discovery rate of %.2f"):format(statistics.level)

--- The same for who has not met such a test.
best.explained = ("≈ is a tie with the best. Rows are compared seed by seed: one ties where its differences from the "
  .. "best at the same seeds scatter so much that chance may have made them. So a row with a worse mean can tie, whose "
  .. "seeds lie far apart, and one with a better mean not, which is behind by about as much at every seed. (Paired "
  .. "t tests, two-sided, of all rows of the column, at a false discovery rate of %.2f.)"):format(statistics.level)

--- The text of a cell with the mark of a tie, where it is one.
function best.text(cell, text) return cell.tie and "≈ " .. text or text end

return best
