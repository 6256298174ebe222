-- Every public function of the base stands in a test: what harness/engine/ and harness/run/ declare
-- is named somewhere under tests/ by a .c file that is no fuzzer's.
local tree = dofile "tests/lint/tree.lua"

-- The prototypes of a header: a name before a parenthesis at the margin, not of a typedef or a
-- macro.
local function functions_of(path)
  local list = {}
  for number, line in ipairs(tree.lines(path)) do
    local name = line:find "^[%a_]" and not line:find "^typedef" and not line:find "^static"
      and line:match "([%l][%w_]*)%("
    if name and name:find "^lh_" then list[#list + 1] = { name = name, line = number } end
  end
  return list
end

local named = {}
for _, path in ipairs(tree.files("c h inc cc", "tests")) do
  if not path:find "^tests/fuzz/" then
    for _, line in ipairs(tree.lines(path)) do
      for name in line:gmatch "lh_[%w_]+" do named[name] = true end
    end
  end
end

for _, path in ipairs(tree.files("h", "harness/engine harness/run")) do
  for _, declared in ipairs(functions_of(path)) do
    if not named[declared.name] then
      tree.offence(path, declared.line, "%s is named in no test", declared.name)
    end
  end
end
tree.finish()
