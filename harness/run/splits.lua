-- Which files of a folder are imported, and which splits they are: by the rule by which a folder is read in its
-- place (datasets/text/corpus_folder.h), so that no document is tested on there and trained on here.
local core = require "longhaul.core"

local splits = {}

-- The folders that are splits: train/ and one more. A tree of sources may have a folder test/.
local function folders_of(from)
  local folders, count = core.split_folders(from), 0
  for _ in pairs(folders) do count = count + 1 end
  return folders, folders.train ~= nil and count > 1
end

--- The paths that are imported from a folder, and how many are not: where folders are splits, they lie beside these.
--- What is empty is no document.
function splits.files(paths, from)
  local folders, parted = folders_of(from)
  local kept, beside = {}, 0
  for _, path in ipairs(paths) do
    local is_beside = parted and not folders[path:sub(#from + 2):match "^[^/]+"]
    if is_beside then
      beside = beside + 1
    elseif core.file_size(path) > 0 then
      kept[#kept + 1] = path
    end
  end
  return kept, beside
end

local function refuse(from, unnamed)
  error(("%s: some files here are called after a split (train.jsonl, valid-00.txt, wiki.test.tokens) or lie in a "
    .. "folder that is, '%s' is not: move such files away, or every file into one of the folders train/, valid/ and "
    .. "test/")
    :format(from, unnamed), 0)
end

--- What gives the split of each of these documents: what their names say where two or more splits are said, else a
--- hash; then whether it is the hash. Fails where some say one and others none. A document that is a whole folder has
--- no file's name.
function splits.of(names, from, joined)
  local folders, said, count, unnamed = folders_of(from), {}, 0, nil
  local function said_by(name) return folders[name:match "^[^/]+"] or not joined and core.named_split(name) or nil end
  for _, name in ipairs(names) do
    local split = said_by(name)
    if not split then
      unnamed = unnamed or name
    elseif not said[split] then
      said[split], count = true, count + 1
    end
  end
  if count < 2 then return core.split_by_name, true end
  if unnamed then refuse(from, unnamed) end
  return said_by, false
end

--- Fails where files of JSON lines (of splits.files), which are copied to where they lie below `from` and split when
--- they are read there, would not all be read: where a folder is a split, that is all that is read.
function splits.check_lines(paths, from)
  local folders = folders_of(from)
  local names, any, outside = {}, false, nil
  for i, path in ipairs(paths) do
    local name = path:sub(#from + 2)
    names[i] = name
    if folders[name:match "^[^/]+"] then any = true else outside = outside or name end
  end
  if any and outside then refuse(from, outside) end
  splits.of(names, from)
end

return splits
