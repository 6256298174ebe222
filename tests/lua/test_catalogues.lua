-- Parallel text out of message catalogues: what is read of gettext's .mo files, of either byte order
-- and broken, and which sentences become pairs.
local t = dofile "tests/test.lua"
local catalogues = require "longhaul.run.catalogues"
local core = require "longhaul.core"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
local path = folder .. "/messages.mo"

-- A catalogue as msgfmt writes it: a header, two tables of lengths and offsets, the strings.
local function catalogue(entries, order)
  local count, at = #entries, 28 + 16 * #entries
  local tables, strings = { "", "" }, ""
  for side = 1, 2 do
    for _, entry in ipairs(entries) do
      tables[side] = tables[side] .. string.pack(order .. "I4I4", #entry[side], at + #strings)
      strings = strings .. entry[side] .. "\0"
    end
  end
  return string.pack(order .. "I4I4I4I4I4I4I4", 0x950412de, 0, count, 28, 28 + 8 * count, 0, at)
    .. tables[1] .. tables[2] .. strings
end

local utf8_header = { "", "Language: de\nContent-Type: text/plain; charset=UTF-8\n" }

local function read(text)
  core.write_file(path, text)
  return catalogues.read(path)
end

t.test("a catalogue of either byte order gives its messages and its header", function()
  for _, order in ipairs { "<", ">" } do
    local list, header = read(catalogue({ utf8_header, { "a b c", "x y z" } }, order))
    t.equal(header, utf8_header[2])
    t.equal(#list, 1)
    t.equal(table.concat(list[1], "|"), "a b c|x y z")
  end
end)

t.test("what is no catalogue, and what was cut off, is named", function()
  local whole = catalogue({ utf8_header, { "a b c", "x y z" } }, "<")
  for _, text in ipairs { "", "%PDF-1.4 and so on, longer than a header", whole:sub(1, 27) } do
    t.fails(function() read(text) end, "messages.mo: is no message catalogue")
  end
  for length = 28, #whole - 2 do
    t.fails(function() read(whole:sub(1, length)) end, "messages.mo: is cut off")
  end
end)

-- The pairs that an import of these catalogues writes, "source|target", in all splits.
local function imported(files)
  local locale = folder .. "/locale/de/LC_MESSAGES"
  os.execute("rm -rf " .. folder .. "/locale " .. folder .. "/cache")
  core.make_folder(locale)
  for name, entries in pairs(files) do
    core.write_file(locale .. "/" .. name, catalogue(entries, "<"))
  end
  local kept, said = core.cache_folder, nil
  core.cache_folder = function() return folder .. "/cache" end
  local printed = print
  print = function(text) said = text end
  local good, message = pcall(catalogues.import, folder .. "/locale", "de", "m")
  core.cache_folder, print = kept, printed
  if not good then error(message, 0) end
  local list = {}
  for _, split in ipairs { "train", "valid", "test" } do
    local function lines(ending)
      return core.read_file(("%s/cache/m/%s.%s"):format(folder, split, ending)):gmatch "(.-)\n"
    end
    local target = lines "de"
    for source in lines "en" do list[source] = target() .. "|" .. split end
    t.equal(target(), nil)
  end
  return list, said
end

-- Enough of them for every split.
local function many()
  local entries = { utf8_header }
  for i = 1, 200 do
    entries[#entries + 1] = { ("message number %d here"):format(i), ("Meldung Nummer %d hier"):format(i) }
  end
  return entries
end

t.test("sentences become pairs, in the split that their text has everywhere", function()
  local first = many()
  for _, entry in ipairs {
    { "Open", "Öffnen" }, { "two words", "zwei Wörter" }, { "never was translated", "" },
    { "stays the same", "stays the same" }, { "rings \a the bell", "die \a Glocke läutet" },
    { "broken in translation", "zer\xffbrochen" },
    { "  over\nseveral   lines\n", "über\nmehrere Zeilen\n" },
    { "menu\4Close this window", "Dieses Fenster schließen" },
    { "%d file was lost\0%d files were lost", "%d Datei ging verloren\0%d Dateien gingen verloren\0x y z" },
  } do
    table.insert(first, entry)
  end
  local list, said = imported {
    ["a.mo"] = first, ["readme.txt"] = {},
    ["b.mo"] = { utf8_header, { "Close this window", "later ones do not count" } },
    ["latin.mo"] = { { "", "Content-Type: text/plain; charset=ISO-8859-1\n" },
      { "is not read here", "wird nicht gelesen" } },
  }
  local function translation(source) return list[source] and list[source]:match "^(.*)|" end
  for _, source in ipairs { "Open", "two words", "never was translated", "stays the same", "rings \a the bell",
    "broken in translation", "is not read here" } do
    t.equal(translation(source), nil)
  end
  t.equal(translation "over several lines", "über mehrere Zeilen")
  t.equal(translation "Close this window", "Dieses Fenster schließen")
  t.equal(translation "%d file was lost", "%d Datei ging verloren")
  t.equal(translation "%d files were lost", "%d Dateien gingen verloren")
  t.contains(said, "m: 204 sentences of 2 catalogues")
  t.contains(said, "1 that are not UTF-8 were left out")
  -- other programs on another machine move no sentence to another split
  for source, found in pairs((imported { ["z.mo"] = many() })) do t.equal(found, list[source]) end
end)

t.test("too few sentences and a language that is not there are refused", function()
  t.fails(function() imported { ["a.mo"] = { utf8_header, { "one sentence alone", "ein einzelner Satz" } } } end,
    "too few sentences")
  t.fails(function() catalogues.import(folder, "xx", "m") end, "no messages in 'xx'")
end)

t.test("of a hundred parts by the hash of a message 90 train, 5 validate and 5 test", function()
  local entries, met = { utf8_header }, {}
  for i = 1, 1000 do entries[i + 1] = { "message of number " .. i, "Nachricht mit Nummer " .. i } end
  local found = imported { ["a.mo"] = entries }
  for i = 1, 1000 do
    local message = "message of number " .. i
    local part = tonumber(core.hash(message):sub(1, 8), 16) % 100
    met[part] = true
    t.equal(found[message]:match "|(%a+)$", part < 90 and "train" or part < 95 and "valid" or "test")
  end
  for _, part in ipairs { 89, 90, 94, 95 } do t.check(met[part], "no message is of part " .. part) end
end)

os.execute("rm -rf " .. folder)
t.finish()
