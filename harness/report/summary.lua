-- Runs in words, for captions and overviews: what they have in common and how they differ. `runs`
-- are rows of runs.csv.
local csv = require "longhaul.run.csv"

local summary = {}

--- The different values of a column in the order in which they appear, "; " between them; of more
--- than `most` how many more there are.
function summary.different(runs, column, most)
  local list, seen, texts = {}, { [""] = true }, csv.texts(runs, column)
  local last = nil
  for i = 1, #runs do
    local text = texts[i]
    if text ~= last and not seen[text or ""] then list[#list + 1], seen[text] = text, true end
    last = text
  end
  local more = #list - most
  if more > 0 then list[most + 1] = ("%d more"):format(more) end
  return table.concat(list, "; ", 1, math.min(#list, most + 1))
end

--- How many different values a column has.
function summary.count(runs, column)
  local seen, count = {}, 0
  for _, text in ipairs(csv.texts(runs, column)) do
    if not seen[text] then count = count + 1 end
    seen[text] = true
  end
  return count
end

--- "1 seed", or the number of seeds.
function summary.seeds(runs)
  local count = summary.count(runs, "seed")
  return count == 1 and "1 seed" or count .. " seeds"
end

--- The days on which runs were made: "2026-11-20" or "2026-11-20 to 2026-11-22"; "" where no run
--- says.
function summary.days(runs)
  local first, last, before, dates = nil, nil, nil, csv.texts(runs, "date")
  for i = 1, #runs do
    local date = dates[i]
    if date ~= before and (date or "") ~= "" then
      local day = date:sub(1, 10)
      if not first or day < first then first = day end
      if not last or day > last then last = day end
    end
    before = date
  end
  if not first then return "" end
  return first == last and first or ("%s to %s"):format(first, last)
end

return summary
