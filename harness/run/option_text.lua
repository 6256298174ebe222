-- Options as text, "window=64 name='a b'" (docs/lua.md, "Options as text"): its words, one after the
-- other.
local lists = require "longhaul.run.lists"

local option_text = {}

local meaning = { n = "\n", r = "\r", t = "\t" }

--- The value that begins at `from`, and the position behind it: in quotes of either kind, in which a
--- backslash escapes (one that stays open ends with the text), else up to a blank.
function option_text.value(text, from)
  local quote = text:match("^['\"]", from)
  if not quote then
    local after = text:find("%s", from) or #text + 1
    return text:sub(from, after - 1), after
  end
  local at = from + 1
  while at <= #text and text:sub(at, at) ~= quote do
    at = at + (text:sub(at, at) == "\\" and 2 or 1)
  end
  local inside = text:sub(from + 1, at - 1):gsub("\\(.)", function(letter)
    return meaning[letter] or letter
  end)
  return inside, math.min(at, #text) + 1
end

--- What `read(text, at)` finds in texts, one thing behind the other with blanks between: a list. It
--- gives a thing and the position behind it, or nil and what is wrong, which is then given here.
function option_text.list(texts, read)
  local list = {}
  for _, text in ipairs(texts) do
    local at = text:match "^%s*()"
    while at <= #text do
      local thing, after = read(text, at)
      if not thing then return nil, after end
      list[#list + 1] = thing
      at = text:match("^%s*()", after)
    end
  end
  return list
end

--- All of its options: { { name, value } ... }.
function option_text.pairs(text)
  local list, at = {}, text:match "^%s*()"
  while at <= #text do
    local name, from = text:match("^([%w_]+)=()", at)
    if not name then break end
    local value, after = option_text.value(text, from)
    list[#list + 1] = { name, value }
    at = text:match("^%s*()", after)
  end
  return list
end

--- The values of its options by their names.
function option_text.values(text)
  local values = {}
  for _, pair in ipairs(option_text.pairs(text)) do values[pair[1]] = pair[2] end
  return values
end

--- What has options: each is a column of runs.csv, "model_options", and begins their names, "model.window".
option_text.kinds = { "model", "task", "train" }

-- What two such texts say otherwise: { { name, value, other } ... }, by the order of names in the first,
-- then in the second; "" where one of them lacks it.
local function differences(a, b)
  local of_a, of_b, list = option_text.values(a), option_text.values(b), {}
  local names = lists.set()
  for _, text in ipairs { a, b } do
    for _, pair in ipairs(option_text.pairs(text)) do names:add(pair[1]) end
  end
  for _, name in ipairs(names.list) do
    local x, y = of_a[name] or "", of_b[name] or ""
    if x ~= y then list[#list + 1] = { name, x, y } end
  end
  return list
end

--- The options in which two runs, rows of runs.csv, differ: { { "train.rate", value, other } ... }.
function option_text.differences(a, b)
  local list = {}
  for _, kind in ipairs(option_text.kinds) do
    local column = kind .. "_options"
    for _, one in ipairs(differences(a[column] or "", b[column] or "")) do
      list[#list + 1] = { kind .. "." .. one[1], one[2], one[3] }
    end
  end
  return list
end

--- What an option takes, in words: its choices, "integer, 1 to 64", "list, 0 to 32", "flag".
function option_text.range(option)
  if option.choices then return table.concat(option.choices, " | ") end
  if not option.minimum then return option.type end
  local bound = option.type == "real" and "%.6g" or "%.0f"
  return ("%s, " .. bound .. " to " .. bound):format(option.type, option.minimum, option.maximum)
end

-- A value as it is read back: texts in quotes. (Lua's %q has numbers for control characters, which no reader of
-- options knows.)
local function spelled(value)
  if math.type(value) == "float" then return ("%.17g"):format(value) end
  return type(value) == "string" and '"' .. value:gsub('["\\\n]', "\\%0") .. '"' or tostring(value)
end

--- { word = 31, kind = "odd" } as text, by name; nil and the name of a value that is none.
function option_text.spell(values)
  local names, words = {}, {}
  for name in pairs(values) do names[#names + 1] = tostring(name) end
  table.sort(names)
  for i, name in ipairs(names) do
    local value = values[name]
    if type(value) == "table" or value == nil then return nil, name end
    words[i] = ("%s=%s"):format(name, spelled(value))
  end
  return table.concat(words, " ")
end

return option_text
