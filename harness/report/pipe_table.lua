-- Tables as Markdown has them, out of cells that are Markdown already (quote.markdown).
local pipe_table = {}

local rules = { l = "---", r = "--:" }

local function line_of(cells) return "| " .. table.concat(cells, " | ") .. " |" end

--- A table without a line end behind it: `head` above `rows`, arrays of texts; `align` has a letter for each column,
--- "l" (left, for words) or "r" (right, for numbers).
function pipe_table.text(head, align, rows)
  local rule, lines = {}, { line_of(head) }
  for letter in align:gmatch "." do rule[#rule + 1] = rules[letter] end
  lines[2] = line_of(rule)
  for i, cells in ipairs(rows) do lines[i + 2] = line_of(cells) end
  return table.concat(lines, "\n")
end

return pipe_table
