-- Tables of named columns, as CSV files (libcsv reads and quotes).
local core = require "longhaul.core"
local quote = require "longhaul.report.quote"

local csv = {}

local function check_columns(path, columns, needed)
  if #columns == 1 and columns[1]:find("[;\t]") then
    error(("%s: fields are parted by '%s', not by ',': save it as comma-separated values"):format(path,
      columns[1]:match("[;\t]")), 0)
  end
  local seen = {}
  for _, name in ipairs(columns) do
    if seen[name] then error(("%s: column '%s' stands there twice"):format(path, name), 0) end
    seen[name] = true
  end
  for _, name in ipairs(needed or {}) do
    if not seen[name] then error(("%s: there is no column '%s'"):format(path, name), 0) end
  end
end

--- Reads a file as an array of records keyed by the header's names, which are all different. Columns that are `needed`
--- must be among them; a file without a line has none.
---@return table records, table columns
function csv.read(path, needed)
  local rows = core.read_csv(path)
  local columns = rows[1] or {}
  local records = {}
  if rows[1] then check_columns(path, columns, needed) end
  for i = 2, #rows do
    if #rows[i] ~= #columns then
      error(("%s:%d: %d fields, but the header has %d"):format(path, i, #rows[i], #columns), 0)
    end
    local record = {}
    for c, name in ipairs(columns) do record[name] = quote.csv_read(rows[i][c]) end
    records[#records + 1] = record
  end
  return records, columns
end

--- A value as CSV text: numbers with all their digits, nil and not-a-number empty.
function csv.text(value)
  if value == nil or value ~= value then return "" end
  if math.type(value) == "float" then return ("%.17g"):format(value) end
  return tostring(value)
end

--- The text of a file with these columns and records.
function csv.format(columns, records)
  local lines = {}
  local function add(fields)
    for i, field in ipairs(fields) do fields[i] = core.csv_field(quote.csv(field)) end
    lines[#lines + 1] = table.concat(fields, ",")
  end
  add { table.unpack(columns) }
  for _, record in ipairs(records) do
    local fields = {}
    for i, name in ipairs(columns) do fields[i] = csv.text(record[name]) end
    add(fields)
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Writes it, whole or not at all.
function csv.write(path, columns, records) core.write_file(path, csv.format(columns, records)) end

return csv
