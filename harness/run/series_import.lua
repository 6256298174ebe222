-- A time series out of a CSV file: the columns that are wanted behind the one of the time, a rule for
-- cells without a value, and the checks of who reads it (datasets/series/series_csv.h), before
-- it becomes a corpus that lh.data.series finds by its name.
local core = require "longhaul.core"
local data = require "longhaul.run.data"
local lists = require "longhaul.run.lists"

local series_import = {}

-- What stands in a cell that has no value, whatever its case.
local no_values = { [""] = true, ["na"] = true, ["n/a"] = true, ["nan"] = true, ["null"] = true, ["none"] = true,
  ["?"] = true }

local function fail(from, line, message, ...)
  error(("%s: line %d%s"):format(from, line, message:format(...)), 0)
end

-- The text of the quoted field that begins at a place, in which "" is a quote, and the place behind it; nil where
-- none begins, or it is never closed.
local function quoted_at(line, at)
  local text, after = line:match('^"([^"]*)"()', at)
  while text and line:sub(after, after) == '"' do
    local more, behind = line:match('^"([^"]*)"()', after)
    if not more then return nil end
    text, after = text .. '"' .. more, behind
  end
  return text, after
end

-- The text of the field that begins at a place, without the blanks around it, and the place behind these.
local function field_at(line, at)
  local begin = line:match("^[ \t]*()", at)
  local text, after = quoted_at(line, begin)
  if text then return text, line:match("^[ \t]*()", after) end
  text, after = line:match('^([^",]*)()', begin)
  return text:match "^(.-)[ \t]*$", after
end

-- The fields of a line; nil where a quote stands out of place. No field goes on in the next line.
local function fields_of(line)
  local fields, at = {}, 1
  while at do
    local text, after = field_at(line, at)
    if not text:find "%S" then text = "" end
    fields[#fields + 1] = text
    if after <= #line and line:sub(after, after) ~= "," then return nil end
    at = after <= #line and after + 1 or nil
  end
  return fields
end

-- The place of a column in the header, which is this line.
local function place_of(from, line, header, name)
  for i, column in ipairs(header) do
    if column == name then return i end
  end
  fail(from, line, ": there is no column '%s'%s", name, core.did_you_mean(name, header))
end

-- The places of the columns that are kept, that of the time first: `options.columns`, an array of names (nil: all),
-- and `options.time` (nil: the first column).
local function chosen(from, line, header, options)
  local list = { options.time and place_of(from, line, header, options.time) or 1 }
  for i, name in ipairs(options.columns or header) do
    local place = options.columns and place_of(from, line, header, name) or i
    if place ~= list[1] then list[#list + 1] = place end
  end
  return list
end

-- The text of a cell, or of the one before it in its column where it has none: `last` has these by place, `carried`
-- counts them by the columns' names.
local function value_of(from, line, name, place, text, last, carried)
  if not no_values[text:lower()] then
    last[place] = text
    return text
  end
  if not carried then
    fail(from, line, ", column '%s': a cell without a value ('%s'); --missing forward carries the last one forward",
      name, text)
  end
  if not last[place] then
    fail(from, line, ", column '%s': a cell without a value, and none before it to carry forward: begin the file at "
      .. "its first value, or leave the column out by --columns", name)
  end
  carried[name] = (carried[name] or 0) + 1
  return last[place]
end

local function line_of(texts)
  for i, text in ipairs(texts) do texts[i] = core.csv_field(text) end
  return table.concat(texts, ",")
end

-- The text of a file in which each line stands where it stood; `carried` (nil: refuse) counts what was carried
-- forward.
local function chosen_text(from, text, options, carried)
  local lines, header, places, last, number = {}, nil, nil, {}, 0
  for line in text:gsub("^\xef\xbb\xbf", ""):gsub("\r\n?", "\n"):gsub("\n$", ""):gmatch "([^\n]*)\n?" do
    number = number + 1
    if line:find("\0", 1, true) then
      fail(from, number, ": a NUL byte; a file of UTF-16 is to be written as UTF-8")
    end
    local fields = fields_of(line)
      or fail(from, number, ": a quote inside a field, or one that is not closed on its line")
    local is_row = line:find "[^ \t]" ~= nil
    if is_row and not header then
      header, places = fields, chosen(from, number, fields, options)
    elseif is_row and #fields ~= #header then
      fail(from, number, ": %d fields, where the header has %d", #fields, #header)
    end
    local texts = {}
    for i, place in ipairs(is_row and places or {}) do
      local is_value = i > 1 and fields ~= header
      texts[i] = is_value and value_of(from, number, header[place], place, fields[place], last, carried)
        or fields[place]
    end
    lines[number] = line_of(texts)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function renamed(text, name, other)
  return (text:gsub(name:gsub("%p", "%%%0"), { [name] = other }))
end

-- Fails as who reads it does, naming the file that it was made of, whose name there may be that within the cache
-- folder; gives what is to remark on it.
local function check(path, from)
  local options = core.options("task", "forecasting",
    { name = path, seq_len = 1, label_len = 1, pred_len = 1, batch = 1, borders = "shares" })
  local good, info = pcall(core.task_info, options)
  if good then return info.remark end
  error(renamed(renamed(tostring(info), path, from), path:sub(#core.cache_folder() + 2), from), 0)
end

-- "3 values carried forward (load 2, price 1)"; nil for none.
local function carried_text(carried)
  local sum, texts = 0, {}
  for i, name in ipairs(lists.keys(carried)) do
    sum, texts[i] = sum + carried[name], ("%s %d"):format(name, carried[name])
  end
  if sum == 0 then return nil end
  return ("%d value%s carried forward (%s)"):format(sum, sum == 1 and "" or "s", table.concat(texts, ", "))
end

-- What a series is called that nobody gave a name.
local function name_of(from) return (from:match("([^/]+)$") or ""):gsub("%.gz$", ""):gsub("%.csv$", "") end

--- Makes the series <name> of the CSV file `from`. Options: `columns`, an array of names (nil: all); `time`, the
--- column of the dates (nil: the first); `missing` "forward" carries the last value forward into cells without one,
--- which are refused else; `replace` as of data.make.
function series_import.import(from, name, options)
  if not core.exists(from) then error(from .. ": no such file", 0) end
  if not core.file_size(from) then error(from .. ": a time series is one CSV file", 0) end
  name = name or name_of(from)
  local carried = options.missing == "forward" and {} or nil
  local target, said = data.make(name, options.replace, function(folder)
    local path = ("%s/%s.csv"):format(folder, name)
    core.write_file(path, chosen_text(from, core.unpack_file(from), options, carried))
    local said, filled = check(path, from), carried_text(carried or {})
    if not filled then return said end
    core.write_file(path .. ".carried", filled .. "\n") -- what reads the series tells it beside results
    return said .. "; " .. filled
  end)
  data.tell_made(name, said, target)
end

return series_import
