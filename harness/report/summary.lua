-- Runs and rows in words, for captions and overviews: what they have in common and how they differ.
-- `runs` are rows of runs.csv.
local csv = require "longhaul.run.csv"
local lists = require "longhaul.run.lists"

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

--- "LSTM, RNN and 3 more" of a list of names, of which the first `most` are told.
function summary.first(names, most)
  local more = #names > most and (" and %d more"):format(#names - most) or ""
  return table.concat(names, ", ", 1, math.min(#names, most)) .. more
end

-- The most rows that are named of those with fewer seeds.
local most_named = 2

--- "3 seeds", or where rows have different numbers "1 to 3 seeds (fewer: LSTM, RNN and 4 more)".
--- `fewest`: by the labels of rows the least that each has.
function summary.of_seeds(labels, fewest)
  local least, most, names = math.huge, 0, {}
  for _, label in ipairs(labels) do
    least, most = math.min(least, fewest[label]), math.max(most, fewest[label])
  end
  for _, label in ipairs(labels) do
    names[#names + 1] = fewest[label] < most and label or nil
  end
  local unit = most == 1 and "seed" or "seeds"
  if #names == 0 then return ("%d %s"):format(most, unit) end
  return ("%d to %d %s (fewer: %s)"):format(least, most, unit, summary.first(names, most_named))
end

--- The same of runs; a row's number is the least that it has on a data set.
function summary.seeds(runs)
  local labels, fewest = {}, {}
  for _, own in ipairs(csv.groups(runs, { "experiment", "row", "dataset", "scale", "device" })) do
    local label, count = own[1].row or "", summary.count(own, "seed")
    if not fewest[label] then labels[#labels + 1] = label end
    fewest[label] = math.min(fewest[label] or count, count)
  end
  return summary.of_seeds(labels, fewest)
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
  local datasets = lists.set()
  for _, row in ipairs(rows) do datasets:add(row.dataset) end
  return datasets.list
end

--- Those of rows that are on a data set; all of them with nil.
function summary.on_dataset(rows, dataset)
  local list = {}
  for _, row in ipairs(rows) do
    if dataset == nil or row.dataset == dataset then list[#list + 1] = row end
  end
  return list
end

return summary
