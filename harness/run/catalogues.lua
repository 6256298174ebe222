-- Parallel text out of the message catalogues that every Unix machine has: gettext's .mo files, in
-- which each message of a program stands beside its translation.
local core = require "longhaul.core"
local data = require "longhaul.run.data"
local quantity = require "longhaul.run.quantity"

local catalogues = {}

-- Shorter messages are names and buttons: no sentences.
local fewest_words = 3

-- A catalogue's header is the translation of the empty message.
local function is_utf8(header) return (header or ""):lower():find("charset=utf%-8") ~= nil end

--- The messages of a catalogue and their translations, as { message, translation }, plural forms
--- separated by NUL; and the header. Fails naming the file where it is no catalogue.
function catalogues.read(path)
  local text = core.read_file(path)
  local order = #text >= 28 and ({ ["\xde\x12\x04\x95"] = "<", ["\x95\x04\x12\xde"] = ">" })[text:sub(1, 4)]
  if not order then error(path .. ": is no message catalogue (.mo)", 0) end
  local count, messages, translations = string.unpack(order .. "I4I4I4", text, 9)
  -- The string that entry i of a table at `at` describes by length and offset.
  local function string_of(at, i)
    local place = at + 8 * i + 1
    if place + 7 > #text then error(path .. ": is cut off", 0) end
    local length, offset = string.unpack(order .. "I4I4", text, place)
    if offset + length > #text then error(path .. ": is cut off", 0) end
    return text:sub(offset + 1, offset + length)
  end
  local list, header = {}, nil
  for i = 0, count - 1 do
    local message, translation = string_of(messages, i), string_of(translations, i)
    if message == "" then header = translation else list[#list + 1] = { message, translation } end
  end
  return list, header
end

-- One line: what breaks lines in a message says nothing to who translates it.
local function line_of(text) return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) end

local function forms_of(text)
  local forms = {}
  for form in (text .. "\0"):gmatch "(.-)\0" do forms[#forms + 1] = line_of(form) end
  return forms
end

local function is_sentence(text)
  local words = select(2, text:gsub("%S+", ""))
  return words >= fewest_words and utf8.len(text) ~= nil and not text:find "%c"
end

-- The sentences of a catalogue entry with their translations: singular and plural, each with its
-- own form. What precedes \4 says where a message stands and is not shown.
local function sentences_of(entry, add)
  local messages, translations = forms_of((entry[1]:gsub("^.-\4", ""))), forms_of(entry[2])
  for i = 1, math.min(#messages, #translations, 2) do
    local from, to = messages[i], translations[i]
    if is_sentence(from) and to ~= "" and utf8.len(to) and not to:find "%c" and from ~= to then
      add(from, to)
    end
  end
end

-- The split of a message: 90 of 100 train, 5 validate, 5 test, by a hash.
local function split_of(message)
  local part = tonumber(core.hash(message):sub(1, 8), 16) % 100
  return part < 90 and "train" or part < 95 and "valid" or "test"
end

-- The sentences of all catalogues of a folder by split, { message, translation }; what of them comes
-- first, by the catalogues' names, stands for a message. A message is in the same split on every
-- machine, whichever programs it has. Also how many catalogues were read, and how many are not UTF-8.
local function gather(folder)
  local splits, seen, read, others = { train = {}, valid = {}, test = {} }, {}, 0, 0
  local function add(message, translation)
    if seen[message] then return end
    seen[message] = true
    table.insert(splits[split_of(message)], { message, translation })
  end
  for _, file in ipairs(core.list_folder(folder)) do
    local entries, header
    if file:find "%.mo$" then entries, header = catalogues.read(folder .. "/" .. file) end
    if is_utf8(header) then
      read = read + 1
      for _, entry in ipairs(entries) do sentences_of(entry, add) end
    elseif entries then
      others = others + 1
    end
  end
  return splits, read, others
end

-- One side of a split, a sentence to a line; gives its bytes.
local function write_side(path, pairs_of, side)
  local lines = {}
  for i, pair in ipairs(pairs_of) do lines[i] = pair[side] .. "\n" end
  local text = table.concat(lines)
  core.write_file(path, text)
  return #text
end

-- Writes train.en, train.<language> and so on of the catalogues in a folder; says what they have.
local function fill(folder, language, into)
  if not core.is_folder(folder) then
    error(("%s: no such folder: programs here have no messages in '%s'"):format(folder, language), 0)
  end
  local splits, read, others = gather(folder)
  local sentences, bytes = 0, 0
  for split, pairs_of in pairs(splits) do
    if #pairs_of == 0 then
      error(("%s: too few sentences: there is none for %s"):format(folder, split), 0)
    end
    sentences = sentences + #pairs_of
    for side, ending in ipairs { "en", language } do
      bytes = bytes + write_side(("%s/%s.%s"):format(into, split, ending), pairs_of, side)
    end
  end
  local beside = others > 0 and ("; %d that are not UTF-8 were left out"):format(others) or ""
  return ("%d sentences of %d catalogues, %s bytes%s"):format(sentences, read, quantity.amount(bytes),
    beside)
end

--- Makes the corpus <name> of the catalogues of one language below `from`, a folder such as
--- /usr/share/locale: a sentence to a line in train.en, train.<language>, and so on for valid and
--- test. `replace` as of data.make.
function catalogues.import(from, language, name, replace)
  local folder = ("%s/%s/LC_MESSAGES"):format(from, language)
  local target, said = data.make(name, replace, function(into)
    return fill(folder, language, into)
  end)
  data.tell_made(name, said, target)
end

return catalogues
