-- Files as a committed folder of results has them, and what documents make of them: dofile "tests/lua/filed.lua".
local csv = require "longhaul.run.csv"

local filed = {}

--- Writes a CSV file of these columns; a line is its values in their order.
function filed.write(path, columns, lines)
  local records = {}
  for i, line in ipairs(lines) do
    records[i] = {}
    for c, column in ipairs(columns) do records[i][column] = line[c] end
  end
  csv.write(path, columns, records)
end

--- The lines of a table below its head.
function filed.lines_of(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return table.concat(lines, "\n", 3)
end

return filed
