-- What luacheck holds every Lua file of the tree to; `make lint` runs it.
std = "lua54"
max_string_line_length = false -- scripts inside of scripts
max_line_length = 120 -- code keeps to 100; a sentence in quotes may need more
ignore = {
  "211/lock", -- a lock is held by being there: local lock <close>
  "212/self", -- methods of one shape
  "431", -- a local of a function may have the name of a module that it does not use
  "581", -- not (a < b) is what holds for numbers that are no numbers
}
exclude_files = { "harness/lua/meta", "build" }
-- Tables of texts.
for _, list in ipairs { "tests/mutants/list", "datasets/sources.lua", "harness/lua/longhaul/skeletons" } do
  files[list] = { max_line_length = false }
end
-- Tests listen to what is printed.
files["tests/lua"] = { globals = { "print", "io" } }
