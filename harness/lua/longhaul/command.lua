-- What the files of commands/ share: exit codes, and options read with a message about their usage. An
-- option that is misspelt, or a name that longhaul gave (of a model, a task, a device, an option in a
-- text of options), is wrong usage; that a script, a folder or data lack what is asked of them is a failure.
local core = require "longhaul.core"
local lists = require "longhaul.run.lists"

local command = {}

-- Exit codes, as the help says.
command.ok, command.failed, command.usage, command.interrupted = 0, 1, 2, 130

--- Ends a command with a message about its usage.
function command.misuse(message) error({ usage = message }, 0) end

--- `given` where it is one of `names`, of things that are called `what`.
function command.one_of(what, given, names)
  if lists.has(names, given) then return given end
  if given == "" then command.misuse(("no %s is given%s"):format(what, core.did_you_mean(given, names))) end
  command.misuse(("no %s '%s'%s"):format(what, given, core.did_you_mean(given, names)))
end

-- Whether an option takes a path, by what its value is called.
local function takes_path(option)
  local what = option[3] or ""
  return what:find "^FILE" or what == "FOLDER" or what == "BASE"
end

--- Refuses values of a command's options that are none of the option's `words`, which are all that it
--- takes unless it is `open`, and paths that are nothing.
function command.check_words(options, values)
  for _, option in ipairs(options) do
    local name = option[1]:gsub("=$", "")
    local meant = option.meant and option.meant[values[name]]
    if meant then command.misuse(("no %s '%s': it is called '%s'"):format(name, values[name], meant)) end
    if values[name] == "" and takes_path(option) then
      command.misuse(("--%s takes a path, not nothing"):format(name))
    end
    if option.words and not option.open and values[name] then
      command.one_of(name, values[name], option.words)
    end
  end
end

--- Refuses options that would do nothing: one without the option that it is said `with`, or beside the one that it is
--- said `without`.
function command.check_together(entry, values)
  for _, option in ipairs(entry.options) do
    local name = option[1]:gsub("=$", "")
    if values[name] and option.with and not values[option.with] then
      command.misuse(("longhaul %s: --%s is said with --%s"):format(entry.name, name, option.with))
    end
    if values[name] and values[option.without] then
      command.misuse(("longhaul %s: --%s says nothing beside --%s"):format(entry.name, name, option.without))
    end
  end
end

--- Options of several commands, with the names of the moment.
function command.model_option() return { "model=", "model class", "NAME", words = lists.names(core.models()) } end
function command.task_option(says) return { "task=", says, "NAME", words = lists.names(core.tasks()) } end
function command.device_option(says)
  return { "device=", says, "NAME", words = { "cpu", "cuda" }, meant = { gpu = "cuda" } }
end

--- Options as core.options reads them, from a text of the command line.
function command.options(kind, name, text)
  local options, wrong = core.options_or_refusal(kind, name, text)
  if not options then command.misuse(wrong) end
  return options
end

--- What `open(...)` gives, which opens a tokenizer that the command line names. One whose files are not
--- here is rightly named.
function command.tokenizer(open, ...)
  local good, opened = pcall(open, ...)
  if good then return opened end
  if opened:find "^no tokenizer '" then command.misuse(opened) end
  error(opened, 0)
end

--- The value of option `name`, an integer from `least` (default 1) to `most` (default 2^31 - 1);
--- `default` where it is not given.
function command.integer(values, name, default, least, most)
  if not values[name] then return default end
  least, most = least or 1, most or 0x7fffffff
  local number = tonumber(values[name])
  local integer = math.tointeger(number)
  if integer and integer >= least and integer <= most then return integer end
  local what = least == 1 and "a positive integer" or ("an integer of at least %d"):format(least)
  if number and number > most then what = ("an integer of at most %d"):format(most) end
  command.misuse(("--%s takes %s, not '%s'"):format(name, what, values[name]))
end

--- The lines of a text that are not empty, each behind its number: `for number, line in command.lines(text)`.
function command.lines(text)
  local next_line, number = text:gmatch "([^\n]*)\n?", 0
  return function()
    local line
    repeat line, number = next_line(), number + 1 until line ~= ""
    if line then return number, line end
  end
end

--- A file that will be written at `path`, nil for none: its folder is made, and what cannot be
--- written is refused before the work that it is to hold.
function command.output(path)
  if not path then return end
  core.make_folder(path:match "^(.*/)" or ".")
  core.check_writable(path)
end

return command
