-- The results store and the files below it: whole or absent, quoted, locked.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.csv"
local store = require "longhaul.store"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

local function write(name, text)
  core.write_file(folder .. "/" .. name, text)
  return folder .. "/" .. name
end

t.test("fields come back as they went, whatever is in them", function()
  local odd = { 'say "hi"', "a,b", "two\nlines", "", " spaces ", "ünï" }
  local record = {}
  for i, text in ipairs(odd) do record["c" .. i] = text end
  local path = folder .. "/odd.csv"
  csv.write(path, { "c1", "c2", "c3", "c4", "c5", "c6" }, { record })
  local back = csv.read(path)[1]
  for i, text in ipairs(odd) do t.equal(back["c" .. i], text) end
end)

t.test("numbers keep all their digits", function()
  local path = folder .. "/numbers.csv"
  csv.write(path, { "x", "y", "z" }, { { x = 0.1 + 0.2, y = 1 / 0 * 0, z = 12345678901234567 } })
  local back = csv.read(path)[1]
  t.equal(tonumber(back.x), 0.1 + 0.2)
  t.equal(back.y, "")
  t.equal(back.z, "12345678901234567")
end)

t.test("a bad file is an error with its line", function()
  t.fails(function() csv.read(write("short.csv", "a,b\n1,2\n3\n")) end, "short.csv:3: 1 fields")
  t.fails(function() csv.read(write("quote.csv", 'a,b\n1,"2\n')) end, "quote.csv:3:1: a quote is never")
  t.fails(function() csv.read(write("inside.csv", 'a,b\n1,2"2\n')) end, "inside.csv:2:")
  t.fails(function() csv.read(folder .. "/absent.csv") end, "absent.csv")
end)

t.test("a row is replaced by its id and its factors become columns", function()
  local results = store.open(folder, "bench")
  results:put({ run_id = "a", identity = 2, row = "x", status = "failed", window = 32 }, { "window" })
  results:put({ run_id = "b", identity = 2, row = "y", status = "done", window = 64 }, { "window" })
  results:put({ run_id = "a", identity = 2, row = "x", status = "done", window = 32 }, { "window" })
  local rows = results:rows()
  t.equal(#rows, 2)
  t.equal(results:find("a").status, "done")
  t.equal(results:find("b").window, "64")
  t.equal(results:find("c"), nil)
end)

t.test("the first columns are the fixed ones, in their order", function()
  local _, columns = csv.read(folder .. "/bench/runs.csv")
  for i, name in ipairs(store.columns) do t.equal(columns[i], name) end
  t.equal(columns[#columns], "window")
end)

t.test("a stale half-written file does no harm", function()
  core.write_file(folder .. "/bench/runs.csv.partial", "run_id,expe")
  local results = store.open(folder, "bench")
  results:put({ run_id = "c", identity = 2, row = "z", status = "done" })
  t.equal(#results:rows(), 3)
end)

t.test("points of a curve after the checkpoint are dropped", function()
  local results = store.open(folder, "bench")
  results:write_curve("a", { { step = 10, loss_bits = 3 }, { step = 20, loss_bits = 2 } })
  t.equal(#results:read_curve("a", 10), 1)
  t.equal(#results:read_curve("nobody", 10), 0)
end)

t.test("a curve has columns of the model's own", function()
  local results = store.open(folder, "bench")
  local add, file = results:extend_curve("e", { { step = 1, layer_1_rsa_gate = 0.5 } }, { "layer_1_rsa_gate" })
  add { step = 2, layer_1_rsa_gate = 0.25 }
  file:close()
  t.equal(results:read_curve("e", 9)[2].layer_1_rsa_gate, "0.25")
end)

t.test("a curve grows point by point, and a torn last line is dropped", function()
  local results = store.open(folder, "bench")
  local add, file = results:extend_curve("d", { { step = 1, loss_bits = 3 } })
  add { step = 2, loss_bits = 2.5 }
  file:close()
  local tail <close> = assert(io.open(results:curve "d", "a"))
  tail:write "3,1."
  tail:close()
  local points = results:read_curve("d", 100)
  t.equal(#points, 2)
  t.equal(points[2].loss_bits, "2.5")
end)

t.test("a lock is given back when its scope ends", function()
  do local lock <close> = core.lock(folder .. "/lock", true) t.check(lock, "not locked") end
  local again <close> = core.lock(folder .. "/lock", true)
  t.check(again, "not locked again")
end)

t.test("a hash is the same for the same text only", function()
  t.equal(core.hash "a", core.hash "a")
  t.check(core.hash "a" ~= core.hash "b", "two texts, one hash")
  t.equal(#core.hash "", 32)
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
