-- The comparison: every architecture on every task, with its cost, out of the runs of
-- experiments/compare/. A value first; comparison_markup.lua writes it.
--
-- A made comparison is { scale, device, columns, rows }. A column stands for one metric of one
-- experiment, over one data set or over several of them: { experiment, title, metric, datasets,
-- seeds = the most that a row has, generated = how many of the data sets the embedded generator made,
-- results }. A row is { label, cells }, a cell for each column:
--   value, spread, seeds   mean over seeds of the mean over the column's data sets; nil where a data
--                          set lacks it, and then `status` says why
--   why                    seeds did not end well ("seed 3 diverged"), nil where all did
--   absent                 where neither a value nor a status says it: "not run", "a value in 1 of 3 seeds"
--   best, tie, behind      of the column, or not told from it by the seeds that both have, and the
--                          differences from it at these
--   step_time_ms, busy     mean over the data sets, nil where one lacks it; of a busy machine
--   peak_memory_bytes      the most over the data sets
local best = require "longhaul.report.best"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local provenance = require "longhaul.report.provenance"
local results = require "longhaul.report.results"
local scales = require "longhaul.run.scales"
local statistics = require "longhaul.report.statistics"
local statuses = require "longhaul.report.cell_status"
local store = require "longhaul.run.store"
local tables = require "longhaul.report.table"
local views = require "longhaul.report.views"

local comparison = {}

--- What is compared, in the order of the page: experiment, title, what it asks.
comparison.experiments = {
  { "compare-language", "language", "bytes of books, LaTeX and Wikipedia, and sub-words" },
  { "compare-context", "context", "how far back a model looks" },
  { "compare-recall", "recall", "values that are looked up by their keys" },
  { "compare-tracking", "state tracking",
    "where an agent stands, what a program prints, whether a string belongs to a regular language" },
  { "compare-copy", "copying", "a word of fresh symbols that comes twice" },
  { "compare-length", "length", "trained at one length, evaluated at others" },
  { "compare-series", "series", "forecasts of electricity and weather" },
}

-- ---- one cell ----

-- By seed the mean over the data sets, of the seeds that all of them have; none where a data set has
-- no value of all its seeds.
local function means_by_seed(column, label)
  local sums, counts, means = {}, {}, {}
  for _, dataset in ipairs(column.datasets) do
    if not column.results:value(label, column.metric, dataset) then return {} end
    for seed, value in pairs((column.results:values(label, column.metric, dataset))) do
      sums[seed], counts[seed] = (sums[seed] or 0) + value, (counts[seed] or 0) + 1
    end
  end
  for seed, count in pairs(counts) do
    if count == #column.datasets then means[seed] = sums[seed] / count end
  end
  return means
end

local function sorted(by_seed)
  local seeds, values = lists.keys(by_seed), {}
  for i, seed in ipairs(seeds) do values[i] = by_seed[seed] end
  return values, seeds
end

-- What became of a row that has no value over all data sets: "diverged", "done on 3 of 4 data sets";
-- "" where it was never run, or has no value although it was.
local function status_of(column, label)
  local count, done, worst = #column.datasets, 0, nil
  for _, dataset in ipairs(column.datasets) do
    local status = column.results:status(label, dataset)
    if status == "done" then done = done + 1 elseif status ~= "missing" then worst = status end
  end
  if done == 0 or done == count then return worst or "" end
  return ("done on %d of %d data sets"):format(done, count)
end

-- Why a row has neither a value nor a status: no run, or a metric that not every seed has, as a context where nothing
-- is gained.
local function absent_of(column, label)
  local with_value, seeds = 0, 0
  for _, dataset in ipairs(column.datasets) do
    local group = column.results:group(label, dataset)
    local values = group and column.results:values(label, column.metric, dataset) or {}
    with_value, seeds = with_value + #lists.keys(values), seeds + (group and #group.done or 0)
  end
  return seeds == 0 and "not run" or ("a value in %d of %d seeds"):format(with_value, seeds)
end

-- Why seeds did not end well, on whatever data set; nil where all did.
local function why_of(column, label)
  local reasons = {}
  for _, dataset in ipairs(column.datasets) do
    local group = column.results:group(label, dataset)
    for _, reason in ipairs(group and group.reasons or {}) do reasons[reason] = true end
  end
  return next(reasons) and table.concat(lists.keys(reasons), "; ") or nil
end

-- The mean of a cost over the data sets, or the most of it; whether one is of a busy machine.
local function cost_of(column, label, metric)
  local sum, most, busy = 0, 0, false
  for _, dataset in ipairs(column.datasets) do
    local value = column.results:value(label, metric, dataset)
    if not value then return nil end
    sum, most = sum + value, math.max(most, value)
    busy = busy or select(2, column.results:reason(label, metric, dataset)) == true
  end
  return metrics.pooled(metric) == "max" and most or sum / #column.datasets, busy
end

local function cell_of(column, label)
  local by_seed = means_by_seed(column, label)
  local values = sorted(by_seed)
  local cell = { by_seed = by_seed, seeds = #values, status = status_of(column, label),
    why = why_of(column, label) }
  if #values == 0 then
    cell.absent = cell.status == "" and absent_of(column, label) or nil
    return cell
  end
  cell.value, cell.spread = statistics.of(values)
  cell.constant = column.results:learns_nothing(label, column.datasets[1]) and cell.value or nil
  cell.step_time_ms, cell.busy = cost_of(column, label, "step_time_ms")
  cell.peak_memory_bytes = cost_of(column, label, "peak_memory_bytes")
  return cell
end

-- ---- the best, and what is not told from it ----

-- A mean over fewer seeds than others have, or beside seeds that did not end well, is no candidate.
local function is_candidate(column, cell)
  return cell.value ~= nil and not statuses.lacks_seeds(cell, column.seeds)
end

-- Of a metric of which neither end is better there is no best.
local function mark(column, cells)
  local better, candidates = metrics.better(column.metric), {}
  if not better then return end
  for _, cell in ipairs(cells) do
    if is_candidate(column, cell) then
      candidates[#candidates + 1] = { cell = cell, value = cell.value, by_seed = cell.by_seed,
        constant = cell.constant }
    end
  end
  best.mark(candidates, better, column.seeds)
end

-- ---- columns and rows ----

-- The first quality of the experiment's table that was measured on each data set: { dataset, metric
-- }; in the order of the table. Empty where no table was made. Data sets may be others at another scale, whose table
-- serves where there is no own.
local function headlines(folder, experiment, found)
  local base, list, seen = ("%s/%s/table"):format(folder, experiment), {}, {}
  local path = views.find(base, "csv", views.owner(found.scale, found.device)) or base .. ".csv"
  local made = core.exists(path) and tables.read(path)
  for _, column in ipairs(made and made.columns or {}) do
    local measured = false
    for _, group in ipairs(found.order) do
      measured = measured or (group.dataset == column.dataset
        and found:value(group.row, column.metric, column.dataset) ~= nil)
    end
    if measured and metrics.kind(column.metric) == "quality" and not seen[column.dataset] then
      list[#list + 1] = { dataset = column.dataset, metric = column.metric }
      seen[column.dataset] = true
    end
  end
  return list
end

-- A column for each metric, over all data sets that it is the first quality of.
local function columns_of(folder, entry, at)
  local found = results.open(folder, entry[1], at.scale, at.device):with_busy()
  local columns, by_metric = {}, {}
  for _, headline in ipairs(headlines(folder, entry[1], found)) do
    local column = by_metric[headline.metric]
    if not column then
      column = { experiment = entry[1], title = entry[2], metric = headline.metric, datasets = {},
        results = found }
      by_metric[headline.metric], columns[#columns + 1] = column, column
    end
    table.insert(column.datasets, headline.dataset)
  end
  return columns
end

local function labels_of(columns)
  local labels = lists.set()
  for _, column in ipairs(columns) do
    for _, group in ipairs(column.results.order) do labels:add(group.row) end
  end
  return labels.list
end

-- On how many of its data sets a row read what the embedded generator made.
local function generated_of(column)
  local made, count = {}, 0
  for _, group in ipairs(column.results.order) do
    made[group.dataset] = made[group.dataset] or provenance.is_generated(group.latest)
  end
  for _, dataset in ipairs(column.datasets) do count = count + (made[dataset] and 1 or 0) end
  return count
end

-- Whether the step times of its rows are of several rounds.
local function times_are_apart(column, rows)
  local cells = {}
  for _, row in ipairs(rows) do
    for _, dataset in ipairs(column.datasets) do
      cells[#cells + 1] = { row = { label = row.label, dataset = dataset } }
    end
  end
  return column.results:apart({ "step_time_ms" }, cells)
end

local function fill(columns, at)
  local made = { scale = at.scale, device = at.device, columns = columns, rows = {} }
  for i, label in ipairs(labels_of(columns)) do made.rows[i] = { label = label, cells = {} } end
  for c, column in ipairs(columns) do
    local cells = {}
    column.seeds = 0
    for i, row in ipairs(made.rows) do
      cells[i] = cell_of(column, row.label)
      row.cells[c] = cells[i]
      column.seeds = math.max(column.seeds, cells[i].seeds)
    end
    mark(column, cells)
    column.generated = generated_of(column)
    column.apart = times_are_apart(column, made.rows)
  end
  return made
end

-- The scales and devices that runs of the comparison have, the largest scale first.
local function places(folder)
  local stores, rank = {}, {}
  for i, name in ipairs(scales) do rank[name] = i end
  for i, entry in ipairs(comparison.experiments) do stores[i] = store.at(folder, entry[1]) end
  local list = store.measured_at(stores)
  table.sort(list, function(a, b)
    local first, second = rank[a.scale] or 0, rank[b.scale] or 0
    if first ~= second then return first > second end
    return a.device < b.device
  end)
  return list
end

--- The comparisons of a results folder, one for each scale and device, the largest scale first. A
--- column for each experiment and metric, over all data sets that it is the first quality of.
function comparison.read(folder)
  local list = {}
  for _, at in ipairs(places(folder)) do
    local columns = {}
    for _, entry in ipairs(comparison.experiments) do
      local own = columns_of(folder, entry, at)
      table.move(own, 1, #own, #columns + 1, columns)
    end
    if #columns > 0 then list[#list + 1] = fill(columns, at) end
  end
  return list
end

--- The same comparison with a column for each data set.
function comparison.by_dataset(made)
  local columns = {}
  for _, column in ipairs(made.columns) do
    for _, dataset in ipairs(column.datasets) do
      columns[#columns + 1] = setmetatable({ datasets = { dataset } }, { __index = column })
    end
  end
  return fill(columns, made)
end

--- The rows that were run in one experiment alone, where there are several: { { title =, labels of rows } ... }.
function comparison.alone(made)
  local by_title, list = {}, {}
  for _, row in ipairs(made.rows) do
    local titles = lists.set()
    for c, column in ipairs(made.columns) do
      if row.cells[c].absent ~= "not run" then titles:add(column.title) end
    end
    local title = titles.list[1]
    if #titles.list == 1 then
      if not by_title[title] then
        by_title[title] = { title = title }
        list[#list + 1] = by_title[title]
      end
      table.insert(by_title[title], row.label)
    end
  end
  local has_several = made.columns[1].experiment ~= made.columns[#made.columns].experiment
  return has_several and list or {}
end

-- What most rows of a data set have, to two digits.
local function usual(values)
  table.sort(values)
  return tonumber(("%.2g"):format(values[#values // 2 + 1]))
end

-- The different values of a list, the greatest first; what is within a twentieth of another is as large.
local function distinct(values)
  local list = {}
  table.sort(values, function(a, b) return a > b end)
  for _, value in ipairs(values) do
    if #list == 0 or value < 0.95 * list[#list] then list[#list + 1] = value end
  end
  return list
end

--- How large what an experiment compares is: { parameters = those that most rows have, steps = the most of a data
--- set }, lists of what data sets differ in, the greatest first. What is evaluated alone has no steps.
function comparison.sizes(made, experiment)
  local parameters, steps, seen = {}, {}, {}
  for _, column in ipairs(made.columns) do
    for _, dataset in ipairs(column.experiment == experiment and column.datasets or {}) do
      local counts, most = {}, 0
      for _, row in ipairs(seen[dataset] and {} or made.rows) do
        local group = column.results:group(row.label, dataset)
        for _, run in ipairs(group and group.done or {}) do
          counts[#counts + 1], most = csv.number(run.parameters), math.max(most, csv.number(run.step) or 0)
        end
      end
      seen[dataset] = true
      if #counts > 0 then parameters[#parameters + 1] = usual(counts) end
      if most > 0 then steps[#steps + 1] = most end
    end
  end
  return { parameters = distinct(parameters), steps = distinct(steps) }
end

--- The finished runs behind it.
function comparison.runs(made)
  local runs, seen = {}, {}
  for _, column in ipairs(made.columns) do
    local own = seen[column.results] and {} or provenance.runs_of(column.results)
    seen[column.results] = true
    table.move(own, 1, #own, #runs + 1, runs)
  end
  return runs
end

--- The experiments of comparison.experiments that have no column in it.
function comparison.lacking(made)
  local has, list = {}, {}
  for _, column in ipairs(made and made.columns or {}) do has[column.experiment] = true end
  for _, entry in ipairs(comparison.experiments) do
    if not has[entry[1]] then list[#list + 1] = entry end
  end
  return list
end

return comparison
