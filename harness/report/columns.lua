-- Clusters of columns side by side: rows by data set, or, where a column is split into a part and the rest, data sets
-- by row.
local columns = {}

-- Data sets without the first word that all of them share, and that word.
local function short(datasets)
  local first = datasets[1]:match "^(%S+) "
  for _, name in ipairs(datasets) do
    if not first or name:sub(1, #first + 1) ~= first .. " " then return datasets, "" end
  end
  local names = {}
  for i, name in ipairs(datasets) do names[i] = name:sub(#first + 2) end
  return names, first
end

--- Lays columns out. `value(row, dataset)` gives a column's height, or nil; `rest(row, dataset)`, optional, that of its
--- lower part. Gives { bars = { {x, rest, height, member} ... }, ticks = { {x, text} ... }, clusters = { {x, text} ... },
--- members = names, width =, shared = the word that all data sets begin with }.
function columns.layout(rows, datasets, value, rest)
  local names, shared = short(datasets)
  local outer, inner = rest and rows or names, rest and names or rows
  local made = { bars = {}, ticks = {}, clusters = {}, members = inner, width = 0.8 / #inner, shared = shared }
  for c = 1, #outer do
    made.clusters[c] = { c, outer[c] }
    for m = 1, #inner do
      local row, dataset = rows[rest and c or m], datasets[rest and m or c]
      local height = value(row, dataset)
      local x = c + (m - (#inner + 1) / 2) * made.width
      if height then
        local lower = rest and rest(row, dataset)
        made.bars[#made.bars + 1] = { x, lower and math.min(lower, height) or height, height, m }
        made.ticks[#made.ticks + 1] = { x, inner[m] }
      end
    end
  end
  return made
end

return columns
