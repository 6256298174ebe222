-- Axes of charts: where they end, and that their ticks can be read.
local t = dofile "tests/test.lua"
local axis = require "longhaul.report.axis"
local core = require "longhaul.core"
local gnuplot = require "longhaul.report.gnuplot"
local label = require "longhaul.report.label"
local parts = require "longhaul.report.chart_parts"

local function texts(made)
  local list = {}
  for i, tick in ipairs(made.ticks) do list[i] = tick[2] end
  return table.concat(list, " ")
end

local MiB = 2 ^ 20

t.test("an axis of bytes counts MiB or KiB in decimal ticks, also below a decade", function()
  local made = axis.over({ 10.2 * MiB, 68 * MiB }, { log = true, metric = "peak_memory_bytes" })
  t.equal(texts(made), "10 15 20 30 40 50 60 80")
  made = axis.over({ 22 * MiB, 31 * MiB }, { log = true, metric = "peak_memory_bytes" })
  t.check(#made.ticks >= 3, texts(made))
  t.equal(made.unit, "MiB")
  t.equal(axis.title("peak_memory_bytes", made), "peak memory, MiB")
  t.equal(made.ticks[1][1] / MiB, tonumber(made.ticks[1][2]))
  made = axis.over({ 200, 800000 }, { log = true, metric = "state_bytes" })
  t.equal(texts(made), "0.1 1 10 100 1000")
  t.equal(axis.title("state_bytes", made), "carried state, KiB")
  made = axis.over({ 0, 3000 }, { metric = "state_bytes" })
  t.equal(made.unit, "KiB")
  t.equal(axis.title("state_bytes", axis.over({ 10, 20 }, { metric = "state_bytes" })),
    "carried state, bytes")
end)

t.test("learning rates have decimal ticks, windows powers of two", function()
  t.equal(texts(axis.over({ 0.000244140625, 0.03125 }, { log = true })),
    "0.0002 0.0005 0.001 0.002 0.005 0.01 0.02")
  t.equal(texts(axis.over({ 64, 256, 1024 }, { log = true })), "64 128 256 512 1024")
  -- labels of nine letters need as much room
  t.equal(texts(axis.over({ 2 ^ 0, 2 ^ 30 }, { log = true })):match "^%S+ %S+", "1 128")
end)

t.test("labels of a logarithmic axis do not lie over each other", function()
  for _, ends in ipairs { { 0.000244, 0.004 }, { 0.02, 0.09 }, { 1e-8, 1 }, { 3e-5, 2e-4 } } do
    local made = axis.over(ends, { log = true, room = 0.03 })
    t.check(#made.ticks >= 4, texts(made))
    for i = 2, #made.ticks do
      local a, b = made.ticks[i - 1], made.ticks[i]
      local widths = (label.width(a[2]) + label.width(b[2])) / 2 * 14 / 12
      t.check((made.part(b[1]) - made.part(a[1])) * 500 > widths, texts(made))
    end
  end
end)

t.test("ticks of one axis have as many digits, whole numbers none, and long ones a suffix", function()
  t.equal(texts(axis.over({ 2.33, 2.45 }, { room = 0 })), "2.34 2.36 2.38 2.40 2.42 2.44")
  t.equal(texts(axis.over({ 1, 2, 3 }, { room = 0 })), "1 2 3")
  t.equal(texts(axis.over({ 310000, 410000 }, { room = 0 })), "320K 340K 360K 380K 400K")
  t.equal(texts(axis.over({ 0, 1e6 }, { room = 0 })), "0 0.2M 0.4M 0.6M 0.8M 1.0M")
  t.equal(texts(axis.over({ 1e3, 1e9 }, { log = true, room = 0 })), "1000 10000 100K 1M 10M 100M 1G")
end)

t.test("ticks that are much finer than their size have all digits, and no suffix", function()
  t.equal(texts(axis.over({ 1000000, 1000010 }, { metric = "parameters" })),
    "1000000 1000002 1000004 1000006 1000008 1000010")
  t.equal(texts(axis.over({ 2 ^ 20, 2 ^ 20 + 4 }, { metric = "state_bytes" })), "1 1.000001 1.000002 1.000003 1.000004")
  t.equal(texts(axis.over({ 1e-300, 1.4e-300 }, {})), "1e-300 1.1e-300 1.2e-300 1.3e-300 1.4e-300")
end)

t.test("an axis of what is not negative begins at 0 or above, of one value it has a length", function()
  t.equal(axis.over({ 0, 10 }, {}).low, 0)
  t.equal(axis.over({ 0.1, 10 }, {}).low, 0)
  t.check(axis.over({ -1, 10 }, {}).low < -1)
  for _, log in ipairs { false, true } do
    local one = axis.over({ 5 }, { log = log })
    t.check(one.low < 5 and one.high > 5 and #one.ticks > 1, texts(one))
  end
  local none = axis.over({ 0, 0 }, {})
  t.check(none.high > 0 and none.low == 0)
end)

t.test("values that lead an axis to infinity are an error, not ticks without end", function()
  for _, values in ipairs { { 0, 16, 32 }, { -1, 16 }, { 1e-320, 1e308 } } do
    t.fails(function() axis.over(values, { log = true }) end, "a logarithmic axis has no place for")
  end
  t.fails(function() axis.over({ 1, math.huge }, {}) end, "an axis has no place for")
end)

t.test("an error bar ends where the metric does", function()
  t.equal(parts.below(0.1, 0.3), 0)
  t.near(parts.below(-0.1, 0.3), -0.4, 1e-12)
  t.equal(parts.above(0.9, 0.3, "accuracy"), 1)
  t.equal(parts.above(99, 3, "error_percent"), 100)
  t.near(parts.above(0.9, 0.3, "mse"), 1.2, 1e-12)
end)

t.test("a label with room stands beside its point; one without has a line to it", function()
  local place = label.place({ { 300, 300, "alone" } }, 800, 500)[1]
  t.check(math.abs(place[1] - 300) < 12 and place[2] == 300 and not place.leader)
  local crowd, led = {}, 0
  for i = 1, 9 do crowd[i] = { 400 + i, 300 + i, "a label of some length" } end
  for _, each in ipairs(label.place(crowd, 800, 500)) do led = led + (each.leader and 1 or 0) end
  t.check(led >= 1)
end)

-- The box of a label as it was placed.
local function placed_box(place, text)
  local left, low = place[1] - (place[3] + 1) / 2 * label.width(text), place[2] - 7.5
  return { left, low, left + label.width(text), low + 15 }
end

t.test("labels of a crowd stand around it, none over another", function()
  local crowd, boxes, shared = {}, {}, 0
  for i = 1, 27 do crowd[i] = { 600 + i * 37 % 80, 60 + i * 23 % 20, "architecture " .. i } end
  for i, place in ipairs(label.place(crowd, 835, 450)) do boxes[i] = placed_box(place, crowd[i][3]) end
  for i = 2, #boxes do
    for j = 1, i - 1 do shared = shared + label.overlap(boxes[i], boxes[j]) end
  end
  t.check(shared < 200, ("%.0f square pixels"):format(shared))
end)

t.test("no thin bar runs through a label that has a free place a little farther away", function()
  local bar = { 311, 303, 315, 309 } -- through a corner of the place at the right, the only one that is free
  local blocks = { bar, { 200, 308, 400, 345 }, { 200, 255, 400, 292 }, { 200, 293, 290, 307 } }
  local box = placed_box(label.place({ { 300, 300, "a label" } }, 800, 500, blocks)[1], "a label")
  t.check(box[1] >= bar[3] or box[3] <= bar[1] or box[2] >= bar[4] or box[4] <= bar[2], "crossed")
end)

t.test("a label is clearly nearer to its own point than to another, or has a line to it", function()
  local points = { { 300, 300, "first" }, { 299, 281, "second" } }
  local blocks = { { 286, 298, 292, 304 }, { 309, 292, 420, 308 }, { 200, 308, 420, 330 } }
  for i, place in ipairs(label.place(points, 800, 500, blocks)) do
    local box, other = placed_box(place, points[i][3]), points[3 - i]
    local function away(point)
      return math.sqrt(math.max(box[1] - point[1], 0, point[1] - box[3]) ^ 2
        + math.max(box[2] - point[2], 0, point[2] - box[4]) ^ 2)
    end
    t.check(place.leader or away(points[i]) + 3 < away(other), points[i][3])
  end
end)

t.test("a legend has the room beside the plot that it needs, and no more than there is", function()
  local _, right = parts.legend { "a" }
  t.equal(right, 0.96)
  local names
  names, right = parts.legend { "a", "Chunked Reversible Transformer" }
  t.equal(names[2], "Chunked Reversible Transformer")
  t.check(right * 960 + label.width(names[2]) < 960 - 40)
  names, right = parts.legend { "a", ("long "):rep(40) }
  t.check(right > 0.45 and names[2]:sub(-3) == "…")
  local many = {}
  for i = 1, 60 do many[i] = "row " .. i end
  t.equal(parts.legend(many)[40], "and 21 more")
end)

t.test("in SVG the legend stands beside the curves, titles within the canvas", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  local made = parts.new("lines", "A title & more", "steps", "valid. word perplexity")
  local curves = {}
  for i = 1, 3 do curves[i] = { { 1, 10000 * i }, { 1000, 20000 * i } } end
  parts.add_curves(made, curves, { "short", "Chunked Reversible Transformer", "b" }, {})
  local base = os.tmpname()
  local svg = core.read_file(gnuplot.chart(base, made)[1])
  local right
  for _, pair in ipairs(made.settings) do right = pair[1] == "right" and pair[2] or right end
  local x = svg:match 'translate%(([%d.]+),[%d.]+%)"[^>]*>%s*<text><tspan[^>]*>%s*Chunked'
    or svg:match 'translate%(([%d.]+),[%d.]+%)"[^>]*>%s*<text>%s*Chunked'
  t.check(tonumber(x) > right * 960, tostring(x))
  local y = svg:match 'translate%(([%d.]+),[%d.]+%) rotate%(270%)"[^>]*>%s*<text>%s*valid'
    or svg:match 'translate%(([%d.]+),[%d.]+%) rotate%(%-90%)"[^>]*>%s*<text>%s*valid'
  t.check(tonumber(y) and tonumber(y) > 8 and tonumber(y) < 40, tostring(y))
  t.contains(svg, "<title>A title &amp; more</title>")
  for _, ending in ipairs { "", ".gp", ".svg", ".png" } do os.remove(base .. ending) end
end)

t.finish()
