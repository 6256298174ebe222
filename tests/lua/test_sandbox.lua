-- A stranger's script in the sandbox: what it cannot do, and that what it needs is there.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local sandbox = require "longhaul.sandbox"
local script = require "longhaul.script"

sandbox.million_instructions, sandbox.mebibytes = 5, 200

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

-- Loads a script with this text in the sandbox.
local function run(text, name)
  local path = folder .. "/" .. (name or "script.lua")
  core.write_file(path, text)
  return script.load(path, { scale = "smoke", sandbox = true })
end

local whole = [[
local lh = require "longhaul"
local bench = lh.experiment "stranger"
local books = lh.data.text { "generate:books", documents = 3 }
for point in lh.grid { { "window", 16, 32 } } do
  bench:row { point, model = lh.models.slide { layers = 1, width = 16, heads = 2, window = point.window },
    task = lh.tasks.language_model { books, segment = 64 }, train = lh.train { steps = lh.by_scale { smoke = 2 } } }
end
%s
return bench]]

t.test("an experiment is built as outside", function()
  local bench = run(whole:format "bench:table { columns = { 'bits_per_byte' } }")
  t.equal(#bench.rows, 2)
  core.write_file(folder .. "/setting.lua", "return { seeds = 3 }")
  t.equal(run(whole:format [[bench:seeds(lh.include("setting.lua").seeds)]]).default_seeds, 3)
end)

t.test("nothing leads out", function()
  local bait = folder .. "/bait"
  for _, attempt in ipairs { "os.execute", "io.open", "io.popen", "package.loadlib",
    "debug.getinfo", "load", "loadstring", "loadfile", "dofile", "getmetatable",
    "setmetatable", "rawset", "collectgarbage", "_G" } do
    t.fails(function() run("local f = " .. attempt) end, "undefined global")
  end
  t.fails(function() run [[require "longhaul.core"]] end, "the sandbox has the module longhaul")
  t.fails(function() run [[require "os"]] end, "the sandbox has the module longhaul")
  t.fails(function() run [[string.dump(print)]] end, "field 'dump'")
  t.fails(function() run(("%s"):format "\27Lua", "bytecode.lua") end, "binary")
  t.fails(function() run [[require("longhaul").include "bytecode.lua"]] end, "binary")
  t.check(not core.exists(bait), "something was written")
end)

t.test("what the library uses cannot be changed", function()
  run(whole:format "string.format = function() return 'mine' end; table.concat = nil; math.floor = nil")
  t.equal(("%d"):format(3), "3")
  t.check(table.concat and math.floor, "a library was changed")
end)

t.test("instructions are bounded, whatever is caught", function()
  for _, endless in ipairs { "while true do end", "while true do pcall(error) end",
    "local function f() while true do end end while true do pcall(f) end",
    "while true do xpcall(function() while true do end end, function() while true do end end) end",
    "while true do coroutine.wrap(function() while true do end end)() end",
    "for _ in pairs {} do end local s = 0 repeat s = s + 1 until false" } do
    t.fails(function() run(endless) end, "the sandbox allows 5 million instructions")
  end
end)

t.test("memory is bounded, also in one call", function()
  t.fails(function() run "local s = string.rep('x', 1 << 30)" end, "MiB of memory")
  t.fails(function() run "local t = {} for i = 1, math.huge do t[i] = ('x'):rep(1 << 20) .. i end" end, "MiB of memory")
  t.equal(#run(whole:format "local s = ('x'):rep(1 << 20)").rows, 2)
end)

t.test("functions that a script leaves behind are bounded, too", function()
  local bench = run(whole:format [[
    bench:plot { 'boxes', y = 'rsa_gate', by = function(row) while row do end return 'a box', 1 end }
    bench.deep = { { f = function() while true do end end } }]])
  t.fails(function() bench.plots[1].by(true) end, "million instructions")
  t.equal((bench.plots[1].by(false)), "a box")
  t.fails(function() bench.deep[1].f() end, "million instructions")
end)

t.test("bounds end with the call, and nest", function()
  local sum = sandbox.call(function(a, b) return sandbox.call(function() return a + b end) end, 1,
    2)
  t.equal(sum, 3)
  local count = 0
  for _ = 1, 20e6 do count = count + 1 end
  t.equal(count, 20e6)
  t.check(#("x"):rep(300 << 20) > 0, "the bound on memory stayed")
  t.fails(function() sandbox.call(error, "own message", 0) end, "own message")
end)

os.execute("rm -rf '" .. folder .. "'")
t.finish()
