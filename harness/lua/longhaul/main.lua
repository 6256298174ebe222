-- The command line: finds the sub-command that is meant among the descriptors of commands/, and
-- runs it.
local command = require "longhaul.command"
local core = require "longhaul.core"
local elsewhere = require "longhaul.elsewhere"
local fold = require "longhaul.run.fold"
local help = require "longhaul.help"
local lists = require "longhaul.run.lists"

local main = {}

local folder = "longhaul.commands."

-- The files of commands/, in the order of the help.
local files = {
  "run",
  "dry_run",
  "slurm",
  "describe",
  "models",
  "matrix",
  "check",
  "data",
  "measure",
  "generate",
  "tokens",
  "dilation",
  "figures",
  "results",
  "query",
  "other",
  "new",
  "manual",
} -- end of the commands

-- All commands, and each by its name. Their files are read when plug-ins are loaded, since some
-- list the models that there are.
local function all()
  local list, by_name = {}, {}
  for _, file in ipairs(files) do
    for _, entry in ipairs(require(folder .. file)) do
      list[#list + 1] = entry
      by_name[entry.name] = entry
    end
  end
  return list, by_name
end

-- Words by themselves that are values of an option that may be repeated: those of its `alone`, a
-- pattern. Gives the other words.
local function take_alone(options, values, rest)
  local left = {}
  for _, word in ipairs(rest) do
    local name
    for _, option in ipairs(options) do
      if option.alone and word:find(option.alone) then name = option[1]:sub(1, -2) end
    end
    if name then values[name] = values[name] or {} end
    table.insert(name and values[name] or left, word)
  end
  return left
end

-- What options of a command were called before.
local renamed = {
  run = { task = "run", source = "plan" },
  forward = { tokens = "ids" },
}

-- A refusal of words that says of an option with a new name which that is, and of one that training, tasks or models
-- have how it is given.
local function refusal_of(entry, text)
  local name = text:match "^unknown option: %-%-([%w_-]+)"
  if not name then return text end
  local now = (renamed[entry.name] or {})[name]
  return now and ("--%s is called --%s now"):format(name, now) or elsewhere.text(entry.options, name) or text
end

local function parse(entry, words)
  local names = { "help" }
  for _, option in ipairs(entry.options) do
    names[#names + 1] = option[1] .. (option.repeats and "+" or "")
  end
  local values, rest = core.arguments(words, names)
  if not values then command.misuse(("longhaul %s: %s"):format(entry.name, refusal_of(entry, rest))) end
  rest = take_alone(entry.options, values, rest)
  local most = entry.most or 0
  if #rest > most and not values.help then
    command.misuse(("longhaul %s: '%s' is one word too many of `longhaul %s`; `longhaul %s --help` says more"):format(
      entry.name, rest[most + 1], entry.usage:match "^(.-) %[%-%-" or entry.usage, entry.name))
  end
  if not values.help then
    command.check_words(entry.options, values)
    command.check_together(entry, values)
  end
  return values, rest
end

-- The command of that name; without one an error that names the nearest.
local function command_named(name)
  local list, by_name = all()
  if by_name[name] then return by_name[name] end
  command.misuse(("no command '%s'%s; `longhaul help` lists them"):format(name,
    core.did_you_mean(name, lists.names(list))))
end

-- Other spellings of a first word.
local also = { ["--help"] = "help", ["-h"] = "help", ["--version"] = "version" }

local function dispatch(words)
  local name = table.remove(words, 1)
  name = also[name] or name
  local of = also[words[1]] or words[1] -- `help X` is `X --help`
  if not name or name == "help" and (not of or of == "help") then
    print(help.text((all())))
    return name and command.ok or command.usage
  end
  if name == "help" then name, words = of, { "--help", table.unpack(words, 2) } end
  -- before the library lists the models that there are
  for _, message in ipairs(core.load_plugins()) do
    io.stderr:write("longhaul: left out: ", message, "\n")
  end
  local entry = command_named(name)
  local values, rest = parse(entry, words)
  if values.help then
    print(help.command_text(entry))
    return command.ok
  end
  local _, size = core.ranks()
  if size > 1 and not entry.ranks then
    command.misuse(("longhaul %s is for one process; `longhaul run` trains on several"):format(
      entry.name))
  end
  return entry.run(values, rest, (all())) or command.ok
end

-- An error may be any value.
local function message_of(result)
  if type(result) == "string" or (getmetatable(result) or {}).__tostring then
    return tostring(result)
  end
  return ("an error that is no text but a %s"):format(type(result))
end

local function complain(text)
  io.stderr:write(fold.text(text, core.terminal_width "error"), "\n")
end

--- Runs the command line; gives the exit code.
function main.run(words)
  core.setup_options()
  core.setup_sessions()
  core.setup_generators()
  local good, result = pcall(function()
    return dispatch(words)
  end)
  if good then return result end
  if type(result) == "table" and result.usage then
    complain(result.usage)
    return command.usage
  end
  local rank, size = core.ranks()
  local who = size > 1 and ("rank %d of %d: "):format(rank, size) or ""
  complain("longhaul: " .. who .. message_of(result))
  return command.failed
end


return main
