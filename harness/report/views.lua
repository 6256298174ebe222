-- Files that show results are views of the runs at one scale on one device. The latest has the
-- plain name, "table.csv"; what another scale or device showed there before keeps a name of its
-- own, "table.smoke.csv" or "table.small-cuda.csv", so that no view replaces another's.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"

local views = {}

--- What the files of a scale and device are called by: "small", "small-cuda".
function views.owner(scale, device)
  return (device or "") ~= "" and device ~= "cpu" and scale .. "-" .. device or scale
end

--- The first line of a text file that is a view; `comment` begins a line that readers skip.
function views.mark(comment, scale, device)
  return ("%s scale %s, device %s"):format(comment, scale, device)
end

--- Whose view a file is: what its columns scale and device say, or its mark; nil where it says
--- nothing.
function views.owner_of(path)
  if not core.exists(path) then return nil end
  local scale, device
  if path:match "%.csv$" then
    local first = csv.read(path)[1] or {}
    scale, device = first.scale, first.device
  else
    scale, device = core.read_file(path):match "^[^\n]- scale ([%w_-]+), device ([%w_-]+)\n"
  end
  return (scale or "") ~= "" and views.owner(scale, device) or nil
end

-- Where a view lies that has not the plain name.
local function own_path(base, owner, extension) return ("%s.%s.%s"):format(base, owner, extension) end

--- Where the view <base>.<extension> of `owner` lies, under either name; nil where there is none.
function views.find(base, extension, owner)
  local plain, own = base .. "." .. extension, own_path(base, owner, extension)
  if views.owner_of(plain) == owner then return plain end
  return core.exists(own) and own or nil
end

--- Before a view of `owner` is written to <base>.<extension> for each extension: another's takes
--- its own name. The file of the first extension says whose they are.
function views.make_room(base, extensions, owner)
  local before = views.owner_of(base .. "." .. extensions[1])
  for _, extension in ipairs(extensions) do
    local path = base .. "." .. extension
    if before and before ~= owner and core.exists(path) then
      core.rename_file(path, own_path(base, before, extension))
    end
    core.remove_file(own_path(base, owner, extension))
  end
end

--- Removes a view of `owner` that can be made no more, under either name; whether there was one.
function views.remove(base, extensions, owner)
  local is_plain, removed = views.owner_of(base .. "." .. extensions[1]) == owner, false
  for _, extension in ipairs(extensions) do
    local paths = { own_path(base, owner, extension), is_plain and base .. "." .. extension or nil }
    for _, path in ipairs(paths) do
      removed = removed or core.exists(path)
      core.remove_file(path)
    end
  end
  return removed
end

--- What a view says whose runs have options that `--set` changed (an experiment's `changed`); nil
--- where they are the script's own.
function views.changed_text(changed)
  return changed and ("Options changed on the command line: %s."):format(changed)
end

--- What a view says that shows the rows alone which `texts` of --only mean.
function views.selected_text(texts) return ("rows of '%s' alone"):format(table.concat(texts, "', '")) end

--- The columns of a file, and `more` of those that some of its records have.
function views.columns(columns, more, records)
  local list = table.move(columns, 1, #columns, 1, {})
  for _, name in ipairs(more) do
    local has = false
    for _, record in ipairs(records) do has = has or record[name] ~= nil end
    list[#list + 1] = has and name or nil
  end
  return list
end

return views
