-- The same table as Markdown, HTML and LaTeX.
local page = require "longhaul.report.page"
local pipe_table = require "longhaul.report.pipe_table"
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

-- A pipe table with paper, here and difference per column, or what is here alone.
local function add_block(lines, made, block)
  local head, rows = { "row" }, {}
  for _, c in ipairs(block) do
    local heading = quote.markdown(tables.block_heading(block, made.columns[c]))
    local parts = tables.parts(made.columns[c])
    for _, part in ipairs(parts) do head[#head + 1] = #parts > 1 and heading .. ": " .. part or heading end
  end
  if block.title then
    table.move({ "## " .. quote.markdown(block.title), "" }, 1, 2, #lines + 1, lines)
  end
  for r, row in ipairs(block.rows) do
    local fields = { quote.markdown(row.label) }
    for _, c in ipairs(block) do
      local texts = parts_of(made.columns[c], row.cells[c], bold)
      for _, part in ipairs(tables.parts(made.columns[c])) do fields[#fields + 1] = texts[part] end
    end
    rows[r] = fields
  end
  lines[#lines + 1] = pipe_table.text(head, "l" .. ("r"):rep(#head - 1), rows) .. "\n"
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

local escape = quote.html

-- Columns above, what of them is shown below where there is more than what is here.
local function html_head(made, block, printed)
  local top, below = { "" }, { "row" }
  for _, c in ipairs(block) do
    local parts = tables.parts(made.columns[c])
    top[#top + 1] = { tables.block_heading(block, made.columns[c]), class = "group", span = #parts }
    for i, part in ipairs(parts) do
      below[#below + 1] = { part, class = i == 1 and "group " .. part or part }
    end
  end
  if printed then return { top, below } end
  top[1] = "row"
  return { top }
end

-- The cells of a column; they are sorted by the numbers behind the texts.
local function add_cells(cells, column, cell)
  local texts = parts_of(column, cell, function(text) return text end)
  local numbers = { paper = cell.published, here = cell.measured, diff = cell.deviation }
  for i, part in ipairs(tables.parts(column)) do
    local mark = part == "here" and cell.best and " best" or ""
    cells[#cells + 1] = { texts[part], class = (i == 1 and "group " or "") .. part .. mark,
      value = numbers[part] }
  end
end

local function html_block(made, block)
  local rows = {}
  for r, row in ipairs(block.rows) do
    rows[r] = { row.label }
    for _, c in ipairs(block) do add_cells(rows[r], made.columns[c], row.cells[c]) end
  end
  local printed = tables.any_printed(made, block)
  local what = printed and "published (paper) beside measured (here)" or "measured here"
  return page.table {
    caption = block.title and ("%s: %s"):format(block.title, what) or what, head = html_head(made, block, printed),
    label = block.title and ("%s, %s"):format(made.title, block.title) or made.title, rows = rows,
  }
end

--- The table alone, with its notes, for a page of its own and the report; its title is a heading of
--- `level` (default "h2").
function markup.html(made, level)
  level = level or "h2"
  local lines = { ("<%s>%s</%s>"):format(level, escape(made.title), level) }
  for _, block in ipairs(tables.blocks(made)) do lines[#lines + 1] = html_block(made, block) end
  for _, note in ipairs(tables.notes(made)) do
    local text = escape((note:gsub("is marked %*", "is bold")))
    lines[#lines + 1] = ('<p class="note">%s</p>'):format(text)
  end
  return table.concat(lines, "\n")
end

-- ---- LaTeX ----

local function latex_bold(text) return ("\\textbf{%s}"):format(text) end

-- Columns above, what of them is shown below where there is more than what is here.
local function latex_head(made)
  local top, below, letters, all = { "" }, { "" }, {}, {}
  for c, column in ipairs(made.columns) do
    local parts = tables.parts(column)
    all[c] = c
    top[#top + 1] = ("\\multicolumn{%d}{c}{%s}"):format(#parts, quote.latex(tables.heading(column)))
    table.move(parts, 1, #parts, #below + 1, below)
    letters[#letters + 1] = ("r"):rep(#parts)
  end
  local lines = { ("\\begin{tabular}{l%s}"):format(table.concat(letters)), "\\toprule" }
  lines[#lines + 1] = table.concat(top, " & ") .. " \\\\"
  if tables.any_printed(made, all) then lines[#lines + 1] = table.concat(below, " & ") .. " \\\\" end
  return lines
end

--- A tabular for the booktabs package; its notes are comments, from which a caption may be written.
function markup.latex(made)
  local lines = { "% needs \\usepackage{booktabs}", table.unpack(latex_head(made)) }
  lines[#lines + 1] = "\\midrule"
  for _, row in ipairs(made.rows) do
    local fields = { quote.latex(row.label) }
    for c, column in ipairs(made.columns) do
      local texts = parts_of(column, row.cells[c], function(text) return text end)
      texts.paper, texts.here = quote.latex(texts.paper), quote.latex(texts.here)
      texts.diff = texts.diff:gsub("^%-", "$-$")
      if row.cells[c].best then texts.here = latex_bold(texts.here) end
      for _, part in ipairs(tables.parts(column)) do fields[#fields + 1] = texts[part] end
    end
    lines[#lines + 1] = table.concat(fields, " & ") .. " \\\\"
  end
  lines[#lines + 1] = "\\bottomrule"
  lines[#lines + 1] = "\\end{tabular}"
  for _, note in ipairs(tables.notes(made)) do
    lines[#lines + 1] = "% " .. quote.line((note:gsub("is marked %*", "is bold")))
  end
  return table.concat(lines, "\n") .. "\n"
end

return markup
