-- Time series out of CSV files: which columns are kept, cells without a value, and what is refused.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local series_import = require "longhaul.run.series_import"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

-- What an import of this text makes, and what it says of it.
local function imported(text, options, name)
  local kept, print_line, said = core.cache_folder, print, nil
  os.execute("rm -rf " .. folder .. "/cache")
  core.write_file(folder .. "/load.csv", text)
  core.cache_folder = function() return folder .. "/cache" end
  _G.print = function(line) said = line end
  local good, message = pcall(series_import.import, folder .. "/load.csv", name, options or {})
  core.cache_folder, _G.print = kept, print_line
  if not good then error(message, 0) end
  local made = name or "load"
  return core.read_file(("%s/cache/%s/%s.csv"):format(folder, made, made)), said
end

-- Rows of a table whose second column has these texts.
local function rows(...)
  local lines = { "n,when,load,\"price, net\"" }
  for i, text in ipairs { ... } do lines[i + 1] = ("%d,2020-01-%02d,%s,%d"):format(i, i, text, 10 * i) end
  return table.concat(lines, "\n") .. "\n"
end

local function refuses(text, options, message)
  t.fails(function() imported(text, options) end, message)
  t.check(not core.exists(folder .. "/cache/load"), "nothing is left")
end

t.test("the columns that are asked for, in their order, behind that of the time", function()
  local text = imported(rows("1", "2", "3", "4"), { time = "when", columns = { "price, net", "load" } })
  t.equal(text, "when,\"price, net\",load\n2020-01-01,10,1\n2020-01-02,20,2\n2020-01-03,30,3\n2020-01-04,40,4\n")
  text = imported("date,a,b\r\n2020-01-01,1,2\r\n2020-01-02,3,4\r\n2020-01-03,5,6\r\n", nil, "mine")
  t.equal(text, "date,a,b\n2020-01-01,1,2\n2020-01-02,3,4\n2020-01-03,5,6\n")
  text = imported("date,a\r2020-01-01,1\r2020-01-02,3\r2020-01-03,5")
  t.equal(text, "date,a\n2020-01-01,1\n2020-01-02,3\n2020-01-03,5\n", "line ends of an old Mac")
  t.check(imported(rows("1", "2", "3"), { time = "when" }):find("when,n,load,", 1, true), "all, the time first")
  text = imported("date,\"a \"\"net\"\"\",\"\"\"b\"\n2020-01-01,1,2\n2020-01-02,3,4\n2020-01-03,5,6\n")
  t.contains(text, "date,\"a \"\"net\"\"\",\"\"\"b\"\n2020-01-01,1,2\n")
end)

t.test("a cell without a value is refused by line and column", function()
  refuses(rows("1", "", "3"), { time = "when" },
    "load.csv: line 3, column 'load': a cell without a value (''); --missing forward")
  refuses(rows("1", "2", "NaN"), { time = "when" }, "line 4, column 'load': a cell without a value ('NaN')")
  t.check(imported(rows("1", "?", "3"), { time = "when", columns = { "n" } }), "but not of a column that is left out")
end)

t.test("or has the last value of its column, which is told", function()
  local text, said = imported(rows("1", "", "NA", "4", "null"), { time = "when", missing = "forward" })
  t.contains(text, "2020-01-02,2,1,20\n2020-01-03,3,1,30\n2020-01-04,4,4,40\n2020-01-05,5,4,50\n")
  t.contains(said, "3 values carried forward (load 3)")
  t.equal(core.read_file(folder .. "/cache/load/load.csv.carried"), "3 values carried forward (load 3)\n")
  imported(rows("1", "2", "3"), { time = "when", missing = "forward" })
  t.check(not core.exists(folder .. "/cache/load/load.csv.carried"), "nothing is noted of a whole file")
  refuses(rows("", "2", "3"), { time = "when", missing = "forward" },
    "line 2, column 'load': a cell without a value, and none before it to carry forward: begin the file at")
end)

t.test("blanks around fields and lines without fields are what they are to who reads the file", function()
  local text, said = imported("\n \t\ndate , load,\t\"price, net\" \n2020-01-01, 1 ,2\n  \n2020-01-02,\tNA ,3\n"
    .. "2020-01-03, 3,\" \"\n", { columns = { "load", "price, net" }, missing = "forward" })
  t.equal(text, "\n\ndate,load,\"price, net\"\n2020-01-01,1,2\n\n2020-01-02,1,3\n2020-01-03,3,3\n")
  t.contains(said, "2 values carried forward (load 1, price, net 1)")
  refuses("\ndate,a\n2020-01-01,1\n", { columns = { "b" } }, "load.csv: line 2: there is no column 'b'")
  refuses("date,a\n2020-01-01,\"1\" 2\n", nil, "load.csv: line 2: a quote inside a field")
end)

t.test("a time is never carried forward", function()
  t.fails(function()
    imported("date,a\n2020-01-01,1\n,2\n2020-01-03,3\n", { missing = "forward" })
  end, "load.csv: line 3, column 1")
end)

t.test("what is no series of equal steps is refused, and lines are those of the file", function()
  refuses(rows("1", "2", "3"), { time = "hour" }, "load.csv: line 1: there is no column 'hour'")
  refuses(rows("1", "2", "x"), { time = "when" }, "load.csv: line 4, column 3 (load): 'x' is no number")
  refuses("date,a\n2020-01-01,1\n\n2020-01-02,2\n2020-01-04,3\n", nil, "load.csv: line 5, column 1: a gap")
  refuses("date,a\n2020-01-01,1\n2020-01-02\n", nil, "load.csv: line 3: 1 fields, where the header has 2")
  refuses("date,a\n2020-01-01,1\"\n", nil, "load.csv: line 2: a quote inside a field")
  refuses("date,\"a\nb\"\n2020-01-01,1\n", nil, "load.csv: line 1: a quote inside a field, or one that is not closed")
  refuses("\xff\xfed\0a\0", nil, "load.csv: line 1: a NUL byte; a file of UTF-16 is to be written as UTF-8")
  refuses("date;a\n2020-01-01;1\n", nil, "fields are separated by commas, not by ';'")
  t.fails(function() series_import.import(folder, nil, {}) end, "a time series is one CSV file")
end)

os.execute("rm -r " .. folder)
t.finish()
