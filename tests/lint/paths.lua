-- What documents name must be there: every `path/of/the/tree` in README.md and docs/*.md.
local tree = dofile "tests/lint/tree.lua"

local roots = {}
for root in (tree.roots .. " docs results"):gmatch "%S+" do roots[root] = true end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

-- A path of the tree without placeholders: NAME, <name>, *, {a,b}, ... stand for others.
local function is_path(text)
  return roots[text:match "^([%w_]+)/"] and not text:find "[*<>{}%s]" and not text:find "%u%u"
    and not text:find("...", 1, true)
end

-- results/ is what runs write, but for what is committed.
local function is_committed(text)
  return not text:find "^results/" or text:find "^results/published"
    or text:find "^results/reference"
end

for _, path in ipairs(tree.files("md", "README.md CHANGELOG.md docs")) do
  for number, line in ipairs(tree.lines(path)) do
    for text in line:gmatch "`([^`]+)`" do
      local name = text:gsub(":%d+$", "")
      if is_path(name) and is_committed(name) and not exists(name) then
        tree.offence(path, number, "there is no %s", name)
      end
    end
  end
end
tree.finish()
