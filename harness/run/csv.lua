-- Tables of named columns, as CSV files (libcsv reads and quotes).
local core = require "longhaul.core"
local quote = require "longhaul.run.quote"

local csv = {}

local function check_columns(path, columns, needed)
  local seen = {}
  for _, name in ipairs(columns) do
    if seen[name] then error(("%s: column '%s' stands there twice"):format(path, name), 0) end
    seen[name] = true
  end
  for _, name in ipairs(needed or {}) do
    if not seen[name] then
      error(("%s: there is no column '%s': the file is cut, or another one than its name says"):format(path, name), 0)
    end
  end
end

local told = {}

local function tell(text, path, ...)
  if told[path] then return end
  told[path] = true
  io.stderr:write(("note: %s; the same `longhaul run` makes it again\n"):format(text:format(path, ...)))
end

-- Names, once, the line of a last row that a full disk or a copy that broke off cut (0: none), or a file of
-- which nothing is left.
local function tell_cut(path, line, is_empty)
  if line > 0 then tell("%s:%d: the last line was cut and is left out", path, line) end
  if is_empty then tell("%s is empty: what stood there is lost", path) end
end

-- Rows of texts, the header first, as records keyed by its names; and the names.
local function records_of(path, rows, needed)
  local columns = rows[1] or {}
  local records = {}
  for i, name in ipairs(columns) do columns[i] = quote.csv_read(name) end
  if rows[1] then check_columns(path, columns, needed) end
  for i = 2, #rows do
    local record = {}
    for c, name in ipairs(columns) do record[name] = quote.csv_read(rows[i][c]) end
    records[#records + 1] = record
  end
  return records, columns
end

--- Reads a file as an array of records keyed by the header's names, which are all different.
--- Columns that are `needed` must be among them; a file without a line has none.
---@return table records, table columns
function csv.read(path, needed)
  local rows, cut = core.read_csv(path)
  tell_cut(path, cut, false)
  return records_of(path, rows, needed)
end

--- The same of a file that a process appends lines to: one that was being written when the process
--- was killed has no line end, and is left out whatever of it is there. The file stays as it is.
---@return table records, table columns
function csv.read_lines(path, needed)
  local rows, _, open = core.read_csv(path)
  if open then rows[#rows] = nil end
  return records_of(path, rows, needed)
end

--- Fails unless the columns `names` of records that `path` gave hold numbers, or nothing; those of `needed`
--- hold one in each. What is one csv.rows reads by the same rule.
function csv.check_numbers(path, records, needed, names)
  local function check(i, name, may_lack)
    local text = records[i][name] or ""
    if not (text == "" and may_lack) and not core.csv_is_number(text) then
      error(("%s: record %d: column '%s': '%s' is no number"):format(path, i, name, text), 0)
    end
  end
  for i = 1, #records do
    for _, name in ipairs(needed) do check(i, name, false) end
    for _, name in ipairs(names) do check(i, name, true) end
  end
end

--- The same for reading alone, where a file is large: texts are made column by column, when one is
--- first asked for; `pairs` finds none in a record. Then how long the file is up to its last row,
--- for csv.append (0: none can be appended), and whether a process is appending one, or was killed
--- as it did. A column in the set `is_numeric` fails when it is asked for, with file and line, where a
--- text in it is neither empty nor a number.
---@param path string
---@param needed? string[]
---@param is_numeric? table<string, boolean>
---@return table records, table columns, integer size, boolean unfinished
function csv.rows(path, needed, is_numeric)
  local records, columns, size, unfinished, cut = core.csv_rows(path, quote.csv_read, is_numeric)
  tell_cut(path, cut, not columns[1])
  if columns[1] then check_columns(path, columns, needed) end
  return records, columns, size, unfinished
end

--- Array of rows[i][name]: many rows of csv.rows sooner than one by one.
csv.texts = core.csv_texts

--- The same as numbers; nil where a text is none.
csv.numbers = core.csv_numbers

--- The rows in groups that have the same texts in the columns `names`: an array of arrays, in the
--- order of the rows.
csv.groups = core.csv_groups

--- The first row of each of these groups.
csv.distinct = core.csv_distinct

--- The rows by their text in a column; of several with one text the last.
function csv.by(rows, name)
  local by, texts = {}, csv.texts(rows, name)
  for i, row in ipairs(rows) do
    if texts[i] then by[texts[i]] = row end
  end
  return by
end

--- A value as CSV text: numbers with all their digits, nil and not-a-number empty.
function csv.text(value)
  if value == nil or value ~= value then return "" end
  if math.type(value) == "float" then return ("%.17g"):format(value) end
  return tostring(value)
end

local infinite = { inf = math.huge, ["-inf"] = -math.huge }

--- The number of such a text, which may be infinite, as a perplexity that no number holds; nil where it is
--- none.
---@param text? string
---@return number?
function csv.number(text) return tonumber(text) or infinite[text] end

local function line_of(texts)
  for i, text in ipairs(texts) do texts[i] = core.csv_field(quote.csv(text)) end
  if #texts == 1 and texts[1] == "" then texts[1] = '""' end -- readers pass over an empty line
  return table.concat(texts, ",") .. "\n"
end

--- A record as a line of a file with these columns.
function csv.line(columns, record)
  local texts = {}
  for i, name in ipairs(columns) do texts[i] = csv.text(record[name]) end
  return line_of(texts)
end

--- The text of a file with these columns and records.
function csv.format(columns, records)
  local lines = { line_of { table.unpack(columns) } }
  for i, record in ipairs(records) do lines[i + 1] = csv.line(columns, record) end
  return table.concat(lines)
end

--- Writes it, whole or not at all.
function csv.write(path, columns, records) core.write_file(path, csv.format(columns, records)) end

--- Appends a line to a file of `size` bytes, whole or not at all; the caller holds the lock of all
--- who write it. False where it must be written anew (core.append_row).
function csv.append(path, size, line) return core.append_row(path, size, line) end

return csv
