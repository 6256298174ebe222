-- Every public prototype has a comment directly above it, or behind it on its line. Prototypes
-- without an empty line between them (retain and release, say) share one, and an accessor, whose
-- only argument is a const object, is explained by its name. In the headers of CUDA kernels, which
-- have no prototypes, functions have one where they are defined; overloads share that of the first.
-- Every file begins with a comment that says what it is for.
local tree = dofile "tests/lint/tree.lua"

-- Takes `/* ... */` out of the text but leaves a mark, so that lines keep their numbers.
local function mark_comments(text)
  return (text:gsub("/%*.-%*/", function(comment)
    return "\1" .. comment:gsub("[^\n]", ""):gsub("\n", "\n\1")
  end))
end

-- kind of a line: comment, blank, prototype (first line of one), rest
local function kind_of(line)
  if line:find("^%s*\1%s*$") then return "comment" end
  if line:find("^%s*$") then return "blank" end
  local declares = line:find("^[%a_][%w_ *]*%f[%w_]lh_[%w_]+%(")
  if not declares or line:find("^typedef") or line:find("^static") or line:find("{%s*$") then
    return "rest"
  end
  local accessor = line:find("%(const lh_[%w_]+ %*[%w_]+%);") or line:find("%(void%);")
  return (accessor or line:find("\1%s*$")) and "rest" or "prototype"
end

for _, path in ipairs(tree.files("h", "kernels harness models datasets")) do
  local number, documented = 0, false
  local text = table.concat(tree.lines(path), "\n") .. "\n"
  for line in mark_comments(text):gmatch("(.-)\n") do
    number = number + 1
    local kind = kind_of(line)
    if kind == "comment" then
      documented = true
    elseif kind == "blank" then
      documented = false
    elseif kind == "prototype" and not documented then
      tree.offence(path, number, "%s has no comment above it", line:match("(lh_[%w_]+)%("))
    end
  end
end

-- The name of a function that begins at the margin of a .cuh file.
local function defined_in(line, next_line)
  local head = line:find "^static inline" or line:find "^__device__" or line:find "^__global__"
    or line:find "^template <[^(]*> __device__" or line:find "^LH_INLINE"
  return head and (line .. " " .. next_line):match "(lh_[%w_]+)%("
end

-- What stands above a function, its template and the #ifdef that chooses it.
local function above(lines, number)
  repeat
    number = number - 1
    local line = lines[number] or ""
    local ends = line == "" or line:find "^}" or line:find "%*/$"
  until ends
  return lines[number] or ""
end

for _, path in ipairs(tree.files("cuh", "kernels/cuda")) do
  local lines, seen = tree.lines(path), {}
  for number, line in ipairs(lines) do
    local name = defined_in(line, lines[number + 1] or "")
    if name and not seen[name] and not above(lines, number):find "%*/$" then
      tree.offence(path, number, "%s has no comment above it", name)
    end
    if name then seen[name] = true end
  end
end

-- Rooms whose files all have one; the list may only grow.
local headed = "harness models datasets tests"
for _, path in ipairs(tree.files("c h cc cu cuh inc def", headed)) do
  if not tree.lines(path)[1]:find "^/%*" then
    tree.offence(path, 1, "begin with a comment that says what the file is for")
  end
end

-- Scripts of the whole tree: Lua has it in the first line, shell below the line that names the
-- interpreter.
for _, path in ipairs(tree.files "lua sh") do
  local shell = path:find "%.sh$"
  if not (tree.lines(path)[shell and 2 or 1] or ""):find(shell and "^# " or "^%-%-") then
    tree.offence(path, shell and 2 or 1, "begin with a comment that says what the script is for")
  end
end
tree.finish()
