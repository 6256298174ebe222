-- Tables on a terminal: aligned columns, cut into blocks of columns that fit the width.
local fold = require "longhaul.run.fold"
local quote = require "longhaul.run.quote"
local tables = require "longhaul.report.table"

local terminal = {}

local usual_width = 100 -- where no terminal says how wide it is
local gap = "   "

local columns_in = fold.columns

local function left(text, size) return text .. (" "):rep(size - columns_in(text)) end

local function right(text, size) return (" "):rep(size - columns_in(text)) .. text end

-- The three texts of every cell in column `c`, and their widths. Parts that are empty all the way
-- down (no published value, no deviation) have width 0 and are left out.
local function measure(made, c)
  local parts = { {}, {}, {} }
  local sizes = { 0, 0, 0 }
  for r, row in ipairs(made.rows) do
    local texts = { tables.texts(made.columns[c], row.cells[c]) }
    if texts[2] ~= "" then texts[2] = texts[2] .. (row.cells[c].best and "*" or " ") end
    for p = 1, 3 do
      parts[p][r] = texts[p]
      if texts[p]:match("%S") then sizes[p] = math.max(sizes[p], columns_in(texts[p])) end
    end
  end
  local titles = { "paper", "here ", "diff" }
  local total = 0
  for p = 1, 3 do
    if sizes[p] > 0 then
      sizes[p] = math.max(sizes[p], #titles[p])
      total = total + sizes[p] + (total > 0 and 1 or 0)
    end
  end
  local heading = quote.line(tables.heading(made.columns[c]))
  return { parts = parts, sizes = sizes, titles = titles, heading = heading,
    width = math.max(total, columns_in(heading)) }
end

local function joined(column, texts)
  local words = {}
  for p = 1, 3 do
    if column.sizes[p] > 0 then words[#words + 1] = right(texts[p], column.sizes[p]) end
  end
  return right(table.concat(words, " "), column.width)
end

-- Columns whose widths fit beside the labels.
local function blocks_of(columns, label_size, width)
  local blocks, used = { {} }, label_size
  for _, column in ipairs(columns) do
    if #blocks[#blocks] > 0 and used + #gap + column.width > width then
      blocks[#blocks + 1] = {}
      used = label_size
    end
    table.insert(blocks[#blocks], column)
    used = used + #gap + column.width
  end
  return blocks
end

-- Whether a published value stands beside some column, so that paper and here are to be told apart.
local function has_published(columns)
  for _, column in ipairs(columns) do
    if column.sizes[1] > 0 then return true end
  end
  return false
end

local function block_lines(made, block, label_size, lines)
  local titled = has_published(block)
  local headings, titles = { (" "):rep(label_size) }, { (" "):rep(label_size) }
  for _, column in ipairs(block) do
    headings[#headings + 1] = right(column.heading .. " ", column.width)
    titles[#titles + 1] = joined(column, column.titles)
  end
  lines[#lines + 1] = table.concat(headings, gap)
  if titled then lines[#lines + 1] = table.concat(titles, gap) end
  lines[#lines + 1] = ("-"):rep(columns_in(lines[#lines]))
  for r, row in ipairs(made.rows) do
    local fields = { left(quote.line(row.label), label_size) }
    for _, column in ipairs(block) do
      local texts = { column.parts[1][r], column.parts[2][r], column.parts[3][r] }
      fields[#fields + 1] = joined(column, texts)
    end
    lines[#lines + 1] = table.concat(fields, gap)
  end
end

--- The table as lines of text.
function terminal.format(made)
  local width, label_size = fold.width() or usual_width, 0
  for _, row in ipairs(made.rows) do
    label_size = math.max(label_size, columns_in(quote.line(row.label)))
  end
  local columns = {}
  for c in ipairs(made.columns) do
    local column = measure(made, c)
    if column.sizes[1] + column.sizes[2] > 0 then columns[#columns + 1] = column end
  end
  local lines = { "", quote.line(made.title), "" }
  for b, block in ipairs(blocks_of(columns, label_size, width)) do
    if b > 1 then lines[#lines + 1] = "" end
    block_lines(made, block, label_size, lines)
  end
  lines[#lines + 1] = ""
  for _, note in ipairs(tables.notes(made)) do lines[#lines + 1] = fold.text(note, width) end
  return table.concat(lines, "\n")
end

return terminal
