-- Every public prototype of the kernels and the engine has a comment directly above it, or behind
-- it on its line. Prototypes without an empty line between them (retain and release, say) share
-- one, and an accessor, whose only argument is a const object, is explained by its name.
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

for _, path in ipairs(tree.files("h", "kernels harness/engine")) do
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
tree.finish()
