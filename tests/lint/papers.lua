-- What is known of a paper stands with its experiments: no paper's name in the harness, the
-- Makefile or the scripts. Many papers share their short name with a model, which may be named;
-- then tables, figures and claims of it may not, nor a line that speaks of papers.
local tree = dofile "tests/lint/tree.lua"

-- "brt,Block-Recurrent Transformers,Hutchins et al.,2022": short names, and titles without what
-- follows a colon.
local function papers()
  local list = {}
  for i, line in ipairs(tree.lines "results/published/papers.csv") do
    local name, title = line:match "^([^,]+),([^,:]+)"
    if i > 1 then list[#list + 1] = { name = name, title = title:lower():gsub("s$", "") } end
  end
  return list
end

-- The names of all models, from their descriptors.
local function models()
  local names = {}
  for _, path in ipairs(tree.files("c", "models")) do
    for _, line in ipairs(tree.lines(path)) do
      local name = line:match '%.name = "([%w_]+)"'
      if name then names[name] = true end
    end
  end
  return names
end

local function pattern_of(text) return (text:gsub("%p", "%%%0")) end

-- What in a line names a paper, or nil.
local function named(line, paper)
  local word = "%f[%w_]" .. pattern_of(paper.name)
  local lower = line:lower()
  if lower:find(paper.title, 1, true) and paper.title ~= paper.name then return paper.title end
  if not paper.model then return line:match(word .. "%f[^%w_]") end
  for _, form in ipairs { "[-_]table%w*", "[-_]figure%w*", "[-_]prose", "_p%d+" } do
    if line:find(word .. form) then return line:match(word .. form) end
  end
  if lower:find("papers?%f[%W]") or line:find "experiments/" then
    return line:match(word .. "%f[^%w_]")
  end
end

local known, is_model = papers(), models()
for _, paper in ipairs(known) do paper.model = is_model[paper.name] end
local files = tree.files("c h lua sh py", "harness scripts")
files[#files + 1] = "Makefile"
for _, path in ipairs(files) do
  for number, line in ipairs(tree.lines(path)) do
    for _, paper in ipairs(known) do
      local word = named(line, paper)
      if word then
        tree.offence(path, number,
          "'%s' is a paper: what is special about it belongs into experiments/%s/", word,
          paper.name)
      end
    end
  end
end
tree.finish()
