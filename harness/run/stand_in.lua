-- What is said of a generator that stands in for a corpus: generated text is not to be mistaken for it.
local core = require "longhaul.core"

local stand_in = {}

local told = {}

local function tell_once(line)
  if not told[line] then io.stderr:write("data: ", line, "\n") end
  told[line] = true
end

-- How a corpus is had that generators stand in for.
local ways = {
  books = "`longhaul data import FOLDER --name books`",
  latex = "`longhaul data import FOLDER --name latex`",
  code = "`longhaul data import /usr/include --name code --join-folders`",
}

--- What the embedded generator made of data that are told so (column `data` of runs.csv): a corpus, "embedded
--- generator (books)", or a series, "ETTh1 (embedded generator)"; nil where it did not make them.
function stand_in.generated(data)
  return data:match "^embedded generator %((.-)%)$" or data:match "^(.-) %(embedded generator%)$"
end

-- The data that a task asked for, by the text that says what is read, where a generator stands in for them.
local function missing(source, task)
  local kind = stand_in.generated(source)
  return kind and not (task and task:option "name" or ""):find "^generate:" and kind or nil
end

--- What there is to say where a task reads `source` (core.task_info) in place of the corpus that it names: nil where it
--- found that, or asked for the generator (generate:code).
function stand_in.of(source, task)
  local kind = missing(source, task)
  return kind and ("no corpus '%s' in the data folders: what the generator makes is read in its place%s"):format(kind,
    ways[kind] and "; to have one: " .. ways[kind] or "")
end

--- Says on standard error which data a command reads, by what core.task_info or session:info says
--- of them, each once: a generator that stands in for a name is not to be mistaken for the corpus.
--- What is to remark on them stands below. `task`: that reads them, where it is at hand.
function stand_in.tell(info, task)
  local source = info.data
  local kind, root = missing(source, task), os.getenv "LONGHAUL_DATA"
  local stands_in = kind and (root or "") ~= "" and not core.exists(root .. "/" .. kind)
  tell_once(source .. (stands_in and ("; LONGHAUL_DATA has no '%s'"):format(kind) or ""))
  for line in (info.remark or ""):gmatch "[^\n]+" do tell_once(line) end
end

return stand_in
