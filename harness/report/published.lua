-- The papers' own numbers: results/published/*.csv, keyed the way our results are. What is special
-- about a paper stands with its experiments, in experiments/<paper>/published.lua.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local factors = require "longhaul.run.factors"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local place = require "longhaul.report.place"

local published = {}

-- The papers' names of what we measure, with the factor to our unit.
local aliases = {
  params_millions = { "parameters", 1e6 },
  batch_time_ms = { "step_time_ms", 1 },
  bpc = { "bits_per_byte", 1 },
  BLEU = { "bleu", 1 },
  params = { "layout_parameters", 1 },
}

-- Our metric and the factor to our unit, where a paper's own rules do not say.
local function ours(record)
  if record.unit == "valid" then return "valid_" .. record.metric, 1 end
  if record.metric == "accuracy" and record.unit == "percent" then return "accuracy", 0.01 end
  if record.metric == "perplexity" and record.unit == "word-level" then
    return "word_perplexity", 1
  end
  local alias = aliases[record.metric] or { record.metric, 1 }
  return alias[1], alias[2]
end

-- What rules may use beside the methods of strings: they tell names from names.
local pure = { ipairs = ipairs, pairs = pairs, tonumber = tonumber, tostring = tostring }

local function no_rules() return {} end

local rules = {}

-- The rules of a paper, experiments/<paper>/published.lua where there is one: a function from a
-- printed number to what is called otherwise here, { row =, model =, dataset =, metric = }, each
-- nil where it has its printed name.
local function rules_of(paper)
  if not rules[paper] then
    local path = paper:match "^[%w_]+$"
      and place.find(("experiments/%s/published.lua"):format(paper))
    rules[paper] = path and assert(loadfile(path, "t", pure))() or no_rules
  end
  return rules[paper]
end

-- A printed number as it is called here: row, model, dataset, metric, and the factor to our unit.
local function translated(record)
  local changes = rules_of(record.paper)(record)
  local metric, factor = changes.metric, 1
  if not metric then metric, factor = ours(record) end
  return {
    row = changes.row or record.row, model = changes.model or record.model,
    dataset = changes.dataset or record.dataset,
    metric = metric, factor = factor, value = tonumber(record.value), spread = tonumber(record.std),
  }
end

-- The names of the papers' tables: a paper's, "_table" and a number.
local function table_names()
  local names = {}
  for _, file in ipairs(core.list_folder(place.find "results/published" or "")) do
    names[#names + 1] = file:match "^(.*_table%w+)%.csv$"
  end
  return names
end

local function read(name)
  local file = name:match("%.csv$") and name or name .. ".csv"
  local path = place.find("results/published/" .. file)
  if not path then
    error(("no published values '%s': results/published/%s is not beside the program%s"):format(
      name, file, core.did_you_mean(name, table_names())), 0)
  end
  return csv.read(path)
end

-- The best of several evaluations stands beside what the paper prints of that metric.
local function printed(metric) return (metric:gsub("^best_", "")) end

-- What a printed row is called here: its label or, once another row has that, its slug.
local function name_of(made, entry)
  return made.slug[entry.row] and entry.model or entry.row
end

--- The lines of a published table, "paper_table1", as records.
function published.records(name) return (read(name)) end

local tables = {}

--- The numbers of one published table, "paper_table1": an object with `rows` (names in printed
--- order), `slug[label]`, and `value(label, metric, dataset)`. A row goes by its label or, where
--- several rows share one, by its slug. `spread(...)` is the standard deviation that stands beside
--- a value, or nil. `printed(...)` is the number as it is printed, and the factor that makes it
--- ours.
function published.table(name)
  tables[name] = tables[name] or published.of(published.records(name))
  return tables[name]
end

-- Enters a number under the label of its row and under its slug; the first of several under one
-- name stays.
local function enter(made, entry)
  if not made.slug[entry.model] then made.rows[#made.rows + 1] = name_of(made, entry) end
  for _, name in ipairs { entry.row, entry.model } do
    made.slug[name] = made.slug[name] or entry.model
    local key = table.concat({ name, entry.metric, entry.dataset }, "\n")
    made.values[key] = made.values[key] or entry.value * entry.factor
    made.prints_as[key] = made.prints_as[key] or { entry.value, entry.factor }
    made.spreads[key] = made.spreads[key] or entry.spread and entry.spread * entry.factor
  end
  made.datasets[entry.dataset] = true
  made.metrics[entry.metric .. "\n" .. entry.dataset] = true
end

--- The same of records of such a table.
function published.of(records)
  local made = { rows = {}, slug = {}, values = {}, prints_as = {}, spreads = {}, datasets = {},
    metrics = {} }
  for _, record in ipairs(records) do
    local entry = translated(record)
    if entry.value and entry.model ~= "" then enter(made, entry) end
  end
  local function key_of(label, metric, dataset)
    return table.concat({ label, printed(metric), dataset or "" }, "\n")
  end
  function made.value(...) return made.values[key_of(...)] end
  function made.printed(...) return table.unpack(made.prints_as[key_of(...)] or {}) end
  function made.spread(...) return made.spreads[key_of(...)] end
  --- Whether the paper prints this metric for this dataset at all.
  function made.prints(metric, dataset)
    return made.metrics[printed(metric) .. "\n" .. dataset] == true
  end
  return made
end

--- What a published table calls a row of the script: its slug, where the table has it, else its
--- label.
function published.row_name(paper, row)
  return row.slug and paper.slug[row.slug] and row.slug or row.published_row or row.label
end

-- ---- whether a table of a script stands beside the published one ----

-- Fails unless one of `names` is in `set`; `field` is "table" or "fit"; says which of the set is
-- nearest to one of them.
local function need_one(options, field, what, names, set)
  local known = lists.keys(set)
  for _, name in ipairs(names) do
    if set[name] then return end
  end
  for _, name in ipairs(names) do
    local meant = core.nearest_name(name, known)
    if meant then
      error(("%s: %s: no %s is in the published table '%s': '%s' (did you mean '%s'?)"):format(
        options.line, field,
        what,
        options.published, name, meant), 0)
    end
  end
  error(("%s: %s: no %s is in the published table '%s', which has: %s"):format(options.line, field,
    what,
    options.published, table.concat(known, ", ", 1, math.min(#known, 12))), 0)
end

--- Fails at the line of a table of an experiment whose `published` matches none of its rows or none
--- of its datasets, or lacks one that `datasets` maps to; those mapped to "" are known not to be there.
function published.check(experiment, options)
  local good, paper = pcall(published.table, options.published)
  if not good then error(("%s: table: %s"):format(options.line, paper), 0) end
  local rows, datasets, by_dataset = {}, {}, false
  for i, row in ipairs(experiment.rows) do
    rows[i] = published.row_name(paper, row)
    local name = (options.datasets or {})[row.dataset] or row.dataset
    if name ~= "" then datasets[#datasets + 1] = name end
  end
  for _, metric in ipairs(options.columns) do
    by_dataset = by_dataset or not metrics.is_shared(metric)
  end
  if #rows == 0 then return end
  need_one(options, "table", "row", rows, paper.slug)
  local named = {}
  for name in pairs(paper.datasets) do
    if name ~= "" then named[name] = true end
  end
  if by_dataset and #datasets > 0 and next(named) then
    need_one(options, "table", "data set", datasets, named)
  end
  for _, ours in ipairs(lists.keys(options.datasets or {})) do
    local theirs = options.datasets[ours]
    if theirs ~= "" then need_one(options, "table", "data set", { theirs }, named) end
  end
end

--- The formulas of a complexity table: by row label, then by what grows ("time", "memory").
function published.formulas(name)
  local by_row = {}
  for _, record in ipairs(read(name)) do
    local measure = record.unit == "formula" and record.metric:match "^(%w+)_complexity$"
    if measure then
      by_row[record.row] = by_row[record.row] or {}
      by_row[record.row][measure] = record.value
    end
  end
  return by_row
end

--- Fails at the line of a fit of an experiment whose `published` has a formula for none of its
--- groups or none of what is fitted.
function published.check_fit(experiment, options)
  local good, formulas = pcall(published.formulas, options.published)
  if not good then error(("%s: fit: %s"):format(options.line, formulas), 0) end
  local groups, fitted, measures = {}, {}, {}
  for _, row in ipairs(experiment.rows) do
    for _, factor in ipairs(row.factors or {}) do
      if factor[1] == options.group then groups[#groups + 1] = factors.text(factor[2]) end
    end
  end
  for name in pairs(options.of) do fitted[#fitted + 1] = name end
  for _, by_measure in pairs(formulas) do
    for name in pairs(by_measure) do measures[name] = true end
  end
  if #groups == 0 then return end
  need_one(options, "fit", "group", groups, formulas)
  need_one(options, "fit", "measure", fitted, measures)
end

-- The published predicates by id, once read.
local predicates

--- The predicates that the papers' claims come down to, by id: records of published/predicates.csv.
function published.predicates()
  if not predicates then
    predicates = {}
    for _, record in ipairs((read "predicates")) do predicates[record.claim_id] = record end
  end
  return predicates
end

--- The claims of a paper by id: records of published/<paper>_prose.csv.
function published.claims(paper)
  local by_id = {}
  if not place.find(("results/published/%s_prose.csv"):format(paper)) then return by_id end
  for _, record in ipairs((read(paper .. "_prose"))) do by_id[record.claim_id] = record end
  return by_id
end

return published
