-- What a folder holds that seems to hold no runs: those that have begun, of which no runs.csv tells yet.
local core = require "longhaul.core"
local store = require "longhaul.run.store"

local begun = {}

-- Whether a store's runs.csv lost rows: it is written whole, with a header before anything else.
local function is_damaged(of)
  if not core.exists(of.file) then return false end
  local rows, cut = core.read_csv(of.file)
  return #rows == 0 or cut > 0
end

local function runs_text(count) return ("%d run%s"):format(count, count == 1 and "" or "s") end

-- What has a curve may have ended, and its row been lost.
local function damaged_text(of, count)
  return ("%s is empty or cut, and %s without a row there may have finished: put a copy of the file there, or the same "
    .. "`longhaul run` trains them again"):format(of.file, runs_text(count))
end

--- A sentence about the runs that have begun in a folder and those below it; nil where none has.
function begun.text(path)
  local runs, texts = 0, {}
  for _, folder in ipairs(store.folders(path)) do
    local of = store.of(folder)
    local count = #of:begun()
    if count > 0 and is_damaged(of) then
      texts[#texts + 1] = damaged_text(of, count)
    else
      runs = runs + count
    end
  end
  if runs > 0 then
    table.insert(texts, 1, runs_text(runs) .. " begun, none finished: the same `longhaul run` goes on, `longhaul "
      .. "watch` says how far it is")
  end
  return texts[1] and table.concat(texts, "; ")
end

--- Why there are no runs in a folder without a runs.csv.
function begun.nothing(path)
  return ("%s: %s"):format(path, begun.text(path) or "no runs.csv there, nor in a folder below")
end

return begun
