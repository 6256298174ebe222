-- Words that have no place in the sources.
local tree = dofile "tests/lint/tree.lua"

-- Each rule: a pattern, why it is wrong, and where it is right.
local everywhere = {
  { "TO" .. "DO", "do it, or write an issue" },
  { "FIX" .. "ME", "do it, or write an issue" },
  { "%f[%w]XX" .. "X%f[%W]", "do it, or write an issue" },
  { "%f[%w_][Oo]ptimi" .. "sers?%f[^%w_]", "the option's word is optimizer" },
  { "%s$", "white space at the end of the line" },
}
local terms = {
  { "%f[%a]DI" .. "R%f[%A]", "the help texts' word is FOLDER" },
  { "%f[%w_][Dd]irecto" .. "r[yi]e?s?%f[^%w_]", "the word here is folder" },
}
local in_c = {
  { "%f[%w_]exit%(", "only main.c exits", "^harness/main%.c$" },
  { "%f[%w_]abort%(", "return a status instead" },
  { "%f[%w_]assert%(", "return a status instead" },
  { "%f[%w_]lh_[%w_]+_t%f[^%w_]", "POSIX reserves names that end in _t" },
}
local in_models = {
  { "%f[%w_][cm]alloc%(", "lh_allocate and lh_allocate_zeroed leave the message, and tests make them fail" },
}

local function check(rules, path, number, line)
  for _, rule in ipairs(rules) do
    if line:find(rule[1]) and not (rule[3] and path:find(rule[3])) then
      tree.offence(path, number, "%s: %s", line:match(rule[1]), rule[2])
    end
  end
end

for _, path in ipairs(tree.files("c h inc cc cu cuh lua sh def gp")) do
  local own_c = path:find("%.[ch][cu]?h?$") and not path:find("^tests/")
  for number, line in ipairs(tree.lines(path)) do
    check(everywhere, path, number, line)
    if path:find "%.lua$" then check(terms, path, number, line) end
    if path:find "^models/" then check(in_models, path, number, line) end
    if own_c then check(in_c, path, number, (line:gsub('"[^"]*"', '""'))) end
  end
end
tree.finish()
