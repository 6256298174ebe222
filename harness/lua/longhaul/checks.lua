-- Holds what a script says in a table against the fields that there are.
local core = require "longhaul.core"
local factors = require "longhaul.run.factors"
local fields = require "longhaul.fields"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local option_text = require "longhaul.run.option_text"
local row_notes = require "longhaul.run.row_notes"
local spec = require "longhaul.spec"
local statistics = require "longhaul.report.statistics"
local summary = require "longhaul.report.summary"

local checks = {}

--- Fails with "plot: unknown field 'z'"; `names` are those that are known.
function checks.refuse(owner, what, key, names)
  spec.fail(("%s: unknown %s '%s'%s"):format(owner, what, tostring(key),
    core.did_you_mean(tostring(key), names)))
end

--- Holds a table of a script against `known`, an array as in fields.lua; position 1 is allowed when
--- `first` says so.
function checks.fields(owner, given, known, first)
  if type(given) ~= "table" then spec.fail(owner .. " takes a table, as in { ... }") end
  local types, names = {}, {}
  for i, field in ipairs(known) do
    names[i] = field[1]
    types[field[1]] = field[2]
  end
  for key, value in pairs(given) do
    if not (key == 1 and first) then
      if math.type(key) == "integer" then
        spec.fail(("%s: value %d has no name; fields are %s"):format(owner, key, table.concat(names, ", ")))
      end
      if not types[key] then checks.refuse(owner, "field", key, names) end
      if not types[key]:find(type(value), 1, true) then
        spec.fail(("%s: field '%s' must be a %s, got a %s"):format(owner, key, types[key],
          type(value)))
      end
    end
  end
  for _, field in ipairs(known) do
    if field.needed and given[field[1]] == nil then
      spec.fail(("%s: field '%s' is missing: %s"):format(owner, field[1], field[3]))
    end
  end
end

--- Fails for what is no metric.
function checks.metrics(owner, list)
  for _, name in ipairs(list) do
    local refusal = metrics.refusal(name)
    if refusal then spec.fail(("%s: %s"):format(owner, refusal)) end
  end
end

-- What makes the specs of a row.
local makers = { model = "lh.models.NAME", task = "lh.tasks.NAME", train = "lh.train" }

--- Fails for a row without its specs, or of values that are no numbers of metrics.
function checks.row(row)
  checks.fields("row", row, fields.row, true)
  for _, kind in ipairs(option_text.kinds) do
    if not spec.is(row[kind], kind) then
      spec.fail(("row: field '%s' must be what %s { ... } gives"):format(kind, makers[kind]))
    end
  end
  checks.text("row: field 'dataset'", row.dataset)
  for name, value in pairs(row.values or {}) do
    checks.metrics("row: field 'values'", { name })
    if metrics.from(name) ~= "script" then
      spec.fail(("row: value '%s' is no script's to give: it is what runs come to"):format(name))
    end
    if type(value) ~= "number" or value ~= value then
      spec.fail(("row: value '%s' must be a number"):format(name))
    end
  end
end

local function check_given(what, task, column)
  local never = metrics.never(task, column)
  if never then spec.fail(("row: %s: %s"):format(what, never)) end
end

-- Whether a class has an option, by class and option: asked for each row of a grid, and slow to refuse.
local has_option = {}

-- The value of an option of a spec; nil where it has none of that name.
local function option_of(given, name)
  local key = ("%s %s %s"):format(given.kind, given.name, name)
  if has_option[key] == false then return nil end
  local known, value = pcall(given.option, given, name)
  has_option[key] = known
  if known then return value end
  return nil
end

-- The first of these kinds that has an option of this name and of another value, and that value; nil where one has
-- the factor's, or where none has it.
local function contradiction(row, kinds, name, value)
  local what, other
  for _, kind in ipairs(kinds) do
    local own = option_of(row[kind], name)
    if own == value then return nil end
    if type(own) == type(value) and not what then what, other = kind, own end
  end
  return what, other
end

-- Which specs a factor is held against. What charts take for an option of the model always is one. What a label made
-- of a point says of the task and the training is so; with a label of its own an axis may be called as their options.
local function kinds_of(row, name, value)
  if type(option_of(row.model, name)) == type(value) then return { "model" } end
  return row.is_called_by_point and { "task", "train" } or {}
end

local function check_option(row, name, value)
  local what, other = contradiction(row, kinds_of(row, name, value), name, value)
  if row.is_called_by_point and row.tune and row.tune.axes[name] then what, other = "train", "what lh.tune finds" end
  if not what then return end
  spec.fail(("row \"%s\": factor '%s' is %s, but that of its %s is %s: give it the point's, or call the axis otherwise")
    :format(row.label, name, factors.text(value), what, factors.text(other)))
end

--- Fails for a row whose training options exclude each other, that chooses by what its task never
--- gives, or is to reach that, or whose factors say other than its options.
function checks.training(row)
  local good, message = pcall(core.check_train, row.train.options)
  if not good then spec.fail("row: " .. message) end
  for _, factor in ipairs(row.factors or {}) do check_option(row, factor[1], factor[2]) end
  local best = metrics.column("valid", row.train:option "keep_best")
  if metrics.is_known(best) then check_given("keep_best", row.task.name, best) end
  if row.tune then check_given("tune", row.task.name, row.tune.by) end
  if row.reach then check_given("field 'reach'", row.task.name, row.reach[1]) end
end

--- Fails for what is no list of at least one thing, which would show nothing.
function checks.list(what, list)
  if not lists.is(list, 1) then spec.fail(what .. " is a list of at least one, as in { ... }") end
end

--- Fails for a table without a name in it.
function checks.named(what, given)
  if next(given) == nil then spec.fail(what .. " is empty") end
end

--- Fails for moments that are no finite numbers above zero, and without any.
function checks.moments(options)
  checks.named("best_at", options)
  for name, list in pairs(options) do
    checks.list(("best_at: field '%s'"):format(name), list)
    for _, at in ipairs(list) do
      if type(at) ~= "number" or not (at > 0 and at < math.huge) then
        spec.fail(("best_at: field '%s' has %s, which is no finite number above 0"):format(name, tostring(at)))
      end
    end
  end
end

--- Fails for a number of seeds at which no claim can be decided.
function checks.planned_seeds(count)
  if count and not (math.tointeger(count) and count >= statistics.fewest_seeds) then
    spec.fail(("claim: field 'planned_seeds' is %s, not a whole number of at least %d seeds, of which a claim needs "
      .. "as many"):format(count, statistics.fewest_seeds))
  end
end

local function text_refusal(text)
  if text:find("\0", 1, true) then return "cannot hold a NUL byte" end
  if not text:find "%S" then return "is empty: nothing would tell its rows apart" end
  if not utf8.len(text) then return "is not UTF-8" end
  if text:find "%c" or text:find "\xC2[\x80-\x9F]" then
    return "holds a line end, a tab or another control character: messages and tables show it in one line"
  end
  return nil
end

--- Fails for a text that files, pages and messages cannot show in a line: with control characters, not UTF-8, or of
--- nothing but blanks.
function checks.text(what, text)
  local refusal = type(text) == "string" and text_refusal(text)
  if refusal then spec.fail(("%s %s"):format(what, refusal)) end
end

-- The metrics that a measure is reckoned from: itself, or those that a function asks for.
local function metrics_of(measure)
  if type(measure) == "string" then return { measure } end
  local names = lists.set()
  local function value(name)
    names:add(name)
    return 1
  end
  pcall(measure, value) -- it may have no use for a number that is made up
  return names.list
end

--- Fails for what a fit cannot be of, and for a measure that names no metric, where a slip would show after all
--- training.
function checks.measure(measure)
  if type(measure) ~= "string" and type(measure) ~= "function" then
    spec.fail(("fit: field 'of': a metric or a function, not a %s"):format(type(measure)))
  end
  checks.metrics("fit: field 'of'", metrics_of(measure))
end

local function check_factor(row, options, name, wanted)
  local value = factors.value(row, name)
  if value == nil then
    error(("%s: fit: row \"%s\" has no factor '%s'"):format(options.line, row.label, name), 0)
  elseif wanted and type(value) ~= wanted then
    error(("%s: fit: factor '%s' of row \"%s\" is '%s', no %s"):format(options.line, name, row.label,
      factors.text(value), wanted), 0)
  end
end

-- Groups are told apart by their texts, as a file has them: "2" is 2.
local function check_crossing(rows, options)
  local groups = {}
  for i, row in ipairs(rows) do
    groups[i] = factors.text(factors.value(row, options.group))
    if groups[i] == options.crossing then return end
  end
  error(("%s: fit: field 'crossing': no row has '%s' as its %s%s"):format(options.line, options.crossing,
    options.group, core.did_you_mean(options.crossing, groups)), 0)
end

local function check_measures(rows, options)
  for _, key in ipairs(lists.keys(options.of)) do
    for _, name in ipairs(metrics_of(options.of[key])) do
      local wrong = checks.column_refusal(rows, name)
      if wrong then error(("%s: fit: field 'of': %s"):format(options.line, wrong), 0) end
    end
  end
end

--- Fails at a fit's line unless all rows have its factors, those of `over` as numbers, one is of
--- the group that others are to cross, and one has what it is of.
function checks.fit(rows, options)
  for _, row in ipairs(rows) do
    check_factor(row, options, options.group)
    for _, name in ipairs(options.over) do check_factor(row, options, name, "number") end
  end
  if options.crossing and #rows > 0 then check_crossing(rows, options) end
  check_measures(rows, options)
end

--- Fails for texts of no size; a slip shows only when they are drawn, after all training.
function checks.sample(options)
  checks.fields("sample", options, fields.sample)
  for _, name in ipairs { "count", "context", "length" } do
    if (math.tointeger(options[name]) or 0) < 1 then
      spec.fail(("sample: field '%s' must be a positive integer, got %s"):format(name, options[name]))
    end
  end
  if options.temperature and not (options.temperature >= 0) then
    spec.fail(("sample: field 'temperature' is 0 or more, got %s"):format(options.temperature))
  end
end

-- Qualities are those of the seed that did best on the validation split; all must have been scored
-- there.
local function check_select(options)
  if options.select ~= "best_valid" then
    spec.fail(("table: field 'select' can only be \"best_valid\", not \"%s\""):format(
      options.select))
  end
  for _, name in ipairs(options.columns) do
    if metrics.kind(name) == "quality" and not metrics.twin(name) then
      spec.fail(("table: select = \"best_valid\" cannot choose a seed for '%s', which is not "
        .. "scored on the validation split")
        :format(name))
    end
  end
end

local function check_best(best)
  for name, better in pairs(best) do
    checks.metrics("table: field 'best'", { name })
    if better ~= "min" and better ~= "max" then
      spec.fail(("table: field 'best': '%s' is \"min\" or \"max\", not '%s'"):format(name, tostring(better)))
    end
  end
end

--- Fails for a table of other than metrics, or of what nobody could choose or call the best by.
function checks.table(options)
  checks.fields("table", options, fields.table)
  checks.list("table: field 'columns'", options.columns)
  checks.metrics("table", options.columns)
  if type(options.baseline) == "table" then checks.named("table: field 'baseline'", options.baseline) end
  check_best(options.best or {})
  if options.select then check_select(options) end
end

--- What is wrong with a metric that no row ever has, since its task never scores it or it does not ask for it, said
--- of the first one: it would be empty after all training; nil where a row may have it, or where there is none.
function checks.column_refusal(rows, column)
  local first, alike, reason = rows[1], -1, nil
  for _, row in ipairs(rows) do
    local wrong = metrics.never(row.task.name, column) or metrics.unasked(row, column)
    if not wrong then return nil end
    reason = reason or wrong
    alike = alike + (wrong == reason and 1 or 0)
  end
  if not first then return nil end
  local task = first.task.name
  local scored = metrics.never(task, column) and ("; it scores %s"):format(metrics.given(task)) or ""
  return ("'%s' would stay empty: %s"):format(column, row_notes.text(first, reason .. scored, alike))
end

-- Whether a table shows relative times that can only be measured; a published one may have the paper's.
local function is_relative(options)
  return not options.published and lists.has(options.columns, "relative_step_time")
end

--- Fails at the line of a table of relative step times where no table has a baseline: one without is relative
--- to that of the first which has one.
function checks.baselines(tables)
  local wrong
  for _, options in ipairs(tables) do
    if options.baseline then return end
    wrong = wrong or is_relative(options) and options
  end
  if not wrong then return end
  error(("%s: table: column 'relative_step_time' needs the field 'baseline', the row that it is relative to"):format(
    wrong.line), 0)
end

-- What the rows of an experiment are called, labels and slugs, and of those called `name` the data sets.
local function names_of(owner, name)
  local names, datasets = {}, {}
  for _, row in ipairs(owner.rows) do
    local slug = owner:slug(row)
    names[#names + 1], names[#names + 2] = row.label, slug
    if name == row.label or name == slug then datasets[#datasets + 1] = row.dataset end
  end
  return names, datasets
end

--- The data set of a claim's cell that names none: its row's, where that is on one alone.
function checks.only_dataset(cell)
  local _, datasets = names_of(cell.experiment, cell.row)
  for _, dataset in ipairs(datasets) do
    if dataset ~= datasets[1] then return nil end
  end
  return datasets[1]
end

-- The rows of this label that a claim's cell is of.
local function rows_of_cell(cell, label)
  local rows = {}
  for _, row in ipairs(summary.on_dataset(cell.experiment.rows, cell.dataset)) do
    if row.label == label then rows[#rows + 1] = row end
  end
  return rows
end

--- What is wrong with the row of a claim's cell, `labels` being those that it may mean: it is of several
--- rows, or of one that never has the metric, or, where the experiment is `own`, whose rows are all there, of none;
--- nil where nothing is.
function checks.cell_refusal(own, cell, labels)
  if #labels > 1 then
    return ("row '%s' is the slug of '%s' and of '%s': name one"):format(cell.row, labels[1], labels[2])
  end
  if #labels == 1 then return checks.column_refusal(rows_of_cell(cell, labels[1]), cell.metric) end
  if cell.experiment ~= own then return nil end
  local names, datasets = names_of(own, cell.row)
  if #datasets == 0 then return ("no row is called '%s'%s"):format(cell.row, core.did_you_mean(cell.row, names)) end
  return ("row '%s' is not on data set '%s'%s"):format(cell.row, cell.dataset,
    core.did_you_mean(cell.dataset, datasets))
end

return checks
