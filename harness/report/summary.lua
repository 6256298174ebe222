-- Runs and rows in words, for captions and overviews: what they have in common and how they differ.
-- `runs` are rows of runs.csv.
local csv = require "longhaul.run.csv"

local summary = {}

--- The different values of a column in the order in which they appear, "; " between them; of more
--- than `most` how many more there are.
function summary.different(runs, column, most)
  local list = {}
  for _, run in ipairs(csv.distinct(runs, { column })) do
    if (run[column] or "") ~= "" then list[#list + 1] = run[column] end
  end
  local more = #list - most
  if more > 0 then list[most + 1] = ("%d more"):format(more) end
  return table.concat(list, "; ", 1, math.min(#list, most + 1))
end

--- How many different values a column has.
function summary.count(runs, column) return #csv.distinct(runs, { column }) end

--- "1 seed", or the number of seeds.
function summary.seeds(runs)
  local count = summary.count(runs, "seed")
  return count == 1 and "1 seed" or count .. " seeds"
end

--- The days on which runs were made: "2026-11-20" or "2026-11-20 to 2026-11-22"; "" where no run
--- says.
function summary.days(runs)
  local first, last
  for _, run in ipairs(csv.distinct(runs, { "date" })) do
    local day = (run.date or ""):sub(1, 10)
    if day ~= "" and (not first or day < first) then first = day end
    if day ~= "" and (not last or day > last) then last = day end
  end
  if not first then return "" end
  return first == last and first or ("%s to %s"):format(first, last)
end

--- The data sets of a script's rows, in the order in which they first appear.
function summary.datasets(rows)
  local list, seen = {}, {}
  for _, row in ipairs(rows) do
    if not seen[row.dataset] then list[#list + 1] = row.dataset end
    seen[row.dataset] = true
  end
  return list
end

return summary
