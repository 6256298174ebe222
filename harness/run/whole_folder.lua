-- Folders that are there whole or not at all: each is filled beside its place, under a name that begins with a dot.
local core = require "longhaul.core"
local quote = require "longhaul.run.quote"

local whole_folder = {}

local function remove_tree(path)
  if core.exists(path) and not os.execute("rm -rf -- " .. quote.shell(path)) then
    error(path .. ": cannot be removed", 0)
  end
end

-- Removes what stepped aside; where nothing has taken its place, it goes back.
local function settle_old(path, old)
  if core.exists(old) and not core.exists(path) then core.rename_file(old, path) end
  remove_tree(old)
end

-- Puts `begun` in the place of what is at `path`, which steps aside to `old` in one piece: a process that is killed
-- leaves no half of it.
local function put_in_place(begun, path, old)
  if core.exists(path) then core.rename_file(path, old) end
  local good, reason = pcall(core.rename_file, begun, path)
  settle_old(path, old)
  if not good then error(reason, 0) end
end

-- Fills the new folder `begun` and puts it in its place; what fails leaves nothing.
local function fill_new(begun, path, old, fill)
  remove_tree(begun)
  core.make_folder(begun)
  local good, result = pcall(function()
    local filled = fill(begun)
    put_in_place(begun, path, old)
    return filled
  end)
  if good then return result end
  remove_tree(begun)
  error(result, 0)
end

--- Makes the folder `path`, which `fill(folder)` fills, and gives what that gave; what is there already is gone then.
--- `check()` fails where nothing may take its place. One process makes a folder at a time, another is refused.
function whole_folder.make(path, check, fill)
  local parent, name = path:match "^(.*)/([^/]+)$"
  local beside = ("%s/.%s"):format(parent, name)
  core.make_folder(parent)
  local lock <close> = core.lock(beside .. ".lock", true)
  if not lock then error(path .. " is being made by another process", 0) end
  settle_old(path, beside .. ".old")
  check()
  return fill_new(beside .. ".begun", path, beside .. ".old", fill)
end

return whole_folder
