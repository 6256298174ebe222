-- A command: what it prints, its options, and its line in the list.
return {
  says = "a command of longhaul, and its line in the list",
  files = { { "harness/lua/longhaul/commands/NAME.lua", [==[
-- NAME: what the command does, in one sentence.
local command = require "longhaul.command"

local function run(values, rest)
  if not rest[1] then command.misuse("NAME needs a WORD; `longhaul NAME --help`") end
  for _ = 1, command.integer(values, "times", 1) do print("NAME: " .. rest[1]) end
end

return {
  {
    name = "NAME", summary = "one line", usage = "NAME WORD [--times N]", most = 1, run = run,
    options = { { "times=", "how often (default 1)", "N" } },
    description = "What it does, in a few lines.",
  },
}
]==] } },
  lines = { { "harness/lua/longhaul/main.lua", '  "NAME",', before = "} -- end of the commands" } },
  next = "make; build/longhaul NAME word; a check in tests/harness/test_command.sh",
}
