-- What the files of commands/ share: exit codes, and options read with a message about their usage.
local core = require "longhaul.core"

local command = {}

-- Exit codes, as the help says.
command.ok, command.failed, command.usage, command.interrupted = 0, 1, 2, 130

--- Ends a command with a message about its usage.
function command.misuse(message) error({ usage = message }, 0) end

--- `given` where it is one of `names`, of things that are called `what`.
function command.one_of(what, given, names)
  for _, name in ipairs(names) do
    if name == given then return given end
  end
  command.misuse(("no %s '%s'%s"):format(what, given, core.did_you_mean(given, names)))
end

--- The value of option `name`, an integer from `least` (default 1) to `most` (default 2^31 - 1);
--- `default` where it is not given.
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

--- A file that will be written at `path`, nil for none: its folder is made, and what cannot be
--- written is refused before the work that it is to hold.
function command.output(path)
  if not path then return end
  core.make_folder(path:match "^(.*)/" or ".")
  core.check_writable(path)
end

return command
