-- The report page is made of what the CSV files say: of tables, verdicts and runs, in working
-- folders and packed ones.
local t = dofile "tests/test.lua"
local runs = dofile "tests/lua/runs.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local lh = require "longhaul"
local markup = require "longhaul.report.markup"
local page = require "longhaul.report.html"
local parts = require "longhaul.report.page"
local results = require "longhaul.report.results"
local tables = require "longhaul.report.table"
local titles = require "longhaul.report.titles"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }
local settings = { results = folder, scale = "small", device = "cpu" }

local bench = lh.experiment "brt-table1"
local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64, batch = 2 }
for _, name in ipairs { "Slide:13L", "Rec:fixed:skip", "XL:512", "one & <only>" } do
  bench:row { name, model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 },
    task = task,
    train = lh.train { steps = 5 }, seeds = 2, dataset = "pg19_bytes" }
end
bench:table { columns = { "bits_per_byte", "relative_step_time" }, baseline = "Slide:13L",
  published = "brt_table1" }
for seed, bits in ipairs { 2.5, 2.75 } do
  runs.put(folder, bench, { label = "Slide:13L", seed = seed, bits_per_byte = bits })
  runs.put(folder, bench, { label = "Rec:fixed:skip", seed = seed, bits_per_byte = bits - 1 })
end
runs.put(folder, bench, { label = "XL:512", seed = 1, bits_per_byte = 3 })
runs.put(folder, bench, { label = "XL:512", seed = 2, status = "diverged", error = "loss is nan" })
runs.put(folder, bench, { label = "one & <only>", seed = 1, status = "failed",
  error = "no memory" })
runs.time(folder, bench, { round = "r", times = { ["Slide:13L"] = 10, ["Rec:fixed:skip"] = 12.5, ["XL:512"] = 11 } })

local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
require("longhaul.report.table_files").write(made, folder .. "/brt-table1")

t.test("a table read from its file has the cells that were written", function()
  local path = folder .. "/brt-table1/table.csv"
  local read = tables.read(path)
  local records, expected = tables.records(read), csv.read(path)
  local by_key = {}
  for _, record in ipairs(records) do
    by_key[record.row .. record.metric .. record.dataset] = record
  end
  t.equal(#records, #expected)
  for _, record in ipairs(expected) do
    local found = by_key[record.row .. record.metric .. record.dataset]
    for _, name in ipairs { "published", "measured", "deviation", "seeds", "mean", "spread" } do
      t.equal(tonumber(found[name]), tonumber(record[name]))
    end
    t.equal(found.status, record.status)
    t.equal(found.scale, "small")
  end
  local best = {}
  for _, row in ipairs(read.rows) do best[row.label] = row.cells[1].best end
  t.check(best["Rec:fixed:skip"] and not best["Slide:13L"], "the best of a column")
  t.equal(tables.read(folder .. "/brt-table1/runs.csv"), nil)
end)

t.test("a table read from its file says no more than the one that was written", function()
  local read = tables.read(folder .. "/brt-table1/table.csv")
  t.equal(made.several, false)
  t.equal(read.several, false)
  local cell
  for _, row in ipairs(read.rows) do
    if row.label == "XL:512" then cell = row.cells[2] end
  end
  t.equal(cell.status, "partial")
  t.contains(cell.why, "seed 2")
  t.equal(#cell.reasons, 0)
end)

-- Three rows of equal means and one that is told from them, beside a paper that prints spreads.
local function equals()
  local equal = lh.experiment "rsa-table4"
  for i, name in ipairs { "Informer", "b", "c", "far" } do
    equal:row { name, slug = i == 1 and "informer" or nil, task = task, train = lh.train { steps = 5 }, seeds = 3,
      model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }, dataset = "ETTh1 24" }
    for seed = 1, 3 do
      local far = name == "far" and 1 + seed / 100 or 0
      runs.put(folder, equal, { label = name, seed = seed, mse = 0.5 + far, mae = 0.5 + far, data = "d" })
    end
  end
  equal:table { columns = { "mse", "mae" }, published = "rsa_table4", best = { mae = "max" } }
  return tables.build(equal, equal.tables[1], results.of(equal, settings))
end

t.test("what a file says of marks and spreads is what was written; of an older one no tie is the best", function()
  local equal, older = equals(), folder .. "/older.csv"
  local path = require("longhaul.report.table_files").write(equal, folder .. "/rsa-table4")[1]
  local shown = markup.html(equal)
  t.contains(shown, "±0.144</td>")
  t.equal(select(2, shown:gsub('class="here best"', "")), 2)
  local read = tables.read(path)
  read.title, read.source = equal.title, equal.source
  t.equal(markup.html(read), shown)
  local records, names = csv.read(path)
  local before = {}
  for _, name in ipairs(names) do before[#before + 1] = name ~= "best" and name or nil end
  csv.write(older, before, records)
  for r, row in ipairs(tables.read(older).rows) do
    for c, cell in ipairs(row.cells) do t.equal(cell.best, equal.rows[r].cells[c].best) end
  end
end)

-- The page of a folder, without its style.
local function page_of(path)
  return (core.read_file(page.write(path)):gsub("<style>.-</style>", ""))
end

t.test("the page shows a table from its CSV alone, its texts as they are", function()
  for _, ending in ipairs { "html", "md", "tex" } do
    os.remove(folder .. "/brt-table1/table." .. ending)
  end
  local text = page_of(folder)
  t.contains(text, '<td class="here best" data-value="1.625">1.625 ±0.177</td>')
  t.contains(text, '<td class="group paper" data-value="0.989">0.989</td>'
    .. '<td class="here" data-value="2.625">2.625 ±0.177</td>')
  t.contains(text, '<th scope="row">one &amp; &lt;only&gt;</th>')
  t.contains(text, "no memory")
  t.contains(text, "5 runs done, 2 failed or diverged")
end)

t.test("folders without runs of their own appear; claims, published and drawn ones have their own place", function()
  core.make_folder(folder .. "/brt-figure9")
  core.write_file(folder .. "/brt-figure9/lines.svg", "<svg/>")
  core.make_folder(folder .. "/brt-table7")
  csv.write(folder .. "/brt-table7/exponents.csv", { "row", "exponent" },
    { { row = "LSH", exponent = 0.875 } })
  core.make_folder(folder .. "/figures")
  core.write_file(folder .. "/figures/runs.csv", "row\n")
  core.make_folder(folder .. "/nothing")
  local text = page_of(folder)
  t.contains(text, '<h2 id="brt-figure9">brt-figure9: Block-Recurrent Transformers, Figure 9</h2>\n'
    .. '<p class="note">No runs of its own.</p>')
  t.contains(text, 'src="data:image/svg+xml;base64,PHN2Zy8+" alt="Block-Recurrent Transformers, Figure 9: a metric')
  t.contains(text, '<th scope="row">LSH</th><td class="short">0.875</td>')
  t.equal(text:find('id="figures"', 1, true), nil)
  t.equal(text:find('id="nothing"', 1, true), nil)
  t.contains(text, "Folders without runs, tables or charts: nothing.")
end)

t.test("tables and drawings are called by what they show, not by their files", function()
  local datasets = { "books", "wiki, sub-words" }
  t.equal(titles.chart("compare-language", "pareto_step_time_ms-books", datasets),
    "language, books: quality against step time")
  t.equal(titles.chart("compare-context", "kept_books", datasets),
    "context, books: bits of a token by how many tokens are kept before it")
  t.equal(titles.chart("own", "my_figure", datasets), "own: my figure")
  t.equal(titles.chart("own", "books", datasets), "own: books")
  t.equal(titles.table("compare-language", "best_at.small-cuda"),
    "language: the best after equal times and after equal FLOPs (scale small-cuda)")
  t.equal(titles.table("rsa-table3a", "table"), "Encoding Recurrence into Transformers, Table 3a: results")
  t.equal(titles.heading "compare-copy-trials-round1",
    "compare-copy-trials-round1: trials that chose the settings of copying (round 1)")
  t.equal(titles.heading "own", "own")
end)

t.test("the label of a row is no number to be rounded", function()
  t.contains(parts.text_table("c", { "row", "loss" }, { { row = "0.00031623", loss = "0.00031623" } }),
    '<th scope="row">0.00031623</th><td data-value="0.00031623">0.0003162</td>')
end)

t.test("numbers that no table rounded are rounded and sorted as they are; days stay on one line", function()
  local text = parts.text_table("c", { "row", "loss", "rate", "seeds", "day", "code" }, {
    { row = "a", loss = "2.7680451434301365", rate = "97089668042.136383", seeds = 3, day = "2026-11-22 to 2026-11-25",
      code = "2282a44ec94f" } })
  t.contains(text, '<td class="short" data-value="2.7680451434301365">2.768</td>'
    .. '<td data-value="97089668042.136383">97.1G</td><td class="short">3</td>'
    .. '<td class="date">2026-11-22 to 2026-11-25</td><td>2282a44ec94f</td>')
end)

t.test("a long table is folded under its title, a short one is not", function()
  local records = {}
  for i = 1, 61 do records[i] = { row = "r" .. i, exponent = i } end
  csv.write(folder .. "/brt-table7/exponents.csv", { "row", "exponent" }, records)
  local path = "<details><summary>Block-Recurrent Transformers, Table 7: exponents by which measures grow, 61 rows "
  t.contains(page_of(folder), path .. "(exponents.csv)</summary>")
  records[61] = nil
  csv.write(folder .. "/brt-table7/exponents.csv", { "row", "exponent" }, records)
  t.equal(page_of(folder):find("exponents.csv", 1, true), nil)
end)

t.test("charts drawn elsewhere stand in place of those beside the runs, further costs folded", function()
  local drawn, name = folder .. "/drawn", folder:match "[^/]+$"
  local own = ("%s/%s/compare-language"):format(drawn, name)
  local compared = lh.experiment "compare-language"
  compared:row { "LSTM", model = lh.models.lstm {}, task = task, train = lh.train { steps = 5 }, dataset = "books" }
  compared:table { columns = { "bits_per_byte" } }
  runs.put(folder, compared, { label = "LSTM", seed = 1, bits_per_byte = 2, data = "d" })
  require("longhaul.report.table_files").write(tables.build(compared, compared.tables[1],
    results.of(compared, settings)), folder .. "/compare-language")
  core.write_file(folder .. "/compare-language/pareto-old.png", "png")
  for _, chart in ipairs { "small/pareto_step_time_ms", "small/pareto_flops_per_token", "study/loss" } do
    core.make_folder(own .. "/" .. chart:match "^[^/]+")
    core.write_file(("%s/%s.svg"):format(own, chart), "<svg/>")
  end
  local text = core.read_file(page.write(folder, folder .. "/drawn.html", drawn))
  local folded = text:match "<details><summary>language against memory and FLOPs</summary>(.-)</details>"
  t.contains(folded, 'alt="language: quality against FLOP/token"')
  t.equal(folded:find("pareto_step_time_ms", 1, true), nil)
  t.equal(select(2, text:gsub('alt="language: quality against step time"', "")), 1)
  local section = text:find('<h2 id="compare-language">', 1, true)
  t.check(text:find('alt="language: a column of the curves', 1, true) > section, "loss is above the section")
  t.equal(text:find('alt="language: quality against cost"', 1, true), nil)
  t.contains(page_of(folder), 'alt="language: quality against cost"')
  t.contains(text, 'alt="Block-Recurrent Transformers, Figure 9: ')
  os.execute(("rm -r '%s' '%s/compare-language'"):format(drawn, folder))
end)

t.test("what has runs alone, as trials, is in the list of runs and not among the sections' links", function()
  core.make_folder(folder .. "/brt-table1-trials")
  local source = core.read_file(folder .. "/brt-table1/runs.csv")
  core.write_file(folder .. "/brt-table1-trials/runs.csv", source)
  local text = page_of(folder)
  local links = text:match '<nav aria%-label="sections">(.-)</nav>'
  t.check(links:find('href="#brt-table1"', 1, true) and not links:find("trials", 1, true))
  t.contains(text, '<h2 id="brt-table1-trials">brt-table1-trials: trials that chose the settings of Block-Rec')
  os.execute("rm -r '" .. folder .. "/brt-table1-trials'")
end)

t.test("verdicts have a class, and nothing else that is called like one", function()
  core.make_folder(folder .. "/claims")
  csv.write(folder .. "/claims/claims.csv",
    { "paper", "claim", "verdict", "sentence", "published", "scale", "device", "predicate_source" },
    {
    { paper = "p", claim = "p_1", verdict = "in direction", sentence = "a < b", published = "holds",
      scale = "small", device = "cpu", predicate_source = "ours" },
    { paper = "p", claim = "p_2", verdict = "fails", sentence = "fails", published = "fails",
      scale = "small", device = "cpu", predicate_source = "ours" },
  })
  local text = page_of(folder)
  t.contains(text,
    '<th scope="row">p_1</th><td class="in-direction">in direction</td><td>a &lt; b</td>')
  t.contains(text, '<th scope="row">p_2</th><td class="fails">fails</td><td>fails</td>')
  t.contains(text, "<td>holds</td>")
  t.equal(text:find("do not decide", 1, true), nil)
end)

t.test("claims that nothing decides stand behind those that runs decide, and are not counted", function()
  csv.write(folder .. "/claims/claims.csv",
    { "paper", "claim", "verdict", "sentence", "scale", "device", "predicate_source" },
    {
    { paper = "p", claim = "p_1", verdict = "undecided", sentence = "open", scale = "medium",
      device = "cpu", predicate_source = "paper" },
    { paper = "p", claim = "p_1", verdict = "holds", sentence = "closed", scale = "small",
      device = "cpu", predicate_source = "paper" },
  })
  local text = page_of(folder)
  t.contains(text, "Verdicts by paper, each claim at the scale that says most on cpu")
  t.equal(text:find("Verdicts by paper, medium", 1, true), nil)
  t.equal(text:find("Claims that runs do not decide", 1, true), nil)
  t.contains(text, "<summary>The same claims at other scales, verdicts: 1</summary>")
  t.check(text:find("<td>closed</td>", 1, true) < text:find("<td>open</td>", 1, true), "order")
end)

t.test("a claim is shown once, at the scale that decides it, and says which; its functions stand in words", function()
  local function record(claim, scale, verdict, measured)
    return { paper = "brt", claim = claim, verdict = verdict, measured = measured, sentence = scale, scale = scale,
      device = "cpu", predicate_source = "paper", lacking = "0", seeds = 3 }
  end
  csv.write(folder .. "/claims/claims.csv",
    { "paper", "claim", "verdict", "measured", "sentence", "scale", "device", "predicate_source", "lacking", "seeds" },
    { record("brt_p1", "small", "holds", "BST(a) 1 <= xBST(b) 2"), record("brt_p1", "study", "fails", "B(a, b) 1 < 2"),
      record("brt_p2", "small", "holds", "peak_memory_bytes(a) 1"), record("brt_p2", "study", "undecided", "") })
  local text = page_of(folder)
  local decided = text:match "Claims that runs decide(.-)</table>"
  t.equal(select(2, decided:gsub('<th scope="row"', "")), 2)
  t.contains(decided, '<td class="fails">fails</td><td>study</td><td>bits(a, b) 1 &lt; 2</td>')
  t.contains(decided, '<td>small</td><td>peak memory(a) 1</td>')
  t.contains(text, "<td>relative step time(a) 1 ≤ xBST(b) 2</td>")
  t.contains(text, "<li>Block-Recurrent Transformers<ul><li>relative step time(model): the time of a training step")
  t.contains(text, "<li>peak memory(row, ...), in byte: ")
  t.contains(text, "Verdicts by paper, small on cpu")
end)

t.test("the page is one file: it loads nothing", function()
  local text = page_of(folder)
  for address in text:gmatch 'src="([^"]*)"' do t.equal(address:sub(1, 5), "data:") end
  for address in text:gmatch 'href="([^"]*)"' do t.equal(address:sub(1, 1), "#") end
  t.equal(text:find "<link", nil)
end)

t.test("base64 of every length", function()
  for text, expected in pairs { a = "YQ==", ab = "YWI=", abc = "YWJj", ["abc\xFF\0"] = "YWJj/wA=" } do
    core.write_file(folder .. "/x.svg", text)
    t.contains(parts.chart(folder .. "/x.svg", "x"), "base64," .. expected .. '"')
  end
end)

-- What a browser makes of a page, its script run; skipped where there is none.
local function in_browser(text)
  core.write_file(folder .. "/try.html", text)
  local pipe = io.popen(("chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=600000 --dump-dom "
    .. "'file://%s/try.html' 2>/dev/null"):format(folder))
  local made = pipe:read "a"
  pipe:close()
  if made == "" then t.skip "there is no chromium" end
  return made
end

t.test("a browser sorts by numbers, what says nothing last, and filters", function()
  local rows = {}
  for i, value in ipairs { 10, 9, "", -1, 2e3, 0.5, 7, 8 } do
    rows[i] = { "r" .. i, { "text", value = value } }
  end
  local made = parts.table { caption = "c", head = { { "row", "number" } }, rows = rows }
  local click = [[<script>{
    const heads = document.querySelectorAll("thead button"), order = () =>
      [...document.querySelectorAll("tbody tr")].map(row => row.cells[0].textContent).join();
    heads[1].click();
    const up = order();
    heads[1].click();
    const down = order(), input = document.querySelector("input");
    input.value = "R7";
    input.dispatchEvent(new Event("input"));
    document.body.append(up + ";" + down + ";" +
      [...document.querySelectorAll("tbody tr")].filter(row => !row.hidden).length);
  }</script>]]
  local text = in_browser((parts.whole("try", made):gsub("</body>", click .. "%0")))
  t.contains(text, "r4,r6,r7,r8,r2,r1,r5,r3;r5,r1,r2,r8,r7,r6,r4,r3;1")
end)

t.test("what is wider than its place says that it scrolls, and that heads sort; the row's name stays", function()
  local head, row, rows = { "row" }, {}, {}
  for i = 2, 40 do head[i], row[i] = "number", "1234567" end
  for i = 1, 8 do rows[i] = { "r" .. i, table.unpack(row, 2) } end
  local wide = parts.table { caption = "wide", head = { head }, rows = rows }
  local narrow = parts.table { caption = "narrow", head = { { "row" } }, rows = { { "a" }, { "b" } } }
  local look = [[<script>const watcher = setInterval(() => {
    if (!document.querySelectorAll(".more")[1].hidden) return;
    clearInterval(watcher);
    const [first, second] = document.querySelectorAll(".more"), region = document.querySelector(".scroll");
    region.scrollLeft = 500;
    const left = (cell) => Math.round(cell.getBoundingClientRect().left - region.getBoundingClientRect().left);
    const table = region.querySelector("table");
    document.body.append([first.hidden, second.hidden, left(table.tHead.rows[0].cells[0]),
      left(table.tBodies[0].rows[0].cells[0])].join());
  }, 20)</script>]]
  local text = in_browser((parts.whole("try", wide .. narrow):gsub("</body>", look .. "%0")))
  t.contains(text, "false,true,0,0")
  t.contains(text, "a click on a column's head sorts")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
