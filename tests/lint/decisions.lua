-- docs/decisions.md: each entry has a date and says what was rejected.
local tree = dofile "tests/lint/tree.lua"
local path = "docs/decisions.md"

local function check(entry)
  local title = entry.text:match "^%- %*%*(.-)%*%*"
  if not entry.text:match "%*%* ?%(20%d%d%-%d%d%-%d%d" then
    tree.offence(path, entry.line, "no date behind '%s'", title)
  end
  if not entry.text:find("Rejected: ", 1, true) then
    tree.offence(path, entry.line, "'%s' does not say what was rejected", title)
  end
end

local entry
for number, line in ipairs(tree.lines(path)) do
  if line:match "^%- %*%*" then
    if entry then check(entry) end
    entry = { line = number, text = line }
  elseif entry and line:match "^  " then
    entry.text = entry.text .. line:gsub("^ +", " ")
  end
end
if entry then check(entry) end
tree.finish()
