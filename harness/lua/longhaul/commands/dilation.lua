-- dilation: how far back a file repeats itself.
local command = require "longhaul.command"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local gnuplot = require "longhaul.report.gnuplot"
local lists = require "longhaul.run.lists"
local measure = require "longhaul.dilation"
local parts = require "longhaul.report.chart_parts"

-- A column of numbers; its header's last one where none is named.
local function series_of(path, column, first)
  local records, names = csv.read(path)
  if #names == 0 then error(path .. ": the file is empty", 0) end
  column = column or names[#names]
  if not lists.has(names, column) then
    error(("%s: no column '%s'%s"):format(path, column, core.did_you_mean(column, names)), 0)
  end
  local series, read = {}, table.move(records, 1, math.min(first, #records), 1, {})
  csv.check_numbers(path, read, { column }, {})
  for i, record in ipairs(read) do
    series[i] = csv.number(record[column])
    if math.abs(series[i]) == math.huge then
      error(("%s: record %d: column '%s': '%s' is infinite"):format(path, i, column, record[column]), 0)
    end
  end
  return series, column
end

local function bytes_of(path, first)
  local text, symbols = core.read_file(path), {}
  for i = 1, math.min(first, #text) do symbols[i] = text:byte(i) end
  return symbols
end

-- What the two measures are on an axis, and what lags are counted in.
local said = {
  autocorrelation = { "autocorrelation", "lag, rows" },
  recurrence = { "share of bytes that are as the one a lag before", "lag, bytes" },
}

local function lag_chart(path, what, values, bound)
  local curve, chance = {}, {}
  for lag, value in ipairs(values) do
    curve[lag], chance[lag] = { lag, value, n = 2 }, { lag, bound, n = 2 }
  end
  local y, x = table.unpack(said[what])
  local made = parts.new("lines", ("%s: %s by lag"):format(path, what), x, y)
  parts.add_curves(made, { curve, chance }, { what, "above: no chance" }, {})
  return made
end

-- Symbols in a recurrence plot.
local plotted = 240

local function draw(path, base, what, values, bound, symbols)
  local paths = gnuplot.chart(base .. "-lags", lag_chart(path, what, values, bound))
  local count = math.min(plotted, #(symbols or {}))
  local points = measure.points { table.unpack(symbols or {}, 1, count) }
  if #points > 0 then
    local plot = gnuplot.new("recurrence_plot", ("%s: where the first %d bytes are alike"):format(path, count),
      "byte", "byte")
    plot.blocks = { { "points", { points } } }
    local drawn = gnuplot.chart(base .. "-recurrence", plot)
    table.move(drawn, 1, #drawn, #paths + 1, paths)
  end
  for _, name in ipairs(paths) do print(name) end
end

local function dilation(values, rest)
  local path = rest[1]
  if not path then command.misuse("dilation needs a FILE") end
  if not core.exists(path) then error(path .. ": no such file", 0) end
  local lags, first = command.integer(values, "lags", 200), command.integer(values, "first", 50000)
  local what, list, bound, symbols = "autocorrelation"
  if path:match "%.csv$" then
    local series, column = series_of(path, values.column, first)
    path = ("%s, %s"):format(path, column)
    list, bound = measure.autocorrelation(series, lags)
  else
    if values.column then command.misuse("--column is of a CSV file, whose name ends in .csv") end
    what, symbols = "recurrence", bytes_of(path, first)
    list, bound = measure.recurrence(symbols, lags)
  end
  if #list == 0 then error(path .. ": too short to repeat itself", 0) end
  local peaks = measure.suggest(list, bound)
  for _, peak in ipairs(peaks) do print(("d = %-5d %s %.3f"):format(peak[1], what, peak[2])) end
  if #peaks == 0 then print(("no peak above %.3f up to lag %d"):format(bound, #list)) end
  command.output(values.out)
  if values.out then draw(path, values.out, what, list, bound, symbols) end
end

return {
  {
    name = "dilation", summary =
      "how far back data repeat themselves: dilations for recurrence encodings",
    usage = "dilation FILE [--column NAME] [--lags N] [--first N] [--out BASE]", run = dilation,
    most = 1,
    description = "Of a CSV file the autocorrelation of a column, of any other file how often a byte comes again. "
      .. "The lags where that peaks are dilations to try (rsa_dilation).",
    options = {
      { "column=", "column of a CSV file (default: the last)", "NAME" },
      { "lags=", "largest lag (default 200)", "N" },
      { "first=", "rows or bytes to read (default 50000)", "N" },
      { "out=", "draw BASE-lags and, of bytes that come again, BASE-recurrence", "BASE" },
    },
  },
}
