-- How far back data repeat themselves.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local dilation = require "longhaul.dilation"
local gnuplot = require "longhaul.report.gnuplot"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

-- A day of 24 hours with a little noise that repeats nowhere.
local function daily(count)
  local series, noise = {}, 7
  for i = 1, count do
    noise = (noise * 1103515245 + 12345) % 2147483648
    series[i] = math.sin(2 * math.pi * i / 24) + 0.2 * (noise / 2147483648 - 0.5)
  end
  return series
end

t.test("autocorrelation of known numbers", function()
  local values, bound = dilation.autocorrelation({ 1, 2, 3, 4 }, 10)
  t.equal(#values, 3)
  t.near(values[1], 1.25 / 5, 1e-12)
  t.near(values[3], -2.25 / 5, 1e-12)
  t.near(bound, 1, 1e-12)
  t.equal(dilation.autocorrelation({ 5, 5, 5 }, 2)[1], 0)
end)

t.test("a daily series suggests 24", function()
  local peaks = dilation.suggest(dilation.autocorrelation(daily(1000), 60))
  t.equal(peaks[1][1], 24)
  t.equal(peaks[2][1], 48)
  t.equal(#peaks, 2)
end)

t.test("recurrence of symbols", function()
  local values, bound = dilation.recurrence({ 1, 2, 1, 2, 1, 2 }, 4)
  t.equal(values[1], 0)
  t.equal(values[2], 1)
  t.equal(values[3], 0)
  t.near(bound, 0.5 + 2 * math.sqrt(0.25 / 6), 1e-12)
  t.equal(dilation.suggest(values, bound)[1][1], 2)
  t.equal(#dilation.points { 1, 2, 1 }, 2)
end)

t.test("no peak, no suggestion",
  function() t.equal(#dilation.suggest({ 0.9, 0.8, 0.7 }, 0.1), 0) end)

-- What the command prints.
local function printed(...)
  local lines, old = {}, print
  print = function(text) lines[#lines + 1] = text end
  local good, message = pcall(require("longhaul.commands.dilation")[1].run, ...)
  print = old
  if not good then error(type(message) == "table" and message.usage or message, 0) end
  return table.concat(lines, "\n")
end

t.test("the command reads columns and bytes", function()
  local rows = { "date,x,OT" }
  for i, value in ipairs(daily(500)) do rows[i + 1] = ("%d,0,%.6f"):format(i, value) end
  core.write_file(folder .. "/series.csv", table.concat(rows, "\n") .. "\n")
  t.contains(printed({}, { folder .. "/series.csv" }), "d = 24 ")
  t.contains(printed({ column = "x" }, { folder .. "/series.csv" }), "no peak above")
  t.fails(function() printed({ column = "OTT" }, { folder .. "/series.csv" }) end,
    "did you mean 'OT'?")
  core.write_file(folder .. "/text", ("abcd"):rep(100))
  t.contains(printed({ lags = "9" }, { folder .. "/text" }), "d = 4 ")
end)

t.test("bytes of which none comes again are drawn by lag alone", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  core.write_file(folder .. "/apart", "abcdefgh")
  printed({ out = folder .. "/drawn" }, { folder .. "/apart" })
  t.check(core.exists(folder .. "/drawn-lags.svg") and not core.exists(folder .. "/drawn-recurrence.svg"), "drawn")
end)

t.test("bad input is named", function()
  core.write_file(folder .. "/bad.csv", "a,b\n1,2\n1,x\n")
  t.fails(function() printed({}, { folder .. "/bad.csv" }) end,
    "bad.csv: record 2: column 'b': 'x' is no number")
  core.write_file(folder .. "/far.csv", "a,b\n1,2\n\n1,0x10\n1,inf\n")
  t.fails(function() printed({}, { folder .. "/far.csv" }) end, "far.csv: record 2: column 'b': '0x10' is no number")
  for _, text in ipairs { "inf", "-1e999" } do
    core.write_file(folder .. "/far.csv", ("a,b\n1,2\n1,%s\n1,x\n"):format(text))
    t.fails(function() printed({ first = "2" }, { folder .. "/far.csv" }) end,
      ("far.csv: record 2: column 'b': '%s' is infinite"):format(text))
  end
  t.fails(function() printed({}, { folder .. "/none" }) end, "no such file")
  t.fails(function() printed({ lags = "0" }, { folder .. "/bad.csv" }) end,
    "--lags takes a positive integer, not '0'")
  core.write_file(folder .. "/empty.csv", "")
  t.fails(function() printed({}, { folder .. "/empty.csv" }) end, "empty.csv: the file is empty")
  core.write_file(folder .. "/short", "a")
  t.fails(function() printed({}, { folder .. "/short" }) end, "too short")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
