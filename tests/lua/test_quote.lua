-- The same hostile texts through every language that they end up in: nothing runs, nothing is
-- invalid, and what is read back is the text.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local gnuplot = require "longhaul.report.gnuplot"
local page = require "longhaul.report.page"
local parts = require "longhaul.report.chart_parts"
local quote = require "longhaul.run.quote"

local folder = os.tmpname()
os.remove(folder)
folder = folder .. "+1" -- an octal digit behind what a path for gnuplot escapes
core.make_folder(folder)
local bait = folder .. "/bait"

local hostile = {
  "plain", "`touch " .. bait .. "`", "$(touch " .. bait .. ")", '"; system("touch ' .. bait
    .. '"); x = "', "'; touch " .. bait .. " #",
  'quote " inside', "it's", "back\\slash", "\\", "\\`touch " .. bait .. "`", "two\nlines",
  "three\r\nlines\r", "tab\there", "@macro", "100 % of %d %s",
  "[2ex] begins", "* begins", "[x](javascript:alert(1))", "<script>alert(1)</script>", "]]>",
  "&lt;b&gt;", "a|b", "_a_ __b__ c_d", "$x$", "{x}", "~", "^2", "#", "--",
  "=cmd|'/c calc'!A1", "+1+1", "-2-3", "@SUM(A1)", "'=1", "''=1", "-1.5", "+3e4", "-inf", "=", "-",
  "not UTF-8: \xFF\xC3", "\xED\xA0\x80 surrogate", "control \1\27[31m\127",
  "\u{FFFF} no character", "C1 \u{9B}31m", "naïve Größe 数", "", " blanks ", "a,b;c", "/absolute",
  "..", ".", "-o", "x/../../y", "EOD", "\nEOD\n", '7"2', "two\n2 lines",
}

t.test("visible text is UTF-8 without control characters", function()
  for _, text in ipairs(hostile) do
    local shown = quote.visible(text)
    t.check(utf8.len(shown), "no UTF-8: " .. shown)
    t.equal(shown:find("[\0-\9\11-\31\127]"), nil)
  end
  t.equal(quote.visible("a\xFFb"), "a\u{FFFD}b")
  t.equal(quote.visible("naïve 数"), "naïve 数")
  t.equal(quote.visible("a\0b"), "a\u{FFFD}b")
end)

t.test("JSON is UTF-8, and what is UTF-8 is read back as it is", function()
  for _, text in ipairs(hostile) do
    local json = quote.json(text)
    t.check(utf8.len(json), "no UTF-8: " .. json)
    if utf8.len(text) then t.equal(core.parse_json(json), text) end
  end
  t.equal(core.parse_json(quote.json "a\xFFb"), "a\u{FFFD}b")
end)

-- A program for gnuplot that writes each text to a file, as a value, out of an array and out of a
-- block of data.
local function through_gnuplot(texts)
  local lines, out = {}, folder .. "/echo"
  lines[1] = ('set print %s'):format(gnuplot.quoted(out))
  local block = {}
  for i, text in ipairs(texts) do block[i] = { i, text } end
  lines[2] = gnuplot.block("data", { block })
  lines[3] = gnuplot.assign("texts", texts)
  for i, text in ipairs(texts) do
    lines[#lines + 1] = gnuplot.assign("text", text)
    lines[#lines + 1] = ('print text . "|" . texts[%d]'):format(i)
    lines[#lines + 1] = ('stats $data using (s = stringcolumn(2), 1) every ::%d::%d '
      .. 'nooutput\nprint s'):format(i - 1, i - 1)
  end
  core.write_file(folder .. "/echo.gp", table.concat(lines, "\n") .. "\n")
  t.check(os.execute(("gnuplot %s"):format(quote.shell(folder .. "/echo.gp"))), "gnuplot failed")
  return core.read_file(out)
end

t.test("gnuplot reads every text as it is, and runs none", function()
  local texts, expected = {}, {}
  for _, text in ipairs(hostile) do
    local shown = quote.visible(text)
    if shown ~= "" then
      texts[#texts + 1] = text
      expected[#expected + 1] = ("%s|%s\n%s\n"):format(shown, shown, shown)
    end
  end
  local at, seen = 1, through_gnuplot(texts)
  for _, part in ipairs(expected) do
    t.equal(seen:sub(at, at + #part - 1), part)
    at = at + #part
  end
  t.check(not core.exists(bait), "a text was run")
end)

-- Twelve curves of these names.
local function draw(base, names)
  local curves = {}
  for i in ipairs(names) do curves[i] = { { 1, i, n = 2 }, { 2, i, n = 2 } } end
  local made = parts.new("lines", "`touch " .. bait .. "` \xFF", "\1", '"')
  parts.add_curves(made, curves, names, { marks = true })
  made.after = made.after or {}
  table.insert(made.after, ("set xtics (%s 1)"):format(quote.gnuplot(quote.tic "50 %d")))
  local paths = gnuplot.chart(base, made)
  t.equal(core.read_file(paths[2]):sub(1, 4), "\x89PNG")
  return core.read_file(paths[1])
end

t.test("a chart of hostile names is drawn, its files are valid, and nothing runs", function()
  for first = 1, #hostile, 12 do
    local names = table.move(hostile, first, math.min(first + 11, #hostile), 1, {})
    local svg = draw(folder .. "/chart", names)
    t.check(utf8.len(svg), "the SVG is no UTF-8")
    t.equal(svg:find("[\0-\8\11\12\14-\31]"), nil)
    t.check(svg:find("50 %d", 1, true), "the tic is lost")
    t.equal(svg:find("<script", 1, true), nil)
    for _, name in ipairs(names) do
      if not name:find "[\n\r]" and not name:find "^%s" and name ~= "" then
        local shown = quote.visible(name):gsub("[&<]",
          { ["&"] = "&amp;", ["<"] = "&lt;" }):match "^[^>]*"
        t.check(svg:find(">" .. shown, 1, true), "the chart lacks " .. shown)
      end
    end
  end
  t.check(not core.exists(bait), "a name was run")
end)

-- What templates that label their data need to draw `texts`: { template, blocks, settings } each. gnuplot takes no
-- empty block: a row that is not drawn stands for one.
local function labelled(texts)
  local bars, points, outliers, clusters, tics = {}, {}, {}, {}, {}
  for i, text in ipairs(texts) do
    bars[i], outliers[i], clusters[i] = { i, 1, 1, 1, text, 1 }, { 1, i, text }, { i, text }
    points[i], tics[i] = { 1, i, text, i % 3 - 1 }, "tic"
  end
  local function none(columns) return { { { n = columns } } } end
  local function columns(split, ticks_text, clusters_text)
    return { "columns",
      { { "bars", { { { 1, 1, 2, 1, 1, 1 } } } }, { "ticks", { ticks_text } }, { "clusters", { clusters_text } } },
      { { "split", split }, { "clusters", #texts }, { "members", 1 }, { "width", 1 }, { "names", { "a", "b" } } } }
  end
  local other = { { 1, "other" } }
  return {
    columns(0, other, clusters), columns(1, other, clusters), columns(1, clusters, other),
    { "bars", { { "bars", { bars } }, { "published", none(2) } },
      { { "rows", #texts }, { "left", 0.2 }, { "published", 0 }, { "labels", tics } } },
    { "boxes", { { "boxes", { { { 1, 1, 2, 3, 4, 5 } } } }, { "outliers", { outliers } } },
      { { "boxes", 1 }, { "names", { "a" } } } },
    { "pareto",
      { { "points", { { { 1, 1, 1, 1, 1, 1, 1 } } } }, { "front", { { { 1, 1 } } } }, { "labels", { points } },
        { "leaders", none(4) }, { "published", none(3) } },
      { { "groups", 1 }, { "names", { "a" } }, { "right", 0.9 }, { "frontier", 0 },
        { "front_name_x", 1 }, { "front_name_y", 1 }, { "published", 0 } } },
  }
end

t.test("the labels that a template draws are the texts as they are", function()
  local texts = { 'a, "b" & <i>c</i> 100%', "$$\\input", "back\\slash", "'", '"', "NaN", "1e5", "@macro" }
  for _, one in ipairs(labelled(texts)) do
    local made = gnuplot.new(one[1], "title", "x", "y")
    made.blocks, made.settings = one[2], one[3]
    local svg = core.read_file(gnuplot.chart(folder .. "/labels", made, "svg")[1])
    for _, text in ipairs(texts) do
      local shown = text:gsub("[&<]", { ["&"] = "&amp;", ["<"] = "&lt;" })
      t.check(svg:find(">" .. shown .. "<", 1, true), ("%s lacks %s"):format(one[1], shown))
    end
  end
end)

t.test("a chart is drawn whatever its folder is called", function()
  for _, name in ipairs { "-o `touch " .. bait .. "`", "a\nb", "'\"|$(touch " .. bait .. ")",
    "100%d \xFF" } do
    core.make_folder(folder .. "/" .. name)
    t.check(#draw(folder .. "/" .. name .. "/chart", { "a" }) > 1000, "no chart in " .. name)
  end
  t.check(not core.exists(bait), "a path was run")
end)

t.test("a chart whose path is relative is no option and no pipe", function()
  t.equal(quote.path "-e x", "./-e x")
  t.equal(quote.path "|touch x", "./|touch x")
  t.equal(quote.path "~/x", "./~/x")
  t.equal(quote.path "/a", "/a")
  t.equal(quote.path "../a", "../a")
end)

t.test("the shell gets every text as one word", function()
  for _, text in ipairs(hostile) do
    local pipe <close> = assert(io.popen("printf '%s.' " .. quote.shell(text)))
    t.equal(pipe:read "a", text .. ".")
  end
  t.fails(function() quote.shell "a\0b" end, "NUL")
  t.check(not core.exists(bait), "a word was run")
end)

t.test("a CSV file gives back every text, and no spreadsheet runs one", function()
  local path, records = folder .. "/all.csv", {}
  for i, text in ipairs(hostile) do records[i] = { text = text, number = -i - 0.5, other = "x" } end
  for round = 1, 2 do
    csv.write(path, { "text", "number", "other" }, records)
    local read = csv.read(path)
    t.equal(#read, #hostile)
    for i, record in ipairs(read) do
      t.equal(record.text, hostile[i])
      t.equal(tonumber(record.number), -i - 0.5)
    end
    for _, row in ipairs(core.read_csv(path)) do
      local cell = row[1]
      local formula = cell:find "^[=+@\t\r-]." and not tonumber(cell) and cell ~= "-inf"
      t.check(not formula, "a spreadsheet would run " .. cell)
      t.check(row[2] == "number" or tonumber(row[2]), "a number became text: " .. row[2])
    end
    if round == 1 then records = read end -- texts of numbers, as a file is rewritten
  end
  t.fails(function() csv.write(path, { "text" }, { { text = "a\0,b" } }) end, "NUL")
end)

t.test("a CSV file as a spreadsheet saves it is read, or the error says what it is", function()
  local path = folder .. "/sheet.csv"
  core.write_file(path, "\xEF\xBB\xBFrow,seed\na,1\n")
  local records, columns = csv.read(path, { "row", "seed" })
  t.equal(columns[1], "row")
  t.equal(records[1].row, "a")
  for text, message in pairs {
    ["row;seed\na;1\n"] = "sheet.csv: fields are parted by ';', not by ','",
    ["row\tseed\na\t1\n"] = "not by ','",
    ["row,seed,row\na,1,b\n"] = "sheet.csv: column 'row' stands there twice",
    ["rwo,seed\na,1\n"] = "sheet.csv: there is no column 'row'",
    ["row,seed\na,\0001\n"] = "sheet.csv:2:3: a NUL byte",
  } do
    core.write_file(path, text)
    t.fails(function() csv.read(path, { "row", "seed" }) end, message)
  end
end)

-- Reads an attribute or what stands between tags as a browser does.
local entities = { ["&amp;"] = "&", ["&lt;"] = "<", ["&gt;"] = ">", ["&quot;"] = '"',
  ["&#39;"] = "'" }

t.test("HTML shows every text as it is", function()
  for _, text in ipairs(hostile) do
    local made = quote.html(text)
    t.equal(made:find "[<>\"']", nil)
    t.equal((made:gsub("&#?%w+;", entities)), quote.visible(text))
    t.equal(quote.url(text):find "[^%w/._~%%-]", nil)
    t.check(not quote.url(text):find "^//", "an address of another host")
  end
  t.contains(page.whole("<script>", ""), "<title>&lt;script&gt;</title>")
end)

-- What Markdown shows of a text in which everything that has a meaning is escaped.
local function unescaped(text)
  local bare = text:gsub("\\%p", "")
  t.equal(bare:find "[`*%[%]<>|~$&]", nil)
  t.equal(bare:find "%f[%w_]_" or bare:find "_%f[^%w_]", nil)
  t.equal(bare:find "\n", nil)
  return (text:gsub("\\(%p)", "%1"))
end

t.test("Markdown shows every text as it is, in one line", function()
  for _, text in ipairs(hostile) do t.equal(unescaped(quote.markdown(text)), quote.line(text)) end
  t.equal(quote.markdown "bits_per_byte", "bits_per_byte")
end)

t.test("LaTeX: no text is a command or an argument of the one before it", function()
  for _, text in ipairs(hostile) do
    local made = quote.latex(text)
    t.equal(made:find "^%s*[%[*]", nil)
    t.equal(made:find "\n", nil)
    local bare = made:gsub("\\text%a+{}", ""):gsub("\\[{}&%%#_$]", ""):gsub("%-{}", "."):gsub("{}",
      "")
    t.equal(bare:find '[\\{}&%%#_$~^<>|`"]', nil)
    t.equal(bare:find("--", 1, true), nil)
  end
  t.equal(quote.latex "[a] & b", "{}[a] \\& b")
  t.equal(quote.latex "1 ± 2", "1 $\\pm$ 2")
  t.equal(quote.latex '"a b" ("c") 5"', "\\textquotedblleft{}a b'' (\\textquotedblleft{}c'') 5''")
end)

t.test("names of files are plain and all different", function()
  local seen = {}
  local names = { "a b", "a-b", "a/b", "a  b", "数", "字", "", ".", "..", "-", ("x"):rep(300),
    ("x"):rep(301) }
  for _, text in ipairs(hostile) do names[#names + 1] = text end
  names[#names + 1] = quote.file_name "a b" -- a name that looks as if it were made
  for _, text in ipairs(names) do
    local name = quote.file_name(text)
    t.check(name:find "^[%w_][%w_.-]*$", "no plain name: " .. name)
    t.check(#name <= 120, "too long")
    t.check(not seen[name] or seen[name] == text,
      ("%s and %s are both %s"):format(seen[name], text, name))
    seen[name] = text
  end
  t.equal(quote.file_name "pareto-arxiv", "pareto-arxiv")
end)

os.execute("rm -rf " .. quote.shell(folder))
t.finish()
