-- The command line: sub-commands as a table of descriptors, each in a file of its own under
-- commands/.
local core = require "longhaul.core"

local command = {}

-- Exit codes, as the help says.
command.ok, command.failed, command.usage, command.interrupted = 0, 1, 2, 130

local groups = { "commands.run", "commands.models", "commands.data", "commands.measure",
  "commands.generate", "commands.dilation", "commands.figures", "commands.results", "commands.other",
  "commands.new" }

local function all()
  local list, by_name = {}, {}
  for _, group in ipairs(groups) do
    for _, entry in ipairs(require("longhaul." .. group)) do
      list[#list + 1] = entry
      by_name[entry.name] = entry
    end
  end
  return list, by_name
end

local function print_help()
  print("NAME")
  print("    longhaul - benchmark and reproduction harness for long-context sequence models\n")
  print("SYNOPSIS\n    longhaul COMMAND [ARGUMENTS] [--help]\n\nCOMMANDS")
  for _, entry in ipairs((all())) do print(("    %-10s %s"):format(entry.name, entry.summary)) end
  print("\nEXIT STATUS")
  print("    0 all went well; 1 a run or a file failed; 2 wrong usage; 130 interrupted (resumable)")
  print("\nENVIRONMENT")
  print("    LONGHAUL_DATA     folder with corpora; without it the embedded generators serve")
  print("    LONGHAUL_PLUGINS  colon-separated folders with models as shared objects")
end

local function print_command_help(entry)
  print(("NAME\n    longhaul %s - %s\n"):format(entry.name, entry.summary))
  print(("SYNOPSIS\n    longhaul %s\n"):format(entry.usage))
  if entry.description then
    print("DESCRIPTION\n    " .. entry.description:gsub("\n", "\n    ") .. "\n")
  end
  if #entry.options > 0 then print("OPTIONS") end
  local names, widest = {}, 0
  for i, option in ipairs(entry.options) do
    names[i] = option[1]:gsub("=$", " " .. (option[3] or "VALUE"))
    widest = math.max(widest, #names[i])
  end
  for i, option in ipairs(entry.options) do
    print(("    --%s%s  %s"):format(names[i], (" "):rep(widest - #names[i]), option[2]))
  end
end

--- Ends a command with a message about its usage.
function command.misuse(message) error({ usage = message }, 0) end

--- The value of option `name`, an integer from `least` (default 1) to `most` (default 2^31 - 1); `default` where it is not
--- given.
function command.integer(values, name, default, least, most)
  if not values[name] then return default end
  least, most = least or 1, most or 0x7fffffff
  local number = math.tointeger(tonumber(values[name]))
  if number and number >= least and number <= most then return number end
  local what = least == 1 and "a positive integer" or ("an integer of at least %d"):format(least)
  if number and number > most then what = ("an integer of at most %d"):format(most) end
  command.misuse(("--%s takes %s, not '%s'"):format(name, what, values[name]))
end

--- The value of option `name`, a path; `default` where it is not given.
function command.path(values, name, default)
  if values[name] == "" then command.misuse(("--%s takes a path, not nothing"):format(name)) end
  return values[name] or default
end

local function parse(entry, words)
  local names = { "help" }
  for _, option in ipairs(entry.options) do names[#names + 1] = option[1] end
  local values, rest = core.arguments(words, names)
  if not values then command.misuse(("longhaul %s: %s"):format(entry.name, rest)) end
  local most = entry.most or 0
  if #rest > most and not values.help then
    command.misuse(("longhaul %s: '%s' is one word too many; `longhaul %s --help`"):format(entry.name, rest[most + 1], entry.name))
  end
  return values, rest
end

local function dispatch(words)
  local name = table.remove(words, 1)
  if not name or name == "help" or name == "--help" or name == "-h" then
    print_help()
    return name and command.ok or command.usage
  end
  -- before the library lists the models that there are
  for _, message in ipairs(core.load_plugins()) do io.stderr:write("longhaul: left out: ", message, "\n") end
  local list, by_name = all()
  local entry = by_name[name == "--version" and "version" or name]
  if not entry then
    local names = {}
    for i, other in ipairs(list) do names[i] = other.name end
    local nearest = core.nearest(name, names)
    command.misuse(("no command '%s'%s; `longhaul help` lists them"):format(name,
      nearest and (" (did you mean '%s'?)"):format(nearest) or ""))
  end
  local values, rest = parse(entry, words)
  if values.help then
    print_command_help(entry)
    return command.ok
  end
  local _, size = core.ranks()
  if size > 1 and not entry.ranks then
    command.misuse(("longhaul %s is for one process; `longhaul run` trains on several"):format(entry.name))
  end
  return entry.run(values, rest) or command.ok
end

-- An error may be any value.
local function message_of(result)
  if type(result) == "string" or (getmetatable(result) or {}).__tostring then return tostring(result) end
  return ("an error that is no text but a %s"):format(type(result))
end

--- Runs the command line; gives the exit code.
function command.main(words)
  core.setup_options()
  core.setup_sessions()
  core.setup_generators()
  local good, result = pcall(function()
    return dispatch(words)
  end)
  if good then return result end
  if type(result) == "table" and result.usage then
    io.stderr:write(result.usage, "\n")
    return command.usage
  end
  local rank, size = core.ranks()
  local who = size > 1 and ("rank %d of %d: "):format(rank, size) or ""
  io.stderr:write("longhaul: ", who, message_of(result), "\n")
  return command.failed
end

return command
