-- Long lines in lines that fit a terminal.
local core = require "longhaul.core"

local fold = {}

-- Characters that a terminal gives two columns (Chinese, Japanese, Korean, emoji) and those that it gives none
-- (accents over the letter before, joiners), as first and last codes. The rest have one.
local wide = {
  { 0x1100, 0x115F }, { 0x2E80, 0x303E }, { 0x3041, 0xA4CF }, { 0xAC00, 0xD7A3 }, { 0xF900, 0xFAFF },
  { 0xFE30, 0xFE6F }, { 0xFF00, 0xFF60 }, { 0xFFE0, 0xFFE6 }, { 0x1F300, 0x1F64F }, { 0x1F680, 0x1F6FF },
  { 0x1F900, 0x1F9FF }, { 0x20000, 0x3FFFD },
}
local empty = { { 0x300, 0x36F }, { 0x200B, 0x200F }, { 0xFE00, 0xFE0F } }

local function is_among(code, ranges)
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then return true end
  end
  return false
end

--- Columns that a text takes.
function fold.columns(text)
  local columns = utf8.len(text) or #text
  if columns == #text then return columns end
  for _, code in utf8.codes(text) do
    if is_among(code, wide) then columns = columns + 1 end
    if is_among(code, empty) then columns = columns - 1 end
  end
  return columns
end

--- Columns of the terminal that standard output is; nil where it is none.
function fold.width() return core.terminal_width "output" end

-- Where what follows the first line begins: below the last entry of a list that leaves half of the
-- width, else as far in as the line itself.
local function margin(line, width)
  local column = #line:match "^ *"
  for place in line:gmatch "%S  +()%S" do
    local before = fold.columns(line:sub(1, place - 1))
    if before <= width // 2 then column = before end
  end
  return (" "):rep(column)
end

--- `line` as an array of lines of at most `width` columns, broken at blanks; a longer word has a
--- line of its own. `hang`, optional, is what those behind the first begin with.
function fold.line(line, width, hang)
  if fold.columns(line) <= width then return { line } end
  hang = hang or margin(line, width)
  local lines, current = {}, line:match "^ *"
  for gap, word in line:gmatch "( *)(%S+)" do
    local bare = not current:find "%S"
    local longer = current .. (bare and "" or gap) .. word
    if not bare and fold.columns(longer) > width then
      lines[#lines + 1] = current
      longer = hang .. word
    end
    current = longer
  end
  lines[#lines + 1] = current
  return lines
end

--- `text` with each of its lines folded; as it is where there is no width.
function fold.text(text, width)
  if not width then return text end
  local lines = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    local folded = fold.line(line, width)
    table.move(folded, 1, #folded, #lines + 1, lines)
  end
  return table.concat(lines, "\n")
end

-- ---- tables ----

local gap = 2

-- The places of columns as arrays of those that fit beside the first, of these widths.
local function blocks_of(widths, width)
  local blocks, used = {}, 0
  for c = 2, #widths do
    used = used + gap + widths[c]
    if #blocks == 0 or used > width then
      blocks[#blocks + 1] = { 1 }
      used = widths[1] + gap + widths[c]
    end
    table.insert(blocks[#blocks], c)
  end
  return #blocks > 0 and blocks or { { 1 } }
end

local function aligned(cells, block, widths)
  local texts = {}
  for i, c in ipairs(block) do texts[i] = cells[c] .. (" "):rep(widths[c] - fold.columns(cells[c])) end
  return (table.concat(texts, (" "):rep(gap)):gsub(" +$", ""))
end

--- `rows`, arrays of as many texts, the first the heads, in aligned columns; those that do not fit
--- `width` (optional) stand below, beside the first column again.
function fold.table(rows, width)
  local widths, lines = {}, {}
  for _, cells in ipairs(rows) do
    for c, text in ipairs(cells) do widths[c] = math.max(widths[c] or 0, fold.columns(text)) end
  end
  for b, block in ipairs(blocks_of(widths, width or math.huge)) do
    if b > 1 then lines[#lines + 1] = "" end
    for _, cells in ipairs(rows) do lines[#lines + 1] = aligned(cells, block, widths) end
  end
  return table.concat(lines, "\n")
end

-- ---- printing ----

--- Prints `text`, folded where standard output is a terminal.
function fold.print(text) print(fold.text(text, fold.width())) end

--- Prints lines of texts, each column as wide as its longest text, but at least `least`; the texts behind these
--- columns as they are.
function fold.print_columns(lines, least)
  local widest = { table.unpack(least) }
  for _, texts in ipairs(lines) do
    for i in ipairs(least) do widest[i] = math.max(widest[i], fold.columns(texts[i])) end
  end
  for _, texts in ipairs(lines) do
    for i in ipairs(least) do texts[i] = texts[i] .. (" "):rep(widest[i] - fold.columns(texts[i])) end
    fold.print(table.concat(texts, " "))
  end
end

return fold
