-- Where a claim's numbers come from: the tables that a paper prints, or what was measured. Both
-- know the same cells, so that one predicate judges both. A cell is a table:
-- experiment  whose row it is, as a script returns it: the name of its results, and its rows at
-- this scale
--   row         the label of the row, or its slug
--   dataset     nil for a cost that seeds share, and one column gives for all data sets
--   metric      a column of runs.csv
--   published   the paper's table, "paper_table1"; nil where the paper prints no such number
--   printed_as  the metric that the paper's number stands for, where that is another one
-- Values are in the paper's unit: percent where it prints percent.
local metrics = require "longhaul.run.metrics"
local published = require "longhaul.report.published"
local results = require "longhaul.report.results"
local step_times = require "longhaul.run.step_times"

local evidence = {}

local function memo(make)
  local made = {}
  return function(key)
    if made[key] == nil then made[key] = make(key) end
    return made[key]
  end
end

local function kind_of(_, cell) return metrics.kind(cell.metric) end

-- ---- the papers ----

---@class longhaul.printed
local Printed = { kind = kind_of }
Printed.__index = Printed

--- The published values; `read(name)` gives another object in place of published.table(name).
function evidence.printed(read)
  return setmetatable({ table = memo(read or published.table) }, Printed)
end

-- The number as it is printed and the factor to our unit; nil where there is none.
function Printed:number(cell)
  if not cell.published then return nil end
  return self.table(cell.published).printed(cell.row, cell.printed_as or cell.metric, cell.dataset)
end

function Printed:mean(cell) return (self:number(cell)) end

-- A printed number is one, however many seeds are behind it.
function Printed.seeds() return nil end

function Printed.quartiles() return {} end

function Printed.rounds() return nil end

function Printed.lack() return "not printed" end

function Printed.apart() return nil end

--- What a measured number is divided by to be in the paper's unit.
function Printed:unit(cell)
  local _, factor = self:number(cell)
  return factor or 1
end

-- ---- what was measured ----

---@class longhaul.measured
local Measured = { kind = kind_of }
Measured.__index = Measured

local function add_label(labels, key, label)
  labels[key] = labels[key] or {}
  if not labels[key][label] then table.insert(labels[key], label) end
  labels[key][label] = true
end

-- The labels of an experiment's rows by label and by slug, each under the name alone, and under name
-- and data set.
local function names_of(experiment)
  local names = { by_label = {}, by_slug = {} }
  for _, row in ipairs(experiment.rows) do
    for _, place in ipairs { "", "\n" .. row.dataset } do
      add_label(names.by_label, row.label .. place, row.label)
      add_label(names.by_slug, experiment:slug(row) .. place, row.label)
    end
  end
  return names
end

--- A function from a cell to the labels of the rows that it may mean: of the row that is called so,
--- else of all whose slug it is; none where the experiment has no such row at this scale.
function evidence.labels()
  local names = memo(names_of)
  return function(cell)
    local known = names(cell.experiment)
    local key = cell.dataset and cell.row .. "\n" .. cell.dataset or cell.row
    return known.by_label[key] or known.by_slug[key] or {}
  end
end

--- What lies in the results folder of `settings`, at its scale and on its device.
function evidence.measured(settings)
  local made = { printed = evidence.printed(), scale = settings.scale, labels = evidence.labels() }
  made.results = memo(function(experiment) return results.judged(experiment, settings) end)
  return setmetatable(made, Measured)
end

--- The label of a cell's row; nil when the experiment has no such row at this scale.
function Measured:label(cell) return self.labels(cell)[1] end

function Measured:mean(cell)
  local label = self:label(cell)
  local value = label and self.results(cell.experiment):value(label, cell.metric, cell.dataset)
  return value and value / self.printed:unit(cell) or nil
end

--- What a cell is never above: the end of its metric, in the paper's unit.
function Measured:most(cell) return metrics.most(cell.metric) / self.printed:unit(cell) end

--- Values by seed; nil for what seeds share.
function Measured:seeds(cell)
  if not metrics.is_by_seed(cell.metric) then return nil end
  local label, made = self:label(cell), {}
  local values, seeds = {}, {}
  if label then
    values, seeds = self.results(cell.experiment):values(label, cell.metric, cell.dataset)
  end
  for _, seed in ipairs(seeds) do made[seed] = values[seed] / self.printed:unit(cell) end
  return made
end

--- The medians that a step time is made of and by what factor it changes at their quartiles, { {
--- key =, q1 =, q3 = } ... }; none for what is no time. Cells with a key in common, as two ratios
--- to one baseline of one round, move together: a row's medians in two rounds are two.
function Measured:quartiles(cell)
  local label, list = self:label(cell), {}
  local found = label and self.results(cell.experiment):quartiles(label, cell.metric, cell.dataset)
    or {}
  for i, factor in ipairs(found) do
    list[i] = {
      key = table.concat({ cell.experiment.name, factor.label, factor.round }, "\n"),
      q1 = factor.q1, q3 = factor.q3,
    }
  end
  return list
end

--- The values of a step time by idle round; nil for what is none.
function Measured:rounds(cell)
  local label = self:label(cell)
  local values = label and self.results(cell.experiment):by_round(label, cell.metric, cell.dataset)
  for round, value in pairs(values or {}) do values[round] = value / self.printed:unit(cell) end
  return values
end

-- "LSTM, code: seed 2 diverged" of the first cell whose mean is of the seeds that ended well.
local function unfinished(self, cells)
  for _, cell in ipairs(cells) do
    local label = metrics.is_by_seed(cell.metric) and self:label(cell)
    local group = label and self.results(cell.experiment):group(label, cell.dataset)
    if group and #group.done > 0 and #group.reasons > 0 then
      local place = cell.dataset == "" and label or ("%s, %s"):format(label, cell.dataset)
      return ("%s: %s"):format(place, table.concat(group.reasons, "; "))
    end
  end
end

-- The data sets of a cell, all of its experiment where it has none; none without a row.
local function datasets_of(self, cell)
  if not self:label(cell) then return {} end
  return cell.dataset and { cell.dataset } or self.results(cell.experiment).datasets
end

-- The data sets that the mean of a cell without one is over, as a text; nil where there is none, or
-- all data sets agree.
local function averaged_over(self, cell)
  if cell.dataset or metrics.pooled(cell.metric) == "same" then return nil end
  local label, list = self:label(cell), {}
  for _, dataset in ipairs(datasets_of(self, cell)) do
    if self.results(cell.experiment):value(label, cell.metric, dataset) then
      list[#list + 1] = dataset
    end
  end
  table.sort(list)
  return table.concat(list, "\n")
end

-- The round of a cell's step time on a data set; nil where it is no time, or has none.
local function round_of(self, cell, dataset)
  if not step_times.is_time(cell.metric) then return nil end
  return self.results(cell.experiment):round(self:label(cell), dataset)
end

--- Why cells cannot be compared: step times of different rounds (unless rounds are compared one by one,
--- `by_round`), means over different data sets, seeds that did not end well; nil where they can.
function Measured:apart(cells, by_round)
  local rounds, averaged = {}, nil
  local reason = unfinished(self, cells)
  if reason then return reason end
  for _, cell in ipairs(cells) do
    local over = averaged_over(self, cell)
    if over and averaged and over ~= averaged then return "not measured on the same data sets" end
    averaged = averaged or over
    for _, dataset in ipairs(by_round and {} or datasets_of(self, cell)) do
      local round, place = round_of(self, cell, dataset), cell.dataset and "" or dataset
      if round and rounds[place] and round ~= rounds[place] then return "not timed side by side" end
      rounds[place] = rounds[place] or round
    end
  end
end

--- Why a cell has no value.
function Measured:lack(cell)
  local name, label = cell.experiment.runs, self:label(cell)
  if not label then return ("no row of %s at scale %s"):format(name, self.scale) end
  local found = self.results(cell.experiment)
  if #found.order == 0 then return ("%s has not been run at scale %s"):format(name, self.scale) end
  local dataset = cell.dataset or found:datasets_of(label)[1] or ""
  local status, why = found:status(label, dataset)
  if status == "missing" then return "not run" end
  return found:reason(label, cell.metric, dataset) or why or "not measured"
end

--- What the runs of a cell read: a list of texts, one for each data set.
function Measured:data(cell)
  local label, found, list = self:label(cell), self.results(cell.experiment), {}
  for _, dataset in ipairs(datasets_of(self, cell)) do
    local group = found:group(label, dataset)
    list[#list + 1] = group and group.done[1] and group.done[1].data
  end
  return list
end

--- Why the runs of a cell are not those of the script, the data and the program of today; nil where
--- they are.
function Measured:doubt(cell)
  local label, found = self:label(cell), self.results(cell.experiment)
  for _, dataset in ipairs(datasets_of(self, cell)) do
    local doubt = results.doubt(found:status(label, dataset))
    if doubt then return doubt end
  end
end

return evidence
