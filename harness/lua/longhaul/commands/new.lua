-- new: begins what people add, each kind from its skeleton: the files of skeletons/, called by
-- their names. A skeleton is
--   says   what it is, for the help
--   files  { { path, text } ... }; NAME stands for the name, PATH for one with folders
-- lines  { { path, line, before = text } ... }: where it is entered, before that line or at the end
-- (optional)
--   beside what it belongs to where it is entered nowhere (optional)
--   next   what to do then
--   kinds  { kind = files ... }: which files --kind writes in their place (optional)
local command = require "longhaul.command"
local core = require "longhaul.core"
local kinds_of_charts = require "longhaul.report.kinds"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"

local folder = "longhaul.skeletons."

local function kinds() return lists.modules(folder) end

-- A text for this name. A path without a folder is an example; a paper's experiment is called
-- PAPER-NAME.
local function filled(text, name)
  local path, id = name:find("/", 1, true) and name or "examples/" .. name, name:gsub("/", "-")
  return (text:gsub("PATH%.lua", path .. ".lua"):gsub("NAME", id))
end

-- Enters a line in a list of the tree.
local function enter(entry, name)
  local line = filled(entry[2], name) .. "\n"
  local text = core.read_file(entry[1])
  local at = entry.before and text:find("\n" .. entry.before, 1, true) or #text
  core.write_file(entry[1], text:sub(1, at) .. line .. text:sub(at + 1))
end

-- What belongs into the tree is of no use elsewhere.
local function check_tree(skeleton, kind)
  local places = { skeleton.beside }
  for _, entry in ipairs(skeleton.lines or {}) do places[#places + 1] = entry[1] end
  for _, path in ipairs(places) do
    if not core.exists(path) then
      local outside = require(folder .. "plugin").kinds[kind]
        and ("; outside of one: longhaul new plugin NAME --kind %s"):format(kind) or ""
      error(("no %s here: new %s is for the folder of a clone%s"):format(path, kind, outside), 0)
    end
  end
end

local function check_name(kind, name)
  local pattern = kind == "experiment" and "^%l[%l%d_/-]*[%l%d]$" or "^%l[%l%d_]*$"
  if not name:match(pattern) or name:find("/.*/") then
    command.misuse(("'%s': a name is lower-case letters, digits and '_'"):format(name))
  end
end

-- The names that nothing new of a kind can have: the second of two would be left out, or stand in the
-- way of a build. A kernel is known by its passes; `help` is a command of no file.
local taken = {
  command = function(commands)
    local names = lists.names(commands)
    names[#names + 1] = "help"
    return names
  end,
  model = function() return lists.names(core.models()) end,
  task = function() return lists.names(core.tasks()) end,
  data = function()
    local names = lists.names(core.corpora())
    for _, source in ipairs(require "longhaul.sources") do names[#names + 1] = source.name end
    return names
  end,
  metric = function() return lists.names(metrics.all()) end,
  chart = kinds_of_charts.names,
  kernel = function()
    local names = lists.names(require "longhaul.kernels")
    for i, name in ipairs(names) do names[i] = name:gsub("_forward$", ""):gsub("_backward$", "") end
    return names
  end,
}

local function check_taken(kind, name, commands)
  for _, other in ipairs(taken[kind] and taken[kind](commands) or {}) do
    if other == name then error(("%s '%s' is there already"):format(kind, name), 0) end
  end
end

-- The files of a skeleton, or of the kind that is asked for.
local function files_of(skeleton, name, kind)
  if not kind then return skeleton.files end
  if not skeleton.kinds then command.misuse(("new %s has no --kind"):format(name)) end
  return skeleton.kinds[kind]
end

local function create(values, rest, commands)
  local kind, name = rest[1], rest[2]
  if not kind or not name then
    command.misuse(("new takes one of %s, and a NAME; `longhaul new --help`"):format(
      table.concat(kinds(), ", ")))
  end
  command.one_of("skeleton", kind, kinds())
  check_name(kind, name)
  local skeleton, paths = require(folder .. kind), {}
  local files = files_of(skeleton, kind, values.kind)
  check_tree(skeleton, kind)
  check_taken(kind == "plugin" and (values.kind or "model") or kind, name, commands)
  for i, file in ipairs(files) do
    paths[i] = filled(file[1], name)
    if core.exists(paths[i]) then error(paths[i] .. " is there already", 0) end
  end
  for i, file in ipairs(files) do
    core.make_folder(paths[i]:match("^(.*)/") or ".")
    core.write_file(paths[i], filled(file[2], name))
    print(paths[i])
  end
  local changed
  for _, entry in ipairs(skeleton.lines or {}) do
    enter(entry, name)
    if entry[1] ~= changed then print(entry[1]) end
    changed = entry[1]
  end
  print("next: " .. filled(skeleton.next, name))
end

local function description()
  local lines = { "Writes a skeleton into its place under the current folder, never over a file, "
    .. "and its line into lists." }
  for _, kind in ipairs(kinds()) do
    lines[#lines + 1] = ("    %-10s  %s"):format(kind, require(folder .. kind).says)
  end
  return table.concat(lines, "\n")
end

return {
  {
    name = "new", takes = function(before) return #before == 0 and kinds() or {} end,
    summary = "begin a model, a kernel, a task, a chart, a command ... from a skeleton", run = create,
    most = 2, usage = "new KIND NAME [--kind model|task|data]",
    options = { { "kind=", "what a plug-in brings: model (default), task or data", "KIND",
      words = lists.keys(require(folder .. "plugin").kinds) } },
    description = description(),
  },
}
