-- data: what corpora there are, and how more get here.
local command = require "longhaul.command"
local catalogues = require "longhaul.run.catalogues"
local data = require "longhaul.run.data"

local names = { "list", "fetch", "verify", "import" }

local function import_translations(from, values)
  local language = values.translations
  if not language:find "^[%a_@]+$" then
    command.misuse(("'%s' is no language: de, fr, pt_BR ..."):format(language))
  end
  catalogues.import(from, language, values.name or "messages-en-" .. language, values.replace)
end

local actions = {
  list = function() data.list() end,
  fetch = function(rest)
    if not rest[2] then
      command.misuse("data fetch needs a NAME; `longhaul data list` shows them")
    end
    data.fetch(rest[2])
  end,
  verify = function(rest)
    return not data.verify(rest[2]) and command.failed or command.ok
  end,
  import = function(rest, values)
    if not rest[2] then command.misuse("data import needs a folder or a file, of text or JSON lines") end
    if values.translations then return import_translations(rest[2], values) end
    data.import(rest[2], values.name,
      { join_folders = values["join-folders"], replace = values.replace })
  end,
}

-- The actions; behind fetch and verify what can be fetched, behind import a path.
local function words(before)
  if #before == 0 then return names end
  if before[1] == "import" then return nil end
  local sources = {}
  for i, source in ipairs(require "longhaul.sources") do sources[i] = source.name end
  return sources
end

local function run(values, rest)
  local name = command.one_of("action", rest[1] or "list", names)
  return actions[name](rest, values)
end

return {
  {
    name = "data", takes = words,
    summary = "list, fetch, verify and import corpora", run = run, most = 2,
    usage = "data [list | fetch NAME | verify [NAME] | import FOLDER|FILE [--name NAME] [--replace] "
      .. "[--join-folders] | import FOLDER --translations LANGUAGE [--name NAME] [--replace]]",
    options = {
      { "name=", "name of the imported corpus (default: the folder's or file's)", "NAME" },
      { "replace", "in the place of the corpus that has the name, which is refused else" },
      { "join-folders", "one document per folder instead of per file" },
      { "translations=", "parallel text out of the message catalogues in FOLDER, such as /usr/share/locale",
        "LANGUAGE" },
    },
  },
}
