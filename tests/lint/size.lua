-- Ceilings: 600 lines a file that is written by hand, 60 lines a function; 100 columns in C, as in
-- .clang-format; 1000 words in the README, which a newcomer reads in five minutes
-- (a generated table is looked at, not read).
local tree = dofile "tests/lint/tree.lua"
local file_lines, function_lines, columns, readme_words = 600, 60, 100, 1000

-- The tree is formatted by tool, so a C function opens with a line that ends in `) {` below a line
-- that starts at the margin, and closes with a brace at the margin.
local function c_functions(path, lines)
  local start
  for number, line in ipairs(lines) do
    if line:find("^[%a_]") and line:find("%(") and not line:find("[;=]") then
      start = number
    elseif line:find("^}") then
      if start and number - start + 1 > function_lines then
        tree.offence(path, start, "function of %d lines, at most %d", number - start + 1,
          function_lines)
      end
      start = nil
    end
  end
end

-- A Lua function closes with the `end` at its own indentation.
local function lua_functions(path, lines)
  local open = {}
  for number, line in ipairs(lines) do
    local indent = #line:match("^ *")
    if open[indent] and line:find("^ *end") then
      local length = number - open[indent] + 1
      if length > function_lines then
        tree.offence(path, open[indent], "function of %d lines, at most %d", length, function_lines)
      end
      open[indent] = nil
    elseif line:find("%f[%w_]function%f[^%w_]") and not line:find("%f[%w_]end%f[^%w_]") then
      open[indent] = number
    end
  end
end

for _, path in ipairs(tree.files("c h inc cc cu cuh lua sh")) do
  local lines = tree.lines(path)
  if #lines > file_lines then
    tree.offence(path, #lines, "%d lines, at most %d", #lines, file_lines)
  end
  local script = path:find("%.lua$") or path:find("%.sh$")
  for number, line in ipairs(lines) do
    if not script and utf8.len(line) and utf8.len(line) > columns then
      tree.offence(path, number, "%d columns, at most %d", utf8.len(line), columns)
    end
  end
  if path:find("%.lua$") then lua_functions(path, lines) else c_functions(path, lines) end
end

local readme = table.concat(tree.lines "README.md", "\n")
local _, words = readme:gsub("<!%-%- begin generated:.-<!%-%- end generated %-%->", ""):gsub("%S+", "")
if words > readme_words then
  tree.offence("README.md", 1, "%d words, at most %d: what is reference stands in docs/", words, readme_words)
end
tree.finish()
