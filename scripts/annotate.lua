-- Writes harness/lua/meta/, from which an editor completes scripts, and the tables of calls,
-- fields, options of tasks and training, metrics and kinds of charts in docs/lua.md:
--   build/longhaul lua scripts/annotate.lua [check]
-- Functions are described where they stand, fields of rows and the like in fields.lua, options in
-- the tables of models, tasks and training, metrics and kinds of charts in their registries:
-- nothing is described twice. `check` writes nothing and fails when a file is not what it would
-- write.
local core = require "longhaul.core"
local fields = require "longhaul.fields"
local kinds = require "longhaul.report.kinds"
local metrics = require "longhaul.run.metrics"
local option_text = require "longhaul.run.option_text"

local described = { "row", "tune", "match", "table", "fit", "best_at", "sample", "claim", "cell" }
local annotations, lines = {}, nil

local function add(text) lines[#lines + 1] = text end

local head = [[
---@meta %s
-- Written by scripts/annotate.lua; an editor with a Lua language server reads it.
]]

-- The file of annotations that `write` adds the lines of. Scripts can require `module` alone.
local function annotate(name, module, write)
  lines = { head:format(module) }
  write()
  local text = table.concat(lines, "\n"):gsub("\n+$", "") .. "\n"
  annotations[#annotations + 1] = { ("harness/lua/meta/%s.lua"):format(name), text }
end

local types = { integer = "integer", real = "number", flag = "boolean", text = "string" }

local function type_of(option)
  if option.type == "list" then return "integer[]|string" end
  if option.type ~= "choice" then return types[option.type] end
  local quoted = {}
  for i, choice in ipairs(option.choices) do
    local flag = choice == "true" or choice == "false"
    quoted[i] = flag and choice or ("%q"):format(choice)
  end
  return table.concat(quoted, "|")
end

local function field(option)
  return ("---@field %s? %s # %s (default %s)"):format(option.name, type_of(option), option.meaning,
    option.default)
end

local function class(name, options)
  add("---@class " .. name)
  for _, option in ipairs(options) do add(field(option)) end
  add("")
end

local function alias(name, values)
  add("---@alias " .. name)
  for _, value in ipairs(values) do add(("---| %q"):format(value)) end
  add("")
end

-- ---- what functions say of themselves ----

-- Where the functions stand that scripts call, and what scripts call their owners.
local sources = {
  { "harness/lua/longhaul/spec.lua", Spec = "spec" },
  { "harness/report/term.lua", term = "p" },
  { "harness/report/predicate.lua", predicate = "p" },
  { "harness/lua/longhaul/experiment.lua", Experiment = "bench" },
  { "harness/lua/longhaul/init.lua", longhaul = "lh" },
}

-- The functions of a source whose comments have types, in order: { says = { text ... }, types = {
-- line ... }, call }. Others are for the library alone.
local function functions_of(source)
  local list, says, types = {}, {}, {}
  for line in core.read_file(source[1]):gmatch "([^\n]*)\n" do
    local text, owner, rest = line:match "^%-%-%- ?(.*)$",
      line:match "^function ([%a]+)([.:][%w_.]+%b())"
    if text and text:sub(1, 1) == "@" then
      types[#types + 1] = line
    elseif text then
      says[#says + 1] = text
    else
      local called = source[owner or ""]
      if called and #types > 0 then
        list[#list + 1] = { says = says, types = types, call = called .. rest }
      end
      says, types = {}, {}
    end
  end
  return list
end

local calls = {}
for _, source in ipairs(sources) do
  local found = functions_of(source)
  table.move(found, 1, #found, #calls + 1, calls)
end

-- The classes that have functions, under the names that scripts give them, and those without any.
local owners = {
  { "spec", "longhaul.spec" }, { "p", "longhaul.predicates" }, { "bench", "longhaul.experiment" },
  { "lh", "longhaul", extra = {
    "---@field predicate longhaul.predicates comparisons over the cells of tables, of which claims are made",
    "---@field models longhaul.models", "---@field tasks longhaul.tasks",
  }, value = "{ data = {} }" },
}

local opaque = [[
---@class longhaul.corpus

---@class longhaul.term
---@operator add(longhaul.term|number): longhaul.term
---@operator sub(longhaul.term|number): longhaul.term
---@operator mul(longhaul.term|number): longhaul.term
---@operator div(longhaul.term|number): longhaul.term
---@operator pow(longhaul.term|number): longhaul.term

---@class longhaul.predicate
]]

local function owner_class(owner)
  add("---@class " .. owner[2])
  for _, line in ipairs(owner.extra or {}) do add(line) end
  add(("local %s = %s\n"):format(owner[1], owner.value or "{}"))
  for _, call in ipairs(calls) do
    if call.call:match "^%a+" == owner[1] then
      for _, text in ipairs(call.says) do add("---" .. text) end
      for _, line in ipairs(call.types) do add(line) end
      add(("function %s end\n"):format(call.call))
    end
  end
end

-- What stands behind the meaning of a field that has a default.
local function default_text(field) return field.default and (" (default: %s)"):format(field.default) or "" end

-- What rows, tables and the like may say.
local function field_class(name)
  local known = fields[name]
  add("---@class longhaul." .. name)
  if known.first then add(("---@field [1] %s %s"):format(known.first[1], known.first[2])) end
  for _, field in ipairs(known) do
    add(("---@field %s%s %s %s%s"):format(field[1], field.needed and "" or "?", field[4]
      or field[2]:gsub(" or ", "|"), field[3], default_text(field)))
  end
  add("")
end


local function constructors(name, list)
  add("---@class longhaul." .. name)
  for _, entry in ipairs(list) do
    local options = ("longhaul.%s.%s"):format(name, entry.name)
    add(("---@field %s fun(options: %s): longhaul.spec"):format(entry.name, options))
  end
  add("")
end

-- The fields of all kinds of charts, each once, with what the first kind says that has it.
local function plot_class()
  local seen = {}
  add("---@class longhaul.plot")
  add(('---@field [1] "%s"'):format(table.concat(kinds.names(), '"|"')))
  for _, name in ipairs(kinds.names()) do
    for _, entry in ipairs(kinds.fields(kinds.find(name))) do
      if not seen[entry[1]] then
        add(("---@field %s? %s %s%s"):format(entry[1], entry[2]:gsub(" or ", "|"), entry[3], default_text(entry)))
      end
      seen[entry[1]] = true
    end
  end
  add("")
end

annotate("models", "_", function()
  for _, model in ipairs(core.models()) do class("longhaul.models." .. model.name, model.options) end
  constructors("models", core.models())
end)
annotate("tasks", "_", function()
  for _, task in ipairs(core.tasks()) do
    local data = task.name == "forecasting" and "longhaul.series"
      or task.name:find "^scripted_" and "string" or "longhaul.corpus"
    class("longhaul.tasks." .. task.name .. ": { [1]: " .. data .. " }", task.options)
  end
  constructors("tasks", core.tasks())
end)
-- Data take the options of the tasks that read them, after a name.
annotate("rows", "_", function()
  class("longhaul.text: longhaul.tasks.language_model, { [1]: string }", {})
  class("longhaul.series: longhaul.tasks.forecasting, { [1]: string }", {})
  class("longhaul.train", core.train_options())
  alias("longhaul.metric", metrics.names())
  plot_class()
  for _, name in ipairs(described) do field_class(name) end
end)
annotate("longhaul", "longhaul", function()
  add(opaque)
  for _, owner in ipairs(owners) do owner_class(owner) end
  add "return lh"
end)

-- ---- tables in the documentation ----

local docs = "docs/lua.md"

-- The tasks that have a section of their own there.
local has_section = { language_model = true, forecasting = true, imagenet64 = true, translation = true,
  scripted_tokens = true }

-- The other columns that a line has.
local function columns_of(line)
  local columns = {}
  for _, split in ipairs(line.splits or {}) do
    if split ~= "test" then
      columns[#columns + 1] = ("`%s`"):format(metrics.column(split, line[1]))
    end
  end
  if line.grouped then columns[#columns + 1] = ("`%s_<group>` and so on"):format(line[1]) end
  return table.concat(columns, ", ")
end

local function metric_table()
  local rows = { "| metric | what | unit | better | kind | seeds | also |",
    "|---|---|---|---|---|---|---|" }
  for _, line in ipairs(metrics.lines()) do
    if metrics.is_column(line) then
      local says = line.says .. (line.from == "script" and "; where a script's `values` give it" or "")
      rows[#rows + 1] = ("| `%s` | %s | %s | %s | %s | %s | %s |"):format(line[1], says, line.unit or "",
        line.better or "", line.kind, line.pooled, columns_of(line))
    end
  end
  return table.concat(rows, "\n") .. "\n"
end

-- A cell of a Markdown table.
local function cell(text) return (text:gsub("|", "\\|")) end

-- What a value of a field is, to a reader: Lua's types, but that a count is whole.
local function type_text(field) return field[4] == "integer" and "integer" or field[2] end

-- The cells of a field: name, type, default and meaning.
local function field_cells(field)
  return ("| `%s` | %s | %s | %s |"):format(field[1], type_text(field),
    field.needed and "needed" or field.default or "", cell(field[3]))
end

-- The kinds, then the fields of each; those of all kinds first.
local function kind_table()
  local shown, rows = { "| kind | shows |", "|---|---|" },
    { "| kind | field | type | default | meaning |", "|---|---|---|---|---|" }
  for _, field in ipairs(kinds.shared) do rows[#rows + 1] = "| all " .. field_cells(field) end
  for _, name in ipairs(kinds.names()) do
    local kind = kinds.find(name)
    shown[#shown + 1] = ('| `"%s"` | %s |'):format(name, kind.says)
    for _, field in ipairs(kind.fields) do rows[#rows + 1] = ('| `"%s"` %s'):format(name, field_cells(field)) end
  end
  return table.concat(shown, "\n") .. "\n\n" .. table.concat(rows, "\n") .. "\n"
end

local function call_table()
  local rows = { "| call | gives |", "|---|---|" }
  for _, call in ipairs(calls) do
    rows[#rows + 1] = ("| `%s` | %s |"):format(call.call, cell(table.concat(call.says, " ")))
  end
  return table.concat(rows, "\n") .. "\n"
end

local function field_table(name)
  local rows = { "| field | type | default | meaning |", "|---|---|---|---|" }
  local first = fields[name].first
  if first then
    rows[#rows + 1] = ("| first | %s | needed | %s |"):format(first[1]:gsub("|", " or "):gsub("longhaul%.spec",
      "table"), first[2])
  end
  for _, field in ipairs(fields[name]) do rows[#rows + 1] = field_cells(field) end
  return table.concat(rows, "\n") .. "\n"
end

local function option_table(options)
  local rows = { "| option | what | default | values |", "|---|---|---|---|" }
  for _, option in ipairs(options) do
    rows[#rows + 1] = ("| `%s` | %s | %s | %s |"):format(option.name, cell(option.meaning),
      option.default, cell(option_text.range(option)))
  end
  return table.concat(rows, "\n") .. "\n"
end

-- A text with the table of `what` between its marks.
local function with_table(text, what, written)
  local _, from = text:find(("<!-- %s: written by scripts/annotate.lua -->\n"):format(what), 1,
    true)
  local to = from and text:find(("<!-- end of %s -->"):format(what), from, true)
  if not to then error(("%s: the marks of the table of %s are not there"):format(docs, what), 0) end
  return text:sub(1, from) .. written .. text:sub(to)
end

-- ---- both ----

local documented = with_table(core.read_file(docs), "metrics", metric_table())
documented = with_table(documented, "kinds of charts", kind_table())
documented = with_table(documented, "calls", call_table())
documented = with_table(documented, "options of training", option_table(core.train_options()))
for _, task in ipairs(core.tasks()) do
  if has_section[task.name] then
    documented = with_table(documented, "options of " .. task.name, option_table(task.options))
  end
end
for _, name in ipairs(described) do
  documented = with_table(documented, "fields of a " .. name, field_table(name))
end

local word = ...
if word and word ~= "check" then error(("annotate.lua takes `check` or nothing, not '%s'"):format(word), 0) end
local stale = 0
annotations[#annotations + 1] = { docs, documented }
for _, file in ipairs(annotations) do
  local fresh = core.exists(file[1]) and core.read_file(file[1]) == file[2]
  if not word then
    core.write_file(file[1], file[2])
  elseif not fresh then
    print(file[1] .. " is stale: build/longhaul lua scripts/annotate.lua")
    stale = 1
  end
end
return stale
