-- Exit codes as the help says them: what is misspelt on the command line, an option, one of its words or a
-- name in its text, is wrong usage in every command; a file that is not there is a failure.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local command = require "longhaul.command"
local lists = require "longhaul.run.lists"
local quote = require "longhaul.run.quote"

local program = os.getenv "LONGHAUL_BIN" or core.program_folder() .. "/longhaul"
local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

-- Exit code and what is said of a command line, whose words are separated by blanks.
local function told(line)
  local stream = io.popen(("%s %s </dev/null 2>&1; echo $?"):format(quote.shell(program), line))
  local text = stream:read "a"
  stream:close()
  return tonumber(text:match "(%d+)\n$"), text
end

local function expect(code, line)
  local got, text = told(line)
  t.check(got == code, ("%s: exit code %s, not %d: %s"):format(line, got, code, text))
end

local commands = {}
for _, file in ipairs(lists.modules "longhaul.commands.") do
  table.move(require("longhaul.commands." .. file), 1, #require("longhaul.commands." .. file), #commands + 1, commands)
end

-- What each command needs before it reads the texts of its options.
local weights = folder .. "/w.safetensors"
local before = {
  train = "--model lstm", eval = "--weights " .. weights, export = "--model lstm --out " .. folder .. "/run",
  forward = "--model lstm --ids README.md --out " .. folder .. "/logits.npy", describe = "lstm --cost",
  check = "lstm --task language_model", generate = "--prompt a --weights " .. weights,
}

local function has(entry, name)
  for _, option in ipairs(entry.options) do
    if option[1] == name then return option end
  end
end

t.test("an option that no command has", function()
  for _, entry in ipairs(commands) do expect(2, entry.name .. " --no-such-option") end
end)

t.test("a word that an option does not take", function()
  for _, entry in ipairs(commands) do
    for _, option in ipairs(entry.options) do
      if option.words and not option.open then expect(2, ("%s --%sno-such-word"):format(entry.name, option[1])) end
    end
  end
end)

t.test("the options that take names say which", function()
  for _, entry in ipairs(commands) do
    for _, name in ipairs { "model=", "task=", "device=", "scale=" } do
      local option = has(entry, name)
      t.check(not option or option.words, ("%s --%s"):format(entry.name, name))
    end
  end
end)

t.test("a name in the text of options", function()
  os.execute(("%s train --model lstm --options 'width=4 hidden=4' --train steps=1 --out %s --task-options "
    .. "'name=generate:books documents=3 document_bytes=300 segment=8 batch=1' >/dev/null 2>&1"):format(
    quote.shell(program), quote.shell(weights)))
  for _, entry in ipairs(commands) do
    for _, name in ipairs { "options=", "task-options=", "train=", "tokens=" } do
      local text = name == "tokens=" and "no-such" or "no_such_option=1"
      local more = name == "task-options=" and entry.name ~= "forward" and entry.name ~= "check"
        and "--task language_model" or ""
      if name == "task-options=" and entry.name == "forward" then more = "--model informer --inputs x" end
      if has(entry, name) then
        expect(2, ("%s %s %s --%s%s"):format(entry.name, before[entry.name] or "", more, name, text))
      end
    end
  end
end)

-- That the C half raises then is seen where memory is short on purpose (tests/faults.sh).
t.test("what fails while a text of options is read is no wrong usage", function()
  local _, misuse = pcall(command.options, "model", "lstm", "no_such_option=1")
  t.check(type(misuse) == "table" and misuse.usage, misuse)
  local whole = core.options_or_refusal
  core.options_or_refusal = function() error("out of memory", 0) end
  local good, failure = pcall(command.options, "model", "lstm", "width=4")
  core.options_or_refusal = whole
  t.check(not good and failure == "out of memory", failure)
end)

t.test("a name behind a command", function()
  for _, line in ipairs { "no-such-command", "help no-such-command", "check no-such-model", "describe no-such-thing",
    "data no-such-action", "data fetch no-such-corpus", "data verify no-such-corpus", "results no-such-action a b",
    "new no-such-skeleton x", "completion no-such-shell", "bench --only no-such-part",
    "bench --model no-such-model" } do
    expect(2, line)
  end
end)

t.test("a file that is not there", function()
  for _, line in ipairs { "run no-such.lua", "list no-such.lua", "lua no-such.lua", "dilation no-such.txt",
    "tokenize --tokens bytes no-such.txt", "eval --weights no-such.safetensors", "report --results no-such",
    "results migrate no-such", "tokenize --tokens bpe:no-such", "figures --from no-such" } do
    expect(1, line)
  end
end)

os.execute("rm -r " .. quote.shell(folder))
t.finish()
