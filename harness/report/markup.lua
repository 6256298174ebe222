-- The same table as Markdown, HTML and LaTeX.
local quote = require "longhaul.run.quote"
local tables = require "longhaul.report.table"

local markup = {}

-- ---- Markdown ----

-- The texts of a cell by part; `mark` decorates the best one.
local function parts_of(column, cell, mark)
  local paper, here, difference = tables.texts(column, cell)
  if cell.best and here ~= "" then here = mark(here) end
  return { paper = paper, here = here, diff = difference }
end

local function bold(text) return "**" .. text .. "**" end

local function add_line(lines, fields)
  lines[#lines + 1] = "| " .. table.concat(fields, " | ") .. " |"
end

-- A pipe table with paper, here and difference per column.
local function add_block(lines, made, block)
  local head, rule = { "row" }, { "---" }
  for _, c in ipairs(block) do
    for _, part in ipairs(tables.parts(made.columns[c])) do
      head[#head + 1] = quote.markdown(tables.block_heading(block, made.columns[c])) .. ": " .. part
      rule[#rule + 1] = "--:"
    end
  end
  if block.title then
    table.move({ "## " .. quote.markdown(block.title), "" }, 1, 2, #lines + 1, lines)
  end
  add_line(lines, head)
  add_line(lines, rule)
  for _, row in ipairs(block.rows) do
    local fields = { quote.markdown(row.label) }
    for _, c in ipairs(block) do
      local texts = parts_of(made.columns[c], row.cells[c], bold)
      for _, part in ipairs(tables.parts(made.columns[c])) do fields[#fields + 1] = texts[part] end
    end
    add_line(lines, fields)
  end
  lines[#lines + 1] = ""
end

--- Pipe tables, one for each block.
function markup.markdown(made)
  local lines = { "# " .. quote.markdown(made.title), "" }
  for _, block in ipairs(tables.blocks(made)) do add_block(lines, made, block) end
  for _, note in ipairs(tables.notes(made)) do
    lines[#lines + 1] = quote.markdown((note:gsub("is marked %*", "is bold")))
    lines[#lines + 1] = ""
  end
  return table.concat(lines, "\n")
end

-- ---- HTML ----

--- Text with the characters of markup replaced.
markup.escape = quote.html

local style = [[
body{font:16px/1.5 system-ui,sans-serif;color:#1d2733}
body{max-width:1100px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.7rem}h2{font-size:1.3rem;margin-top:2.5rem;border-bottom:1px solid #d5dbe1}
table{border-collapse:collapse;font-size:.9rem;margin:1rem 0;display:block;overflow-x:auto}
th,td{padding:.25rem .6rem;text-align:right;white-space:nowrap}th{font-weight:600}
th:first-child,td:first-child,table.text td,table.text th{text-align:left}
table.text td{white-space:normal;vertical-align:top}
thead tr:last-child th{border-bottom:2px solid #1d2733}tbody tr:nth-child(even){background:#f4f6f8}
.group{border-left:1px solid #d5dbe1}.paper,.diff{color:#66727f}.best{font-weight:700}
.holds{color:#157f3b;font-weight:600}.fails{color:#b3261e;font-weight:600}
.undecided,.untested{color:#8a6d00;font-weight:600}.in-direction{color:#1b6f8a;font-weight:600}
.note{color:#66727f;font-size:.9rem}img{max-width:100%;height:auto}
code{background:#f4f6f8;padding:0 .25rem}
]]

--- A whole page around a body.
function markup.page(title, body)
  return ('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    .. '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    .. "<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n%s\n</body>\n</html>\n"):format(
    markup.escape(title), style, body)
end

local function html_head(made, block)
  local top, below = { "<th></th>" }, { "<th>row</th>" }
  for _, c in ipairs(block) do
    local parts = tables.parts(made.columns[c])
    top[#top + 1] = ('<th colspan="%d" class="group">%s</th>'):format(#parts,
      markup.escape(tables.block_heading(block, made.columns[c])))
    for i, part in ipairs(parts) do
      below[#below + 1] = ('<th class="%s%s">%s</th>'):format(i == 1 and "group " or "", part, part)
    end
  end
  return ("<thead><tr>%s</tr>\n<tr>%s</tr></thead>"):format(table.concat(top), table.concat(below))
end

local function html_cell(column, cell)
  local texts, fields = parts_of(column, cell, function(text) return text end), {}
  for i, part in ipairs(tables.parts(column)) do
    local best = part == "here" and cell.best and " best" or ""
    fields[i] = ('<td class="%s%s%s">%s</td>'):format(i == 1 and "group " or "", part, best,
      markup.escape(texts[part]))
  end
  return table.concat(fields)
end

local function add_html(lines, made, block)
  if block.title then lines[#lines + 1] = ("<h3>%s</h3>"):format(markup.escape(block.title)) end
  lines[#lines + 1] = "<table>" .. html_head(made, block) .. "<tbody>"
  for _, row in ipairs(block.rows) do
    local fields = { ("<td>%s</td>"):format(markup.escape(row.label)) }
    for _, c in ipairs(block) do fields[#fields + 1] = html_cell(made.columns[c], row.cells[c]) end
    lines[#lines + 1] = "<tr>" .. table.concat(fields) .. "</tr>"
  end
  lines[#lines + 1] = "</tbody></table>"
end

--- The table alone, with its notes, for a page of its own and the report; its title is a heading of
--- `level` (default "h2").
function markup.html(made, level)
  level = level or "h2"
  local lines = { ("<%s>%s</%s>"):format(level, markup.escape(made.title), level) }
  for _, block in ipairs(tables.blocks(made)) do add_html(lines, made, block) end
  for _, note in ipairs(tables.notes(made)) do
    local text = markup.escape((note:gsub("is marked %*", "is bold")))
    lines[#lines + 1] = ('<p class="note">%s</p>'):format(text)
  end
  return table.concat(lines, "\n")
end

-- ---- LaTeX ----

local function latex_bold(text) return ("\\textbf{%s}"):format(text) end

--- A tabular for the booktabs package, with its notes below.
function markup.latex(made)
  local top, below, letters = { "" }, { "row" }, {}
  for _, column in ipairs(made.columns) do
    local parts = tables.parts(column)
    local heading = quote.latex(tables.heading(column))
    top[#top + 1] = ("\\multicolumn{%d}{c}{%s}"):format(#parts, heading)
    for _, part in ipairs(parts) do below[#below + 1] = part end
    letters[#letters + 1] = ("r"):rep(#parts)
  end
  local lines = {
    "% needs \\usepackage{booktabs}", ("\\begin{tabular}{l%s}"):format(table.concat(letters)),
    "\\toprule", table.concat(top, " & ") .. " \\\\", table.concat(below, " & ") .. " \\\\",
    "\\midrule",
  }
  for _, row in ipairs(made.rows) do
    local fields = { quote.latex(row.label) }
    for c, column in ipairs(made.columns) do
      local texts = parts_of(column, row.cells[c], function(text) return text end)
      texts.here, texts.diff = quote.latex(texts.here), texts.diff:gsub("^%-", "$-$")
      if row.cells[c].best then texts.here = latex_bold(texts.here) end
      for _, part in ipairs(tables.parts(column)) do fields[#fields + 1] = texts[part] end
    end
    lines[#lines + 1] = table.concat(fields, " & ") .. " \\\\"
  end
  lines[#lines + 1] = "\\bottomrule"
  lines[#lines + 1] = "\\end{tabular}"
  lines[#lines + 1] = "\\par\\smallskip"
  for _, note in ipairs(tables.notes(made)) do
    lines[#lines + 1] = ("{\\footnotesize %s\\par}"):format(
      quote.latex((note:gsub("is marked %*", "is bold"))))
  end
  return table.concat(lines, "\n") .. "\n"
end

return markup
