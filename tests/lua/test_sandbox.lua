-- A stranger's script in the sandbox: what it cannot do, and that what it needs is there.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local identity = require "longhaul.run.identity"
local lh = require "longhaul"
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

t.test("nor can the library, nor what its values do", function()
  local less, is, slide = lh.predicate.less, lh.predicate.is, lh.models.slide
  for _, change in ipairs { "lh.predicate.is", "lh.models.slide", "lh.tasks.recall", "lh.experiment", "lh.scales[1]",
    "lh.data.mine" } do
    t.fails(function() run(whole:format(change .. " = function() return true end")) end, "cannot be changed")
  end
  for _, value in ipairs { "bench", "bench.rows[1].model", "bench.rows[1].model.options", "lh.predicate.less(1, 2)",
    "lh.predicate.cell('c', {})", "lh.tune { rate = { 1, 2 }, by = 'valid_mse' }" } do
    run(whole:format(("assert((%s).__index == nil)"):format(value)))
  end
  for _, change in ipairs { "bench.check", "bench.name", "bench.runs" } do
    t.fails(function() run(whole:format(change .. " = '../../escaped'")) end, "cannot be changed")
  end
  t.fails(function() run(whole:format "bench.rows[1].model.option = function() end") end, "does not change")
  local names = #run(whole:format [[for name in pairs(lh.models) do bench[name] = true end
    bench.count = #lh.scales]]).rows
  t.equal(names, 2)
  t.check(lh.predicate.less == less and lh.predicate.is == is and lh.models.slide == slide, "it was")
  t.fails(function() run "require('longhaul').modles()" end, "no field 'modles' (did you mean 'models'?)")
end)

t.test("what a script declared cannot change when it has ended", function()
  local bench = run(whole:format [[
    local function endless() while true do end end
    bench:table { columns = { "bits_per_byte" } }
    bench:plot { 'boxes', y = 'rsa_gate', by = function(row)
      row.label, row.model, bench.tables[1].name, bench.plots[1].by = "mine", nil, "../runs", endless
      bench.sources[1] = { runs = "../../escaped" }
      return row.dataset, 1
    end }]])
  local plot = bench.plots[1]
  for _ = 1, 2 do t.equal((plot.by(bench.rows[1])), "generate:books") end
  t.equal(bench.rows[1].label, "16")
  t.equal(bench.rows[1].model:option "window", 16)
  t.equal(bench.tables[1].name, nil)
  t.equal(#bench.sources, 0)
end)

t.test("what is looked at when a script has ended is bounded, too", function()
  t.fails(function() run(whole:format [[
    local last = bench
    for i = 1, 40 do
      local next_one = lh.experiment("e" .. i)
      next_one.sources = { last, last }
      last = next_one
    end
    bench = last]]) end, "million instructions")
end)

t.test("so are the files of examples that it names", function()
  core.write_file(folder .. "/endless.lua", [[return { example = print,
    sizes = function() while true do end end }]])
  local task = [[local task = lh.tasks.scripted_tokens { "endless.lua" }
    bench:row { "x", model = bench.rows[1].model, task = task, train = lh.train {} }]]
  local bench = run(whole:format(task))
  t.fails(function() identity.task_info(bench.rows[3].task) end, "endless.lua:2: the sandbox allows 5 million")
  t.fails(function() run(whole:format(task .. " print(lh.parameters(bench.rows[1].model, task))")) end,
    "endless.lua:2: the sandbox allows 5 million")
end)

t.test("instructions are bounded, whatever is caught", function()
  for _, endless in ipairs { "while true do end", "while true do pcall(error) end",
    "local function f() while true do end end while true do pcall(f) end",
    "while true do xpcall(function() while true do end end, function() while true do end end) end",
    "while true do coroutine.wrap(function() while true do end end)() end",
    "for _ in pairs {} do end local s = 0 repeat s = s + 1 until false" } do
    t.fails(function() run(endless) end, "script.lua:1: the sandbox allows 5 million instructions")
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
