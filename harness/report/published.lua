-- The papers' own numbers: results/published/*.csv, keyed the way our results are.
local core = require "longhaul.core"
local csv = require "longhaul.csv"
local metrics = require "longhaul.metrics"
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

-- Yoshida et al. divide the loss by words, and count FLOPs as Kaplan et al. 2020 do.
local function of_gpt2_recurrent(record)
  if record.metric == "flops_per_token" then return "kaplan_flops_per_token", 1 end
  if record.metric ~= "perplexity" then return record.metric, 1 end
  return record.unit == "validation" and "valid_word_perplexity" or "word_perplexity", 1
end

-- Our metric and the factor to our unit.
local function ours(record)
  -- Huang et al. score strings in two bins by length.
  local bin = record.metric == "accuracy" and record.note:match "^bin=(%d)"
  if bin then return "accuracy_bin" .. bin, 1 end
  if record.paper == "gpt2_recurrent" then return of_gpt2_recurrent(record) end
  if record.unit == "valid" then return "valid_" .. record.metric, 1 end
  if record.metric == "accuracy" and record.unit == "percent" then return "accuracy", 0.01 end
  if record.metric == "perplexity" and record.unit == "word-level" then
    return "word_perplexity", 1
  end
  local alias = aliases[record.metric]
  if alias then return alias[1], alias[2] end
  return record.metric, 1
end

-- RSA's tables of time series have a dataset at several horizons: "ETTh1 24" is what a row is on.
local function dataset_of(record)
  local horizon = record.paper == "rsa" and (record.note or ""):match "^horizon=(%d+)"
  return horizon and record.dataset .. " " .. horizon or record.dataset
end

-- Table 2 of Kitaev et al. 2020 has a column for each attention that is evaluated: here rows of their own.
local function by_column(record)
  if record.paper ~= "reformer" or record.table ~= "2" then return record end
  local made = setmetatable({}, { __index = record })
  made.row = ("%s | %s"):format(record.row, record.column)
  made.model = ("%s:eval:%s"):format(record.model, record.column)
  return made
end

local function read(name)
  local file = name:match("%.csv$") and name or name .. ".csv"
  local path = place.find("results/published/" .. file)
  if not path then
    error(("no published values '%s': results/published/%s is not beside the program"):format(name,
      file), 0)
  end
  return csv.read(path)
end

-- The best of several evaluations stands beside what the paper prints of that metric.
local function printed(metric) return (metric:gsub("^best_", "")) end

-- What a printed row is called here: its label or, once another row has that, its slug.
local function name_of(made, record)
  return made.slug[record.row] and record.model or record.row
end

--- The lines of a published table, "brt_table1", as records.
function published.records(name) return (read(name)) end

local tables = {}

--- The numbers of one published table, "brt_table1": an object with `rows` (names in printed order),
--- `slug[label]`, and `value(label, metric, dataset)`. A row goes by its label or, where several rows
--- share one, by its slug. `spread(...)` is the standard deviation that stands beside a value, or nil.
--- `printed(...)` is the number as it is printed, and the factor that makes it ours.
function published.table(name)
  tables[name] = tables[name] or published.of(published.records(name))
  return tables[name]
end

--- The same of records of such a table.
function published.of(records)
  local made = { rows = {}, slug = {}, values = {}, prints_as = {}, spreads = {}, datasets = {}, metrics = {} }
  for _, record in ipairs(records) do
    record = by_column(record)
    local metric, factor = ours(record)
    local value, dataset = tonumber(record.value), dataset_of(record)
    if value and record.model ~= "" then
      if not made.slug[record.model] then made.rows[#made.rows + 1] = name_of(made, record) end
      for _, name in ipairs { record.row, record.model } do
        made.slug[name] = made.slug[name] or record.model
        local key = table.concat({ name, metric, dataset }, "\n")
        made.values[key] = made.values[key] or value * factor
        made.prints_as[key] = made.prints_as[key] or { value, factor }
        local spread = tonumber(record.std)
        made.spreads[key] = made.spreads[key] or spread and spread * factor
      end
      made.datasets[dataset] = true
      made.metrics[metric .. "\n" .. dataset] = true
    end
  end
  local function key_of(label, metric, dataset) return table.concat({ label, printed(metric), dataset or "" }, "\n") end
  function made.value(...) return made.values[key_of(...)] end
  function made.printed(...) return table.unpack(made.prints_as[key_of(...)] or {}) end
  function made.spread(...) return made.spreads[key_of(...)] end
  --- Whether the paper prints this metric for this dataset at all.
  function made.prints(metric, dataset) return made.metrics[printed(metric) .. "\n" .. dataset] == true end
  return made
end

--- What a published table calls a row of the script: its slug, where the table has it, else its label.
function published.row_name(paper, row)
  return row.slug and paper.slug[row.slug] and row.slug or row.published_row or row.label
end

-- ---- whether a table of a script stands beside the published one ----

local function list_of(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- Fails unless one of `names` is in `set`; `field` is "table" or "fit"; says which of the set is nearest to one of them.
local function need_one(options, field, what, names, set)
  local known = list_of(set)
  for _, name in ipairs(names) do
    if set[name] then return end
  end
  for _, name in ipairs(names) do
    local nearest = core.nearest(name, known)
    if nearest then
      error(("%s: %s: no %s is in the published table '%s': '%s' (did you mean '%s'?)"):format(options.line, field, what,
        options.published, name, nearest), 0)
    end
  end
  error(("%s: %s: no %s is in the published table '%s', which has: %s"):format(options.line, field, what,
    options.published, table.concat(known, ", ", 1, math.min(#known, 12))), 0)
end

--- Fails at the line of a table of an experiment whose `published` matches none of its rows or none of its datasets; those
--- that `datasets` maps to "" are known not to be there.
function published.check(experiment, options)
  local good, paper = pcall(published.table, options.published)
  if not good then error(("%s: table: %s"):format(options.line, paper), 0) end
  local rows, datasets, by_dataset = {}, {}, false
  for i, row in ipairs(experiment.rows) do
    rows[i] = published.row_name(paper, row)
    local name = (options.datasets or {})[row.dataset] or row.dataset
    if name ~= "" then datasets[#datasets + 1] = name end
  end
  for _, metric in ipairs(options.columns) do by_dataset = by_dataset or not metrics.is_shared(metric) end
  if #rows == 0 then return end
  need_one(options, "table", "row", rows, paper.slug)
  local named = {}
  for name in pairs(paper.datasets) do
    if name ~= "" then named[name] = true end
  end
  if by_dataset and #datasets > 0 and next(named) then need_one(options, "table", "data set", datasets, named) end
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

--- Fails at the line of a fit of an experiment whose `published` has a formula for none of its groups or none of what is
--- fitted.
function published.check_fit(experiment, options)
  local good, formulas = pcall(published.formulas, options.published)
  if not good then error(("%s: fit: %s"):format(options.line, formulas), 0) end
  local groups, fitted, measures = {}, {}, {}
  for _, row in ipairs(experiment.rows) do
    for _, factor in ipairs(row.factors or {}) do
      if factor[1] == options.group then groups[#groups + 1] = tostring(factor[2]) end
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
