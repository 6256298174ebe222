-- manual, completion: what an installation brings for man(1) and for shells.
local command = require "longhaul.command"
local completion = require "longhaul.completion"
local core = require "longhaul.core"
local manual = require "longhaul.manual"

local function print_manual(_, _, commands)
  io.write(manual.page(commands, core.machine().version))
end

local function words()
  local list = table.move(completion.shells, 1, #completion.shells, 1, {})
  list[#list + 1] = "words"
  return list
end

local function complete(_, rest, commands)
  local what = command.one_of("shell", rest[1] or "", words())
  if what ~= "words" then
    if rest[2] then command.misuse(("completion %s takes no further word"):format(what)) end
    io.write(completion.script(what, commands))
    return
  end
  local before = table.move(rest, 3, #rest, 1, {})
  local taken = completion.words(commands, rest[2] or "", before)
  for _, word in ipairs(taken or {}) do print(word) end
  return taken and command.ok or command.failed
end

return {
  {
    name = "manual", summary = "print the manual page", run = print_manual, options = {},
    usage = "manual > longhaul.1",
    description = "`make install` puts it where man(1) looks.",
  },
  {
    name = "completion", summary = "print what bash, zsh or fish complete", run = complete,
    options = {}, most = math.huge, takes = words,
    usage = "completion bash | zsh | fish | words COMMAND [-- WORD ...]",
    description = "`make install` puts the scripts where the shells look; `source <(longhaul completion bash)` takes "
      .. "one for this shell alone. words: what a command takes at this moment, behind those words, a "
      .. "line each; exit status 1 where a path may stand.",
  },
}
