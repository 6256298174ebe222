-- Writes harness/lua/meta/longhaul.lua, from which an editor completes scripts, and the table of metrics in docs/lua.md:
--   build/longhaul lua scripts/annotate.lua [check]
-- Functions are described here, options come from the tables of models, tasks and training, metrics from their registry.
-- `check` writes nothing and fails when a file is not what it would write.
local core = require "longhaul.core"
local metrics = require "longhaul.metrics"

local path = "harness/lua/meta/longhaul.lua"
local lines = {}

local function add(text) lines[#lines + 1] = text end

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

-- One line, cut where it would be longer than a source line may be.
local function field(option)
  local head = ("---@field %s? %s"):format(option.name, type_of(option))
  local line = ("%s # %s (default %s)"):format(head, option.meaning, option.default)
  if utf8.len(line) <= 100 then return line end
  if #head > 96 then
    return ("---@field %s? %s"):format(option.name, head:find "|true|" and "boolean|string" or "string")
  end
  return line:sub(1, utf8.offset(line, 97) - 1) .. "..."
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

local head = [[
---@meta longhaul
-- Written by scripts/annotate.lua; an editor with a Lua language server reads it.
]]

local api = [[
---@class longhaul.spec
local spec = {}

---The same spec with some options changed.
---@generic T: longhaul.spec
---@param self T
---@param changes table<string, any>
---@return T
function spec:with(changes) end

---@class longhaul.corpus

---@class longhaul.row
---@field [1] string|table label, or a point of lh.grid
---@field model longhaul.spec
---@field task longhaul.spec
---@field train longhaul.spec
---@field seeds? integer
---@field dataset? string name in tables; default: the corpus' name
---@field label? string for a point
---@field slug? string what the column model says
---@field published_row? string the paper's label for this row
---@field reach? table<string, number> a loss of the curve, for tokens_to_reach: { valid_bits = 2.0 }

---@class longhaul.table
---@field columns longhaul.metric[]
---@field baseline? string|table<string, any>
---@field published? string a file of results/published
---@field datasets? table<string, string> our names to the paper's
---@field best? table<longhaul.metric, "min"|"max">
---@field select? "best_valid" show the seed that did best on the validation split
---@field name? string
---@field title? string

---@class longhaul.plot
---@field [1] "loss"|"lines"|"pareto"|"bars"
---@field x? string|table
---@field y? longhaul.metric|table
---@field group? string a factor or an option of the model
---@field label? string
---@field frontier? boolean
---@field band? string|boolean
---@field title? string
---@field name? string
---@field dataset? string

---@class longhaul.term
---@operator add(longhaul.term|number): longhaul.term
---@operator sub(longhaul.term|number): longhaul.term
---@operator mul(longhaul.term|number): longhaul.term
---@operator div(longhaul.term|number): longhaul.term
---@operator pow(longhaul.term|number): longhaul.term

---@class longhaul.predicate

---@class longhaul.cell
---@field experiment longhaul.experiment whose row it is
---@field row string slug or label
---@field metric longhaul.metric
---@field dataset? string
---@field published? string the paper's table, "brt_table1"
---@field printed_as? longhaul.metric what the paper's number stands for, where that is another metric

---@class longhaul.predicates
local p = {}

---@param text string how verdicts call it
---@param cell longhaul.cell
---@return longhaul.term
function p.cell(text, cell) end

---a < b.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function p.less(a, b) end

---a <= b.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function p.at_most(a, b) end

---a = b.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function p.equal(a, b) end

---low <= a <= high.
---@param low longhaul.term|number
---@param a longhaul.term
---@param high longhaul.term|number
---@return longhaul.predicate
function p.between(low, a, high) end

---Each below the one before it.
---@param terms longhaul.term[]
---@return longhaul.predicate
function p.falling(terms) end

---None above the one before it.
---@param terms longhaul.term[]
---@return longhaul.predicate
function p.not_rising(terms) end

---@param parts longhaul.predicate[]
---@return longhaul.predicate
function p.all(parts) end

---@param parts longhaul.predicate[]
---@return longhaul.predicate
function p.any(parts) end

---@generic T
---@param list T[]
---@param make fun(value: T): longhaul.predicate
---@return longhaul.predicate
function p.each(list, make) end

---@param terms longhaul.term[]
---@return longhaul.term
function p.least(terms) end

---@param terms longhaul.term[]
---@return longhaul.term
function p.greatest(terms) end

---@param terms longhaul.term[]
---@return longhaul.term
function p.mean(terms) end

---@param part longhaul.term
---@return longhaul.term
function p.abs(part) end

---@param part longhaul.term
---@param decimals integer
---@return longhaul.term
function p.rounded(part, decimals) end

---@param part longhaul.term
---@param digits integer
---@return longhaul.term
function p.significant(part, digits) end

---The same under a shorter text.
---@param text string
---@param part longhaul.term
---@return longhaul.term
function p.named(text, part) end

---In how many pairs the first is below the second; with `ties`, or equal.
---@param text string
---@param pairs longhaul.term[][]
---@param ties boolean
---@return longhaul.term
function p.wins(text, pairs, ties) end

---@param cell longhaul.term
---@return boolean
function p.is_printed(cell) end

---@class longhaul.claim
---@field [1] string id
---@field holds longhaul.predicate
---@field direction? longhaul.predicate a weaker form
---@field direction_says? string
---@field untested? string|table why it cannot fail, or { predicate, reason }
---@field of_size? string what is only known at scale paper
---@field scale_changes? string
---@field expected? string
---@field says? string
---@field paper? string
---@field note? string

---@class longhaul.experiment
local experiment = {}

---@param row longhaul.row
---@return longhaul.experiment
function experiment:row(row) end

---@param count integer seeds of rows that do not say so themselves
---@return longhaul.experiment
function experiment:seeds(count) end

---@param options longhaul.table
---@return longhaul.experiment
function experiment:table(options) end

---@param options longhaul.plot
---@return longhaul.experiment
function experiment:plot(options) end

---@param claim longhaul.claim
---@return longhaul.experiment
function experiment:claim(claim) end

---@class longhaul
---@field predicate longhaul.predicates comparisons over the cells of tables, of which claims are made
---@field models longhaul.models
---@field tasks longhaul.tasks
local longhaul = { data = {} }

---@param name string the folder under results/
---@param options? { runs?: string } whose runs it shares
---@return longhaul.experiment
function longhaul.experiment(name, options) end

---@param options longhaul.train
---@return longhaul.spec
function longhaul.train(options) end

---@param options longhaul.text|string
---@return longhaul.corpus
function longhaul.data.text(options) end

---@param options longhaul.series|string
---@return longhaul.series
function longhaul.data.series(options) end

---The first of several corpora that is on this machine; the last one is taken for granted.
---@param names string[]
---@return string
function longhaul.data.first(names) end

---All combinations of ordered axes, the last one fastest.
---@param axes any[][]
---@return fun(): table?
function longhaul.grid(axes) end

---@return "smoke"|"small"|"medium"|"gpu"|"paper"
function longhaul.scale() end

---The value for this scale, or for the nearest smaller one that is named.
---@generic T
---@param choices { smoke?: T, small?: T, medium?: T, gpu?: T, paper?: T }
---@return T
function longhaul.by_scale(choices) end

---Tables of options as one; of values with the same name the last one stands.
---@param ... table
---@return table
function longhaul.merged(...) end

---The value that a Lua file beside the script returns.
---@param name string
---@return any
function longhaul.include(name) end

return longhaul
]]

local function constructors(name, list)
  add("---@class longhaul." .. name)
  for _, entry in ipairs(list) do
    local options = ("longhaul.%s.%s"):format(name, entry.name)
    add(("---@field %s fun(options: %s): longhaul.spec"):format(entry.name, options))
  end
  add("")
end

add(head)
alias("longhaul.metric", metrics.names())
for _, model in ipairs(core.models()) do class("longhaul.models." .. model.name, model.options) end
for _, task in ipairs(core.tasks()) do
  local data = task.name == "forecasting" and "longhaul.series" or "longhaul.corpus"
  class("longhaul.tasks." .. task.name .. ": { [1]: " .. data .. " }", task.options)
end
-- Data take the options of the tasks that read them, after a name.
class("longhaul.text: longhaul.tasks.language_model, { [1]: string }", {})
class("longhaul.series: longhaul.tasks.forecasting, { [1]: string }", {})
class("longhaul.train", core.train_options())
constructors("models", core.models())
constructors("tasks", core.tasks())
add(api)
local annotations = table.concat(lines, "\n"):gsub("\n+$", "\n")

-- ---- the table of metrics ----

local docs = "docs/lua.md"
local first_mark = "<!-- metrics: written by scripts/annotate.lua -->\n"
local last_mark = "<!-- end of metrics -->"

-- The other columns that a line has.
local function columns_of(line)
  local columns = {}
  for _, split in ipairs(line.splits or {}) do
    if split ~= "test" then columns[#columns + 1] = ("`%s`"):format(metrics.column(split, line[1])) end
  end
  if line.grouped then columns[#columns + 1] = ("`%s_<group>` and so on"):format(line[1]) end
  return table.concat(columns, ", ")
end

local function metric_table()
  local rows = { "| metric | what | unit | better | kind | seeds | also |", "|---|---|---|---|---|---|---|" }
  for _, line in ipairs(metrics.lines()) do
    rows[#rows + 1] = ("| `%s` | %s | %s | %s | %s | %s | %s |"):format(line[1], line.says, line.unit or "",
      line.better or "", line.kind, line.pooled, columns_of(line))
  end
  return table.concat(rows, "\n") .. "\n"
end

local function with_metrics(text)
  local _, from = text:find(first_mark, 1, true)
  local to = from and text:find(last_mark, from, true)
  if not to then error(docs .. ": the marks of the table of metrics are not there", 0) end
  return text:sub(1, from) .. metric_table() .. text:sub(to)
end

-- ---- both ----

local stale = 0
for _, file in ipairs { { path, annotations }, { docs, with_metrics(core.read_file(docs)) } } do
  local fresh = core.exists(file[1]) and core.read_file(file[1]) == file[2]
  if ... ~= "check" then
    core.write_file(file[1], file[2])
  elseif not fresh then
    print(file[1] .. " is stale: build/longhaul lua scripts/annotate.lua")
    stale = 1
  end
end
return stale
