-- What every HTML page here is made of: the frame with its style and script, tables that sort and
-- filter, and drawings inside the file, so that a page is one file that needs nothing else.
local core = require "longhaul.core"
local quantity = require "longhaul.run.quantity"
local quote = require "longhaul.run.quote"
local store = require "longhaul.run.store"

local page = {}

local escape = quote.html

-- ---- the frame ----

-- Colours are of WCAG's contrast in both schemes.
local style = [[
:root{color-scheme:light dark;--ink:#1d2733;--quiet:#5a6673;--paper:#fff;--shade:#f3f5f8;
--line:#cfd6dd;--link:#0b57a4;--good:#0f6b32;--bad:#ab1f18;--open:#735800;--near:#15607c}
@media (prefers-color-scheme:dark){:root{--ink:#e4e9ee;--quiet:#a9b4bf;--paper:#14191f;
--shade:#1e252d;--line:#3b4651;--link:#8ec1ff;--good:#6fd394;--bad:#ff9c94;--open:#e6c564;
--near:#7fcbe8}img.chart{filter:invert(.91) hue-rotate(180deg)}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1200px;
margin:2rem auto;padding:0 1rem;overflow-wrap:break-word}
a{color:var(--link)}h1{font-size:1.7rem;line-height:1.25}
h2{font-size:1.3rem;margin-top:2.5rem;border-bottom:1px solid var(--line)}
.scroll{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse;font-size:.9rem}
caption{text-align:left;color:var(--quiet);padding:.25rem 0}
caption span{position:sticky;left:0;display:inline-block;max-width:min(70rem,100vw - 3rem)}
th,td{padding:.25rem .6rem;text-align:right;white-space:nowrap;font-weight:400}
thead th{font-weight:600}th:first-child,td:first-child,.text td,.text th{text-align:left}
tbody th,thead tr>:first-child{position:sticky;left:0;z-index:1;background:var(--paper)}
.text tbody>*>*{vertical-align:top}.text td{white-space:normal;min-width:5rem}.text td.long{min-width:18rem}
.text td.date{white-space:nowrap}.text td.short{min-width:0}
.text tbody th{white-space:normal;min-width:8rem}
thead tr:last-child th{border-bottom:2px solid var(--ink)}
tbody tr:nth-child(even)>*{background:var(--shade)}
.group{border-left:1px solid var(--line)}.paper,.diff,.cost,.absent{color:var(--quiet)}
.matrix{font-size:.86rem}.matrix th,.matrix td{padding:.25rem .4rem}
.matrix thead th{white-space:normal;vertical-align:bottom;overflow-wrap:normal}
.matrix .absent{white-space:normal;min-width:5em}.best{font-weight:700}
.holds{color:var(--good);font-weight:600}.fails{color:var(--bad);font-weight:600}
.undecided,.untested{color:var(--open);font-weight:600}.in-direction{color:var(--near);font-weight:600}
.note,figcaption{color:var(--quiet);font-size:.9rem}figure{margin:1rem 0}
img{max-width:100%;height:auto}.charts{display:grid;gap:1rem;
grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr))}
code{background:var(--shade);padding:0 .25rem}pre{background:var(--shade);padding:.5rem .75rem;
overflow-x:auto}pre code{padding:0}summary{cursor:pointer;padding:.25rem 0}
thead button{font:inherit;font-weight:600;color:inherit;background:none;border:0;padding:0;
cursor:pointer;text-align:inherit;white-space:inherit}
[aria-sort=ascending] button::after{content:" \25B2"}
[aria-sort=descending] button::after{content:" \25BC"}
.filter,.more{display:block;font-size:.9rem;color:var(--quiet)}.more[hidden]{display:none}
.filter input{font:inherit;max-width:100%;color:inherit;background:var(--paper);
border:1px solid var(--quiet);padding:.1rem .4rem}
body>nav{padding-bottom:.75rem;border-bottom:1px solid var(--line);font-size:.9rem}
body>nav a{margin-left:.75rem}main>p,main>ul{max-width:58rem}[aria-current]{color:inherit;font-weight:600;
text-decoration:none}
@media (max-width:40rem){body{margin:1rem auto}tbody th{max-width:9rem;white-space:normal}}
@media print{body{max-width:none;margin:0;font-size:10pt}nav,.filter,.more{display:none}
.scroll{overflow:visible}.data{font-size:6.5pt}
.data th,.data td{padding:.1rem .25rem;white-space:normal}
tbody th,thead tr>:first-child{position:static}figure,tr{break-inside:avoid}img.chart{filter:none}}
]]

-- Without it the tables stand there all the same. A click on a column's head sorts by what its
-- cells say as a number in data-value, else by their text; what says nothing comes last.
page.script = [[
"use strict";
const said = (row, at) => (row.cells[at].dataset.value ?? row.cells[at].textContent).trim();
const order = (a, b) => {
  if (a === "" || b === "") return (a === "") - (b === "");
  const difference = Number(a) - Number(b);
  return Number.isNaN(difference) ? a.localeCompare(b) : difference;
};
const sortable = (body, heads, at) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...heads[at].childNodes);
  heads[at].append(button);
  button.addEventListener("click", () => {
    const down = heads[at].getAttribute("aria-sort") === "ascending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[at].setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [said(a, at), said(b, at)];
      return down && x !== "" && y !== "" ? order(y, x) : order(x, y);
    });
    body.append(...rows);
  });
};
const filterable = (table, body) => {
  const label = document.createElement("label"), input = document.createElement("input");
  label.className = "filter";
  input.type = "search";
  label.append("Only rows with ", input, " (a click on a column's head sorts)");
  table.parentElement.before(label);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
};
// What is wider than its place says so, since a scroll bar may be hidden until one scrolls.
const scrollable = (region) => {
  const more = document.createElement("span");
  more.className = "more";
  more.textContent = "More columns to the right: scroll the table sideways \u2192";
  region.before(more);
  new ResizeObserver(() => { more.hidden = region.scrollWidth <= region.clientWidth; }).observe(region);
};
for (const table of document.querySelectorAll("table.data")) {
  const body = table.tBodies[0], heads = [...[...table.tHead.rows].at(-1).cells];
  if (body.rows.length > 1) heads.forEach((_, at) => sortable(body, heads, at));
  if (body.rows.length > 7) filterable(table, body);
  scrollable(table.parentElement);
}
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
]]

--- A whole page around a body.
function page.whole(title, body)
  return ('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    .. '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    .. "<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n%s\n</main>\n"
    .. "<script>\n%s</script>\n</body>\n</html>\n"):format(escape(title), style, body, page.script)
end

-- ---- tables ----

local function attribute(name, value)
  return value and (' %s="%s"'):format(name, escape(tostring(value))) or ""
end

-- A cell is a text, or { text, class =, span = (columns), value = what it is sorted by }.
local function cell_of(tag, cell, scope)
  if type(cell) ~= "table" then cell = { cell } end
  return ("<%s%s%s%s%s>%s</%s>"):format(tag, attribute("scope", scope),
    attribute("colspan", cell.span), attribute("class", cell.class),
    attribute("data-value", cell.value), escape(cell[1] or ""), tag)
end

-- The first cell says what the row is of.
local function row_of(cells)
  local fields = { cell_of("th", cells[1], "row") }
  for i = 2, #cells do fields[i] = cell_of("td", cells[i]) end
  return "<tr>" .. table.concat(fields) .. "</tr>"
end

-- A head's cell over several columns is of the group of them.
local function head_of(cells)
  local fields = {}
  for i, cell in ipairs(cells) do
    local span = type(cell) == "table" and cell.span
    local empty = (type(cell) == "table" and cell[1] or cell) == ""
    fields[i] = cell_of(empty and "td" or "th", cell, not empty and (span and "colgroup" or "col")
      or nil)
  end
  return "<tr>" .. table.concat(fields) .. "</tr>"
end

--- A table: `caption`, `head` (rows of cells; the last has a cell for each column), `rows` (the
--- first cell of each is its head), `class`. It sorts and filters where the page's script runs.
function page.table(made)
  local lines = {
    ('<div class="scroll" role="region" tabindex="0" aria-label="%s">'):format(escape(made.label
      or made.caption)),
    ('<table class="%s">'):format(made.class and "data " .. made.class or "data"),
    -- in view, and as wide as it, however far a wide table is scrolled
    ("<caption><span>%s</span></caption><thead>"):format(escape(made.caption)),
  }
  for _, cells in ipairs(made.head) do lines[#lines + 1] = head_of(cells) end
  lines[#lines + 1] = "</thead><tbody>"
  for _, cells in ipairs(made.rows) do lines[#lines + 1] = row_of(cells) end
  lines[#lines + 1] = "</tbody></table></div>"
  return table.concat(lines, "\n")
end

--- What a reader opens by its summary; `content` is HTML.
function page.folded(summary_text, content)
  return ("<details><summary>%s</summary>\n%s</details>"):format(escape(summary_text), content)
end

-- More decimals than a table shows.
local long_fraction = "^-?%d+%.%d%d%d%d%d+$"

-- A number as tables round it, and what it is sorted by: 2.7680451 is 2.768, 97089668042.1 97.1G. What the program
-- calls things by, as the row 0.00031623 of a grid, is none.
local function rounded(text, name)
  if not text:find(long_fraction) or store.is_text_column(name) then return text end
  local value = tonumber(text)
  return math.abs(value) >= 1e4 and quantity.amount(value) or ("%.4g"):format(value), text
end

local function class_of(name, text)
  if name == "verdict" then return (text:gsub(" ", "-")) end
  if text:find "^%d%d%d%d%-%d%d%-%d%d" then return "date" end
  if #text > 40 then return "long" end
  return #text < 8 and not text:find "[^%d.]" and "short" or nil
end

-- Columns of prose have room, and numbers no more than they need; days stay on their line; verdicts have colours.
local function text_cells(columns, record)
  local cells = {}
  for i, name in ipairs(columns) do
    local text, value = rounded(tostring(record[name] or ""), name)
    cells[i] = { text, class = i > 1 and class_of(name, text) or nil, value = value }
  end
  return cells
end

--- Records as a table of what they say in these columns.
function page.text_table(caption, columns, records)
  local titles, rows = {}, {}
  for i, name in ipairs(columns) do titles[i] = name:gsub("_", " ") end
  for i, record in ipairs(records) do rows[i] = text_cells(columns, record) end
  return page.table { caption = caption, class = "text", head = { titles }, rows = rows }
end

-- ---- drawings ----

local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function four(three)
  local a, b, c = three:byte(1, 3)
  local word, text = a << 16 | (b or 0) << 8 | (c or 0), ""
  for shift = 18, 0, -6 do
    local at = (word >> shift & 63) + 1
    text = text .. digits:sub(at, at)
  end
  return text:sub(1, #three + 1) .. ("="):rep(3 - #three)
end

local kinds = { svg = "image/svg+xml", png = "image/png" }

--- A drawing of a file, SVG or PNG, inside the page. `alt` says what it shows.
function page.chart(path, alt)
  local data = core.read_file(path):gsub("..?.?", four)
  return ('<figure><img class="chart" src="data:%s;base64,%s" alt="%s" width="960" height="600">'
    .. "<figcaption>%s</figcaption></figure>"):format(kinds[path:match "%.(%w+)$"], data,
    escape(alt), escape(alt))
end

return page
