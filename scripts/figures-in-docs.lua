-- Figures in the documents come from the committed tables:
--
--   longhaul lua scripts/figures-in-docs.lua          compares; names file and line of what differs
--   longhaul lua scripts/figures-in-docs.lua write    puts the figures of the tables in
--   longhaul lua scripts/figures-in-docs.lua [write] docs/findings.md ...    in these pages alone
--
-- A number in a text:
--   <!-- value: %.2f mean("amd-epyc-2-cores/table1", "XL:512", "bits_per_token", "arxiv") -->2.34
-- A part of a page:
--   <!-- begin generated: EXPRESSION --> ... <!-- end generated -->
-- What a sentence or a heading says in words, behind it; a predicate, as claims are:
--   <!-- holds: lowest(column("amd-epyc-2-cores/table1/table.csv", { metric = "mse" }, "mean"), { "LSTM" }) -->
-- A name for what several of a page's conditions speak of, above them:
--   <!-- let: errors = column("amd-epyc-2-cores/table1/table.csv", { metric = "mse" }, "mean") -->
-- An expression is Lua over the functions of scripts/known-figures.lua and, of `holds`,
-- scripts/known-sentences.lua; paths are from results/reference/.
local core = require "longhaul.core"

local root = "results/reference/"
local known = assert(loadfile "scripts/known-figures.lua")(root)

-- ---- documents ----

local function evaluate(expression, names)
  local chunk, message = load("return " .. expression, "=" .. expression, "t", names or known)
  if not chunk then error(message, 0) end
  return chunk()
end

local function lines_before(text, at) return select(2, text:sub(1, at):gsub("\n", "")) end

-- How often a mark stands in a text.
local function count_of(text, mark) return select(2, text:gsub(mark:gsub("%-", "%%-"), "")) end

-- Puts `make(expression, format)` where the marks say; calls `differs(line, old, new)` where that
-- is another text.
local function renew(text, make, differs)
  local found = 0
  local function put(at, old, new)
    found = found + 1
    if old ~= new then differs(lines_before(text, at) + 1, old, new) end
    return new
  end
  local mark = "()(<!%-%- value: (%S+) ([^\n]-) %-%->)([-+]?%d[%d.]*)"
  local made = text:gsub(mark, function(at, head, format, expression, old)
    local stop = old:match "%.$" or ""
    return head .. put(at, old:gsub("%.$", ""), make(expression, format)) .. stop
  end)
  text = made
  local part = "()(<!%-%- begin generated: ([^\n]-) %-%->\n)(.-)(<!%-%- end generated %-%->)"
  made = made:gsub(part, function(at, head, expression, old, tail)
    return head .. put(at, old, make(expression) .. "\n") .. tail
  end)
  if found ~= count_of(made, "<!-- value:") + count_of(made, "<!-- begin generated:") then
    error("a mark is not closed, or no number follows it", 0)
  end
  return made
end

-- Calls `refuse(line, why)` for every condition that does not hold, or is none.
local function judge(text, refuse)
  local found, named = 0, setmetatable({}, { __index = known })
  local marks = {
    holds = function(expression) return known.refusal(evaluate(expression, named)) end,
    let = function(line)
      local name, expression = line:match "^([%a_][%w_]*) = (.*)$"
      named[name or error("a name is given as `let: NAME = EXPRESSION`", 0)] = evaluate(expression, named)
    end,
  }
  for at, kind, expression in text:gmatch "()<!%-%- (%l+): ([^\n]-) %-%->" do
    if marks[kind] then
      found = found + 1
      local good, why = pcall(marks[kind], expression)
      if why then refuse(lines_before(text, at) + 1, good and "this does not hold: " .. why or why) end
    end
  end
  if found ~= count_of(text, "<!-- holds:") + count_of(text, "<!-- let:") then
    refuse(1, "a condition is not closed on its line")
  end
end

-- Figures that stand in a text by hand: lines and numbers with a decimal point, code and addresses
-- left out.
local function by_hand(text)
  local list = {}
  local function blank(part) return (part:gsub("[^\n]", " ")) end
  text = text:gsub("<!%-%- begin generated:.-<!%-%- end generated %-%->",
    blank):gsub("<!%-%- value: [^\n]- %-%->[-+]?%d[%d.]*",
    blank):gsub("<!%-%- %l+: [^\n]- %-%->", blank)
  text = text:gsub("```.-```", blank):gsub("`[^`\n]*`", blank):gsub("%]%([^)\n]*%)",
    blank):gsub("Lua 5%.4", blank):gsub("[Ss]ections? %d+%.%d+", blank)
  for at, number in text:gmatch "()(%d+%.%d+)" do
    list[#list + 1] = { lines_before(text, at) + 1, number }
  end
  return list
end

-- ---- all documents ----

local function documents()
  local list = { "README.md" }
  for _, name in ipairs(core.list_folder "docs") do
    if name:match "%.md$" then list[#list + 1] = "docs/" .. name end
  end
  list[#list + 1] = root .. "README.md"
  for _, name in ipairs(core.list_folder(root:sub(1, -2))) do
    if core.is_folder(root .. name) then list[#list + 1] = root .. name .. "/README.md" end
  end
  return list
end

-- Where every figure must come from a table.
local strict = { ["README.md"] = true, ["docs/findings.md"] = true }

local function short(text) return #text < 60 and text or "this part of the page" end

local function check(path, write)
  local offences = {}
  local function say(line, ...)
    offences[#offences + 1] = ("%s:%d: %s"):format(path, line, (...):format(select(2, ...)))
  end
  local text = core.exists(path) and core.read_file(path) or ""
  if text == "" then say(1, "there is no such page") end
  local good, made = pcall(renew, text, function(expression, format)
    local value = evaluate(expression)
    return format and format:format(value) or value
  end, function(line, old, new) say(line, "%s is not what the tables say: %s", short(old),
    short(new)) end)
  if not good then
    say(1, "%s", made)
  elseif write and made ~= text then
    core.write_file(path, made)
    offences = {}
  end
  judge(text, function(line, why) say(line, "%s", why) end)
  for _, figure in ipairs(strict[path] and by_hand(text) or {}) do
    say(figure[1], "%s stands there by hand; mark where it comes from", figure[2])
  end
  return offences
end

-- Drawings among the reference runs are those that a document shows.
local function idle_drawings()
  local shown, offences = {}, {}
  for _, path in ipairs(documents()) do
    local text = core.exists(path) and core.read_file(path) or ""
    for address in text:gmatch "!%[[^%]\n]*%]%(([^)\n]+)%)" do
      local file = (path:match "^.*/" or "") .. address
      shown[file:gsub("[^/]+/%.%./", "")] = true
      if not core.exists(file) then
        offences[#offences + 1] = ("%s: there is no %s"):format(path, address)
      end
    end
  end
  local function walk(folder)
    for _, name in ipairs(core.list_folder(folder)) do
      local path = folder .. "/" .. name
      if core.is_folder(path) then walk(path) end
      if path:find "%.[sp][vn]g$" and not shown[path] then
        offences[#offences + 1] = path .. ": no document shows it; make figures draws it"
      end
    end
  end
  walk(root:sub(1, -2))
  return offences
end

local function print_all(list)
  for _, offence in ipairs(list) do print(offence) end
  return #list
end

local pages, bad = { ... }, 0
local write = pages[1] == "write"
if write then table.remove(pages, 1) end
for _, path in ipairs(#pages > 0 and pages or documents()) do bad = bad + print_all(check(path, write)) end
if #pages == 0 then bad = bad + print_all(idle_drawings()) end
if bad == 0 then print "figures in documents: as the tables say" end
return bad > 0 and 1 or 0
