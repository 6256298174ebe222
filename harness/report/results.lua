-- What an experiment has measured: runs.csv by configuration, with mean and spread over seeds, and
-- the step times of timings.csv. Tables, charts and claims all read through here.
--
-- A reader asks for a row of the script by label and dataset. The row has a configuration; the runs
-- that have it are its seeds, and other runs of the label (other data, options or versions) are
-- never among them.
local csv = require "longhaul.run.csv"
local finished = require "longhaul.run.finished"
local identity = require "longhaul.run.identity"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local quote = require "longhaul.run.quote"
local reach = require "longhaul.run.reach"
local selection = require "longhaul.run.selection"
local statistics = require "longhaul.report.statistics"
local step_times = require "longhaul.run.step_times"
local store = require "longhaul.run.store"
local tuning = require "longhaul.run.tuning"

local results = {}

---@class longhaul.results
local Results = {}
Results.__index = Results

local function key_of(row, dataset) return row .. "\n" .. dataset end

-- ---- which runs are a row's ----

--- The run that was made last.
function results.latest_of(runs)
  local latest, dates = 1, csv.texts(runs, "date")
  for i = 2, #runs do
    if (dates[i] or "") >= (dates[latest] or "") then latest = i end
  end
  return runs[latest]
end

-- What the script's row is now; {} where its data are not on this machine.
local function identity_of(what)
  local good, made = pcall(identity.of, setmetatable({ seed = 1 }, { __index = what }))
  return good and made or {}
end

-- More changes of a row are counted alone.
local most_changes = 3

-- Two values of an option as people write them, with all digits where they would look alike.
local function values_of(old, now)
  local function short(text)
    local number = tonumber(text)
    return number and ("%.10g"):format(number) or text ~= "" and quote.line(text) or "''"
  end
  if short(old) == short(now) then return quote.line(old), quote.line(now) end
  return short(old), short(now)
end

-- "train.rate was 0.01 and is 0.003": what a row has otherwise than a run of it; nil where no option says so.
local function changes_of(row, run)
  local texts, changes = {}, identity.changes(row, run)
  for i, change in ipairs(changes) do
    if i <= most_changes then texts[i] = ("%s was %s and is %s"):format(change[1], values_of(change[2], change[3])) end
  end
  if #changes > most_changes then texts[#texts + 1] = ("%d more"):format(#changes - most_changes) end
  return #texts > 0 and table.concat(texts, ", ") or nil
end

-- Why a run is not one of the row as the script has it (`now`): "stale", or "other data" where all
-- else is the same; and a reason for readers.
local function difference_of(what, now, run)
  local row = what.row
  if row.untuned then
    return now.configuration and "stale" or "other data", "not tuned here, where " .. row.untuned
  end
  if run.configuration == identity.configuration(what, run.data_digest, run.starts_from) then
    if run.data_digest == now.data_digest then
      return "stale", "started from other weights than it would now"
    end
    return "other data", ("read other data than this machine has: %s"):format(run.data)
  end
  if tonumber(run.identity) ~= identity.version then
    return "stale", "an older longhaul recorded it"
  end
  if tonumber(run.version) ~= identity.class_version(row.model.name) then
    return "stale", ("the model's version is %s now, not %s"):format(
      identity.class_version(row.model.name), run.version)
  end
  local earlier = identity.earlier_task_version(what, run.data_digest, run.starts_from, run.configuration)
  if earlier then
    return "stale", ("the task's version is %s now, not %s"):format(identity.task_version(row.task.name), earlier)
  end
  local changes = changes_of(row, run)
  return "stale", "run with other options than the script now has" .. (changes and ": " .. changes or "")
end

-- Adds why a run ended badly, once for all seeds that ended so: "seed 1 failed", "seeds 1, 2 failed".
local function add_reason(made, by_why, seed, why)
  local known = by_why[why] or { place = #made.reasons + 1, seeds = {} }
  by_why[why] = known
  table.insert(known.seeds, seed)
  made.reasons[known.place] = ("seed%s %s %s"):format(#known.seeds == 1 and "" or "s",
    table.concat(known.seeds, ", "), why)
end

-- Of the runs of a configuration, one of each seed, those that ended well, and what became of the others.
local function group_of(runs)
  local made = { configuration = runs[1].configuration, done = {}, failed = 0, diverged = 0,
    diverged_runs = {}, reasons = {} }
  local by_why, of_seeds = {}, finished.of_seeds(runs)
  local states, seeds = csv.texts(of_seeds, "status"), csv.texts(of_seeds, "seed")
  for i, run in ipairs(of_seeds) do
    local status = states[i]
    if status == "done" then
      table.insert(made.done, run)
    else
      status = status == "diverged" and "diverged" or "failed"
      made[status] = made[status] + 1
      if status == "diverged" then table.insert(made.diverged_runs, run) end
      add_reason(made, by_why, seeds[i], quote.line(run.error ~= "" and run.error or status))
    end
  end
  return made
end

-- The group of a row: the runs of its configuration or, where there are none, those of the latest
-- one, marked.
local function choose(runs, what, planned)
  local row, latest = what.row, results.latest_of(runs)
  local now, by_configuration = row and identity_of(what) or {}, {}
  for _, alike in ipairs(csv.groups(runs, { "configuration" })) do
    by_configuration[alike[1].configuration or ""] = alike
  end
  local is_known = now.configuration and not row.untuned
  local current = is_known and by_configuration[now.configuration]
  local shown = current or by_configuration[latest.configuration or ""]
  local made = group_of(shown)
  made.row, made.dataset, made.planned = latest.row, latest.dataset, planned
  made.latest, made.script = results.latest_of(shown), row
  made.left_out = #runs - #shown
  if row and not current then made.other, made.why = difference_of(what, now, latest) end
  return made
end

-- The runs of a scale and device by row and dataset, and the keys in the order of the file.
local function runs_by_row(from, scale, device)
  local by_key, keys = {}, {}
  for _, runs in ipairs(csv.groups(from:rows(), { "row", "dataset", "scale", "device" })) do
    local first = runs[1]
    if first.scale == scale and first.device == device then
      local key = key_of(first.row, first.dataset)
      by_key[key], keys[#keys + 1] = runs, key
    end
  end
  return by_key, keys
end

--- Results in a store, of `scale` and `device`. `rows` are the script's rows (nil: whatever is in
--- the file), `planned(row)` how many seeds a row is meant to have.
function results.read(from, name, scale, device, rows, planned)
  local datasets = lists.set()
  local made = setmetatable({ groups = {}, order = {}, name = name, scale = scale, device = device,
    datasets = datasets.list, store = from }, Results)
  local by_key, keys = runs_by_row(from, scale, device)
  made.times = step_times.of(from)
  local function add(key, row)
    if not by_key[key] or made.groups[key] then return end
    local what = { experiment = name, row = row, scale = scale, device = device }
    local group = choose(by_key[key], what, row and planned and planned(row))
    made.groups[key] = group
    made.order[#made.order + 1] = group
    datasets:add(group.dataset)
  end
  for _, row in ipairs(rows or {}) do add(key_of(row.label, row.dataset), row) end
  if not rows then
    for _, key in ipairs(keys) do add(key) end
  end
  return made
end

--- The same at <folder>/<name>.
function results.open(folder, name, ...) return results.read(store.at(folder, name), name, ...) end

--- The results of an experiment by which claims are judged: read through its script's rows, with the
--- options that their trials chose, and with relative step times as its first table shows them; with
--- `settings.recorded` as they were run, whatever data and options the script's rows would have here and
--- now. `settings`: results (a folder), scale, device, seeds.
function results.judged(experiment, settings)
  local function planned(row) return settings.seeds or row.seeds or experiment.default_seeds end
  if not settings.recorded then tuning.settle(experiment, settings) end
  local rows = not settings.recorded and experiment.rows or nil
  local from = store.under(settings, experiment.runs)
  local found = results.read(from, experiment.runs, settings.scale, settings.device, rows, planned)
  return found:relative_to(experiment:baseline())
end

--- The same with times of a busy machine, as tables and charts show it.
function results.of(experiment, settings) return results.judged(experiment, settings):with_busy() end

--- How many runs of the rows have another configuration than the one that is shown.
function Results:left_out()
  local count = 0
  for _, group in ipairs(self.order) do count = count + group.left_out end
  return count
end

--- The same results with relative step times against the row `baseline` (a label; nil: as runs.csv
--- shows them).
function Results:relative_to(baseline)
  local made = {}
  for key, value in pairs(self) do made[key] = value end
  made.baseline = baseline
  return setmetatable(made, Results)
end

--- The same results that show times of a busy machine where there are no others: tables and charts
--- do, and mark them; claims do not judge by them.
function Results:with_busy()
  local made = self:relative_to(self.baseline)
  made.shows_busy = true
  return made
end

--- The same results of those rows alone that `texts` of --only mean (nil: all); times stay relative to a
--- baseline that is none of them.
function Results:selected(texts)
  if not texts then return self end
  local made, datasets = self:relative_to(self.baseline), lists.set()
  made.whole, made.only, made.groups, made.order, made.datasets = self, texts, {}, {}, datasets.list
  for _, group in ipairs(self.order) do
    if selection.means(texts, group.row, group.dataset) then
      made.groups[key_of(group.row, group.dataset)] = group
      made.order[#made.order + 1] = group
      datasets:add(group.dataset)
    end
  end
  return made
end

--- Those of a script's rows that are selected.
function Results:shown(rows)
  local list = {}
  for _, row in ipairs(rows) do
    if selection.means(self.only, row.label, row.dataset) then list[#list + 1] = row end
  end
  return list
end

--- The group of a row on a dataset, or nil when it was never run.
function Results:group(row, dataset) return self.groups[key_of(row, dataset)] end

--- The data sets that a row was run on.
function Results:datasets_of(row)
  local list = {}
  for _, dataset in ipairs(self.datasets) do
    if self:group(row, dataset) then list[#list + 1] = dataset end
  end
  return list
end

-- ---- step times ----

local function base_of(self, dataset) return (self.whole or self):group(self.baseline, dataset) end

-- What the rounds say of a group: the number, or nil and why there is none; and the number of a
-- busy machine, where there is no other. Times are of the configuration, not of a seed.
local function rounds_say(self, group, metric)
  if step_times.is_time(metric) then
    local record, reason, busy = self.times:latest(group.configuration)
    return record and tonumber(record[metric]), reason, busy and tonumber(busy[metric])
  end
  local base = base_of(self, group.dataset)
  if not base then return nil, ("has no baseline, '%s' was not run"):format(self.baseline) end
  local ratio, reason, busy = self.times:ratio(group.configuration, base.configuration)
  local named = { ["the baseline"] = ("the baseline '%s'"):format(self.baseline) }
  return ratio, reason and reason:gsub("the baseline$", named), busy
end

-- The number that counts, or nil and why there is none.
local function timed_value(self, group, metric)
  local value, reason, busy = rounds_say(self, group, metric)
  if value == nil and self.shows_busy then value = busy end
  return value, reason
end

-- Whether rounds have the metric, not runs.
local function is_timed(self, metric)
  return step_times.is_time(metric) or (metric == "relative_step_time" and self.baseline ~= nil)
end

--- The round that a row's times on a data set are of; nil where it has none.
function Results:round(row, dataset)
  local found = self:group(row, dataset)
  local record = found and self.times:latest(found.configuration)
  return record and record.round
end

--- Whether one of these metrics is a time by itself and the cells of a data set were not all timed in
--- one round. A cell is { row = { label =, dataset = }, results = whose row it is, if not of these }.
function Results:apart(names, cells)
  local timed, rounds = false, {}
  for _, name in pairs(names) do timed = timed or step_times.is_time(name) end
  for _, cell in ipairs(timed and cells or {}) do
    local dataset = cell.row.dataset
    local round = (cell.results or self):round(cell.row.label, dataset)
    if round and rounds[dataset] and round ~= rounds[dataset] then return true end
    rounds[dataset] = rounds[dataset] or round
  end
  return false
end

-- By what factor a value changes when a record that it is proportional to (`power` 1), or inverse
-- to (-1), lies at its lower or upper quartile: { label =, round = the record's, q1 =, q3 = }; nil
-- where quartiles were not kept.
local function factors(label, record, power)
  local q1, q3 = step_times.quartiles(record)
  return q1 and { label = label, round = record.round, q1 = q1 ^ power, q3 = q3 ^ power }
end

-- The factors of the records behind a row's value on a data set.
local function factors_on(self, row, metric, dataset)
  local found, list = self:group(row, dataset), {}
  if not found or not is_timed(self, metric) then return list end
  if step_times.is_time(metric) then
    local record = self.times:latest(found.configuration)
    list[1] = record and factors(row, record, metrics.better(metric) == "max" and -1 or 1)
    return list
  end
  local group = base_of(self, dataset)
  if not group then return list end
  local _, _, _, record, base = self.times:ratio(found.configuration, group.configuration)
  list[1] = record and factors(row, record, 1)
  list[#list + 1] = base and factors(self.baseline, base, -1)
  return list
end

--- What a value of step times is made of: { { label =, round =, q1 =, q3 = } ... }, the rows whose
--- median in a round it depends on, and by what factor it changes when that lies at the lower or the
--- upper quartile of the row's steps. Empty where it is none, or quartiles were not kept. Without a
--- dataset: of the mean over datasets, where a row moves on all of them, and `round` names those of
--- all.
function Results:quartiles(row, metric, dataset)
  if dataset then return factors_on(self, row, metric, dataset) end
  local list, by_label, total = {}, {}, 0
  for _, name in ipairs(self.datasets) do
    local value = self:value(row, metric, name)
    total = total + (value or 0)
    for _, factor in ipairs(value and factors_on(self, row, metric, name) or {}) do
      local joint = by_label[factor.label]
      if not joint then
        joint = { label = factor.label, round = "", q1 = 0, q3 = 0 }
        by_label[factor.label], list[#list + 1] = joint, joint
      end
      joint.round = joint.round .. "\n" .. factor.round
      joint.q1, joint.q3 = joint.q1 + value * (factor.q1 - 1), joint.q3 + value * (factor.q3 - 1)
    end
  end
  for _, joint in ipairs(list) do
    joint.q1, joint.q3 = 1 + joint.q1 / total, 1 + joint.q3 / total
  end
  return list
end

-- A time of a row on a data set in each idle round that has it, the latest first: { { round =, value = } ... }.
local function times_on(self, row, metric, dataset)
  local group, list = self:group(row, dataset), {}
  local is_ratio = not step_times.is_time(metric)
  local base = is_ratio and base_of(self, dataset) or nil
  if not group or is_ratio and not base then return list end
  for _, record in ipairs(self.times:idle(group.configuration, { base and base.configuration })) do
    local value = base and self.times:ratio_in(record, base.configuration) or tonumber(record[metric])
    list[#list + 1] = value and { round = record.round, value = value }
  end
  return list
end

--- The values of a time by the idle rounds that it was measured in, under a name of each round; nil for what
--- is no time. Without a data set: means over those that the row has a value on, of their latest rounds, of
--- those before and so on.
function Results:by_round(row, metric, dataset)
  if not is_timed(self, metric) then return nil end
  local lists, count, made = {}, math.huge, {}
  for _, name in ipairs(dataset and { dataset } or self.datasets) do
    if self:value(row, metric, name) then
      lists[#lists + 1] = times_on(self, row, metric, name)
      count = math.min(count, #lists[#lists])
    end
  end
  for k = 1, lists[1] and count or 0 do
    local rounds, sum = {}, 0
    for i, list in ipairs(lists) do rounds[i], sum = list[k].round, sum + list[k].value end
    made[table.concat(rounds, "\n")] = sum / #lists
  end
  return made
end

-- The first seed whose value of a metric is infinite, as a perplexity that no number holds; or nil.
local function infinite_seed(group, metric)
  local texts = csv.texts(group.done, metric)
  for i, run in ipairs(group.done) do
    if math.abs(csv.number(texts[i]) or 0) == math.huge then return run.seed end
  end
end

--- Why a row that was run has no value of a metric, or nil; then whether that of a busy machine is
--- shown for it.
function Results:reason(row, metric, dataset)
  local found = self:group(row, dataset)
  if not found or #found.done == 0 then return nil end
  if not is_timed(self, metric) then
    local seed = infinite_seed(found, metric)
    return seed and ("has an infinite value of seed %s"):format(seed)
  end
  local value, reason = timed_value(self, found, metric)
  return reason, reason ~= nil and value ~= nil
end

-- ---- reading ----

-- What the script says of a row now or, where it has no such row, or none of these runs, what it said
-- when the latest of them was made.
local function scripted(group, metric)
  if group.script and not group.other then return (group.script.values or {})[metric] end
  return tonumber(group.latest[metric])
end

-- The number that all runs of a group have of a metric, and whether it is one that they share.
local function shared_number(self, group, metric)
  if is_timed(self, metric) then return (timed_value(self, group, metric)), true end
  if metrics.from(metric) == "script" then return scripted(group, metric), true end
  return nil, false
end

-- The runs that a value is of: those that ended well or, of what a model is made of, where none did, those
-- that diverged, which say it all the same.
local function runs_of(group, metric)
  local says = #group.done == 0 and metrics.kind(metric) == "structure" and metrics.from(metric) == "model"
  return says and group.diverged_runs or group.done
end

-- The numbers of a group's runs by their places: what curves tell is of what the row is to reach,
-- whatever the script named when they were made.
local function own_numbers(self, group, metric)
  if metrics.from(metric) ~= "curve" or not group.script then
    return csv.numbers(runs_of(group, metric), metric)
  end
  group.reached = group.reached or reach.of_runs(group.done, group.script.reach, self.store)
  return group.reached
end

-- The values of a metric in the order of a group's runs, and which runs lack one, by their places: all
-- where one is infinite, since a mean of the others would be without the seed that did worst.
local function numbers_of(self, group, metric)
  local numbers, lacks = {}, {}
  local shared, is_shared = shared_number(self, group, metric)
  local own = is_shared and {} or own_numbers(self, group, metric)
  for i = 1, #runs_of(group, metric) do
    local number = shared or own[i]
    if number then numbers[#numbers + 1] = number else lacks[i] = true end
  end
  if next(lacks) and infinite_seed(group, metric) then
    for i = 1, #group.done do numbers[i], lacks[i] = nil, true end
  end
  return numbers, lacks
end

--- The values of a metric, keyed by seed, and their seeds in order.
function Results:values(row, metric, dataset)
  local found = self:group(row, dataset)
  local values, seeds = {}, {}
  if not found then return values, seeds end
  local numbers, lacks = numbers_of(self, found, metric)
  for i, seed in ipairs(csv.texts(runs_of(found, metric), "seed")) do
    if not lacks[i] then
      seeds[#seeds + 1] = seed
      values[seed] = numbers[#seeds]
    end
  end
  return values, seeds
end

-- How the registry says that seeds become one value.
local pool = { mean = statistics.of }

-- Seeds that lack a value would be left out of the mean just where they did worst.
function pool.every(values, done)
  if #values < done then return nil end
  return statistics.of(values)
end

function pool.max(values) return math.max(table.unpack(values)), nil, #values end

local function all_equal(values)
  for _, value in ipairs(values) do
    if value ~= values[1] then return false, value end
  end
  return true
end

function pool.same(values, _, row, metric)
  local agree, other = all_equal(values)
  if not agree then
    error(("results: the runs of row '%s' have different %s, %.17g and %.17g, which all seeds "
      .. "share"):format(row, metric, values[1], other), 0)
  end
  return values[1], nil, #values
end

--- The seeds' values pooled as the registry says, their standard deviation where that is the mean
--- (nil for one seed) and their number; nil when there is no value. Without a dataset: the mean
--- over datasets, or what all of them agree on where seeds have to; nil where they do not.
function Results:value(row, metric, dataset)
  local list, found = {}, dataset and self:group(row, dataset)
  if found then
    list = numbers_of(self, found, metric)
  elseif not dataset then
    for _, name in ipairs(self.datasets) do list[#list + 1] = (self:value(row, metric, name)) end
  end
  if #list == 0 then return nil end
  if dataset then
    return pool[metrics.pooled(metric)](list, #found.done, row, metric)
  end
  if metrics.pooled(metric) == "same" and not all_equal(list) then return nil end
  local mean, _, count = statistics.of(list)
  return mean, nil, count
end

--- Whether a row learns nothing, and so has one value at every seed.
function Results:learns_nothing(row, dataset) return self:value(row, "parameters", dataset) == 0 end

--- The value of the seed that did best on the validation split by the same metric, as the papers of
--- several seeds report it: a seed without a finite number there is not the best. nil where there is no
--- such metric or it was not measured.
function Results:best(row, metric, dataset)
  local twin, found = metrics.twin(metric), self:group(row, dataset)
  if not twin or not found then return nil end
  local valid = own_numbers(self, found, twin)
  local sign, best = metrics.better(metric) == "max" and -1 or 1, nil
  for i = 1, #found.done do
    if valid[i] and (not best or sign * valid[i] < sign * valid[best]) then best = i end
  end
  return best and own_numbers(self, found, metric)[best]
end

--- The difference of two rows, seed by seed: mean, standard error (nil for one seed), seeds.
function Results:difference(metric, row, other, dataset)
  local list = statistics.paired(self:values(row, metric, dataset), (self:values(other, metric, dataset)))
  if #list == 0 then return nil end
  return statistics.mean_error(list)
end

--- "done", "partial" (seeds are missing), "stale" (runs of other options or versions), "other data"
--- (runs of the same on data that this machine lacks), "diverged" or "failed" (no seed ended well),
--- "missing". Then why, where there is more to say.
function Results:status(row, dataset)
  local found = self:group(row, dataset)
  if not found then return "missing" end
  local why = #found.reasons > 0 and table.concat(found.reasons, "; ") or nil
  if #found.done == 0 then return found.failed == 0 and "diverged" or "failed", why end
  if found.other then return found.other, found.why end
  return found.planned and #found.done < found.planned and "partial" or "done", why
end

--- Why runs of this status are not those of the script, the data and the program of today; nil where
--- they are.
---@param status string as of Results:status, like `why`
---@param why? string
---@return string?
function results.doubt(status, why)
  if status == "stale" or status == "other data" then return why or status end
end

--- The labels of what has such a status, each once; `read` gives label and status of one of the list.
---@param list table[]
---@param read fun(each: any): string, string
---@return string[]
function results.doubtful(list, read)
  local labels = lists.set()
  for _, each in ipairs(list) do
    local label, status = read(each)
    if results.doubt(status) then labels:add(label) end
  end
  return labels.list
end

return results
