-- What `longhaul bench` measures by itself.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local lines = require "longhaul.bench.lines"

t.test("an op of the engine takes some time, and little", function()
  for _, seconds in ipairs { core.op_rate(200) } do
    t.check(seconds > 1e-9 and seconds < 1e-3, ("%g s"):format(seconds))
  end
  t.equal(select("#", core.op_rate(200)), 2)
end)

t.test("what is measured again takes the place of its lines, and all others stay", function()
  local function line(benchmark, metric, value)
    return { benchmark = benchmark, size = "s", metric = metric, value = value, threads = 1 }
  end
  local folder = os.tmpname()
  os.remove(folder)
  core.make_folder(folder)
  local path = folder .. "/bench.csv"
  local function said()
    local texts = {}
    for i, row in ipairs(csv.read(path)) do
      texts[i] = ("%s %s %s"):format(row.benchmark, row.metric, row.value)
    end
    return table.concat(texts, ", ")
  end
  lines.writer(path) { line("a", "ms", 1), line("a", "ms", 2), line("b", "ms", 3) }
  t.equal(said(), "a ms 1, a ms 2, b ms 3") -- on one thread and on two
  local save, measured = lines.writer(path), { line("b", "ms", 4) }
  save(measured)
  t.equal(said(), "a ms 1, a ms 2, b ms 4") -- after the first group
  measured[2], measured[3] = line("b", "mb", 5), line("a", "ms", 6)
  save(measured)
  t.equal(said(), "a ms 6, a ms 2, b ms 4, b mb 5")
  lines.write(path, measured)
  t.equal(said(), "b ms 4, b mb 5, a ms 6")
  os.execute("rm -r '" .. folder .. "'")
end)

t.finish()
