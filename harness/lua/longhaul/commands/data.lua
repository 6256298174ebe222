-- data: what corpora there are, and how more get here.
local command = require "longhaul.command"
local catalogues = require "longhaul.run.catalogues"
local data = require "longhaul.run.data"
local lists = require "longhaul.run.lists"
local series_import = require "longhaul.run.series_import"

local names = { "list", "fetch", "verify", "import" }

local function sources() return lists.names(require "longhaul.sources") end

-- Options that one kind of import takes, and no other.
local kind_with = { columns = "series", time = "series", missing = "series", ["join-folders"] = "text" }

local function check_options(values, kind)
  for _, name in ipairs(lists.keys(kind_with)) do
    if values[name] and kind_with[name] ~= kind then
      command.misuse(("--%s is for --kind %s"):format(name, kind_with[name]))
    end
  end
end

local function import_translations(from, values)
  local language = values.translations
  if values.kind then command.misuse "--kind and --translations: give one of them" end
  check_options(values, "translations")
  if not language:find "^[%a_@]+$" then
    command.misuse(("'%s' is no language: de, fr, pt_BR ..."):format(language))
  end
  catalogues.import(from, language, values.name or "messages-en-" .. language, values.replace)
end

local function import_series(from, values)
  local columns = values.columns and {}
  for name in (values.columns or ""):gmatch "[^,]+" do columns[#columns + 1] = name end
  series_import.import(from, values.name,
    { columns = columns, time = values.time, missing = values.missing, replace = values.replace })
end

-- A table by itself is no text to learn from: who wants it as such says so.
local function kind_of(from, values)
  if values.kind then return values.kind end
  if from:find "%.csv$" or from:find "%.csv%.gz$" then
    command.misuse(("%s is a table: --kind series imports it as a time series, --kind text as text"):format(from))
  end
  return "text"
end

local function import_by_kind(from, values)
  local kind = kind_of(from, values)
  check_options(values, kind)
  if kind == "series" then return import_series(from, values) end
  data.import(from, values.name, { join_folders = values["join-folders"], replace = values.replace })
end

local actions = {
  list = function() data.list() end,
  fetch = function(rest)
    if not rest[2] then
      command.misuse("data fetch needs a NAME; `longhaul data list` shows them")
    end
    data.fetch(command.one_of("public corpus", rest[2], sources()))
  end,
  verify = function(rest)
    local name = rest[2] and command.one_of("public corpus", rest[2], sources())
    return not data.verify(name) and command.failed or command.ok
  end,
  import = function(rest, values)
    if not rest[2] then command.misuse("data import needs a folder or a file, of text or JSON lines") end
    if values.translations then return import_translations(rest[2], values) end
    import_by_kind(rest[2], values)
  end,
}

-- The actions; behind fetch and verify what can be fetched, behind import a path.
local function words(before)
  if #before == 0 then return names end
  if before[1] == "import" then return nil end
  return sources()
end

local function run(values, rest)
  local name = command.one_of("action", rest[1] or "list", names)
  local given = next(values)
  if given and name ~= "import" then command.misuse(("--%s is said of data import"):format(given)) end
  return actions[name](rest, values)
end

return {
  {
    name = "data", takes = words,
    summary = "list, fetch, verify and import corpora", run = run, most = 2,
    usage = "data [list | fetch NAME | verify [NAME] | import FOLDER|FILE [--name NAME] [--replace] "
      .. "[--join-folders] | import FOLDER --translations LANGUAGE [--name NAME] [--replace] "
      .. "| import FILE.csv --kind series [--columns NAME,...] [--time NAME] [--missing RULE] [--name NAME] "
      .. "[--replace]]",
    options = {
      { "name=", "name of the imported corpus (default: the folder's or file's)", "NAME" },
      { "replace", "in the place of the corpus that has the name, which is refused else" },
      { "join-folders", "one document per folder instead of per file" },
      { "translations=", "parallel text out of the message catalogues in FOLDER, such as /usr/share/locale",
        "LANGUAGE" },
      { "kind=", "text (default) or series, a time series, which FILE.csv is to say", "KIND",
        words = { "text", "series" } },
      { "columns=", "of a series: the columns that are kept, in this order (default: all)", "NAME,..." },
      { "time=", "of a series: the column of the dates (default: the first)", "NAME" },
      { "missing=", "of a series: what becomes of cells that are empty, NA, NaN, null, None or ?: refuse (default) or "
        .. "forward, the last value of the column", "RULE", words = { "refuse", "forward" } },
    },
  },
}
