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

--- How many seeds the values of a table are of, "3 seeds" or "3 to 6 seeds", and the rows that have fewer than others
--- in their column: "1 to 3 seeds (fewer: LSTM, RNN and 4 more)"; the most that one has, and whether there are
--- rows with fewer. `counts`: { label =, column =, seeds = } of each value.
function summary.of_seeds(counts)
  local most_of, least, most, fewer = {}, math.huge, 0, lists.set()
  for _, count in ipairs(counts) do
    most_of[count.column] = math.max(most_of[count.column] or 0, count.seeds)
    least, most = math.min(least, count.seeds), math.max(most, count.seeds)
  end
  for _, count in ipairs(counts) do
    if count.seeds < most_of[count.column] then fewer:add(count.label) end
  end
  local range = least < most and ("%d to %d"):format(least, most) or most
  local text = ("%s %s"):format(range, most == 1 and "seed" or "seeds")
  if #fewer.list == 0 then return text, most, false end
  return ("%s (fewer: %s)"):format(text, summary.first(fewer.list, most_named)), most, true
end

-- A column of runs is what a table of them would have as one: those of an experiment on a data set.
local column_fields = { "experiment", "dataset", "scale", "device" }

--- The same of runs.
function summary.seeds(runs)
  local counts = {}
  for column, alike in ipairs(csv.groups(runs, column_fields)) do
    for _, own in ipairs(csv.groups(alike, { "row" })) do
      counts[#counts + 1] = { label = own[1].row or "", column = column, seeds = summary.count(own, "seed") }
    end
  end
  return (summary.of_seeds(counts))
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
