-- The registry of metrics: whatever runs.csv, a curve, a table, a chart, a claim, the documentation
-- or an editor knows of a number begins with one line here. What evaluations score gets a column
-- for each split that the line names: `bits_per_token` of the test split, `valid_bits_per_token`,
-- and, where evaluations read the test split during training ("watched"), `best_accuracy`; a
-- grouped one has all of them again for each group that a task names, `accuracy_bin0`.
local core = require "longhaul.core"
local quantity = require "longhaul.run.quantity"

local metrics = {}

local function amount(value) return quantity.amount(value) end
local kibibyte, mebibyte = 2 ^ 10, 2 ^ 20

local both, watched, test_alone = { "test", "valid" }, { "test", "watched", "valid" }, { "test" }

-- A line: name, title, and
--   says    what it is, for the documentation
--   unit    of the value in the CSV files; a title names the unit in which readers see it
--   scale   what the unit that readers see is in that of the CSV files, where they differ
--   digits  behind the point, or `format`, a function from value to text
--   better  "min", "max", or nil where neither end is
--   most    the highest value there is: where an error bar ends
--   kind    "quality" of predictions, "cost" in time or memory, "structure" of the model
--   from    "evaluation" (scored in C, by `splits`), "model" (known before a run), "run", "timing",
--           "ratio" (of two rows of a round of timings), "curve", or "script" (a row's `values`; a
--           column only where a script gives it)
--   shared  one column of a table serves all data sets
--   pooled  how seeds become one value: "mean" (and its spread), "every" (the mean, where every
--           seed has a value), "same" (all agree), "max"
--   grouped scored for each group of a task as well
--   of      "tokens" or "vectors": scored by tasks alone that predict those
--   own     scored by tasks alone that score in a way of their own (lh_task_class.score)
--   over    "bytes" or "words" of the raw text that it is over
--   field   of a row that it is made by
--   curve   the columns of a curve that hold it: of the training loss, of the validation split
-- A metric scored without `splits` is printed by `longhaul eval` alone.
local lines = {
  { "parameters", "parameters", format = amount, kind = "structure", from = "model", shared = true,
    pooled = "same",
    says = "trained numbers" },
  { "layout_parameters", "parameters, published layout", digits = 0, kind = "structure",
    from = "script", pooled = "same",
    says = "parameters of the layout that a paper publishes" },
  { "flops_per_token", "FLOP/token", unit = "FLOP", format = amount, better = "min",
    kind = "structure", from = "model",
    shared = true, pooled = "same", says = "of a forward pass with head" },
  { "kaplan_flops_per_token", "FLOP/token (Kaplan)", unit = "FLOP", format = amount, better = "min",
    kind = "structure",
    from = "script", pooled = "same", says = "as Kaplan et al. 2020 count" },
  { "state_bytes", "carried state, KiB", unit = "byte", scale = kibibyte, digits = 1, better = "min",
    kind = "structure",
    from = "model", shared = true, pooled = "same",
    says = "carried from segment to segment by each batch row" },
  { "held_bytes", "memory of the past, KiB", unit = "byte", scale = kibibyte, digits = 1, better = "min",
    kind = "structure", from = "script", pooled = "same",
    says = "the carried state and, of tokens that are looked at again, keys and values" },
  { "bits_per_token", "bits/token", unit = "bit", digits = 3, better = "min", of = "tokens", splits = both,
    curve = { train = "loss_bits", valid = "valid_bits" },
    says = "mean cross-entropy of a predicted token" },
  { "bits_per_byte", "bits/byte", unit = "bit", digits = 3, better = "min", of = "tokens", over = "bytes",
    splits = both,
    says = "the cross-entropy of all predictions over the bytes of the raw text; empty where words, or "
      .. "a twentieth of a document's bytes, are <unk>, whose spelling nothing pays for" },
  { "perplexity", "perplexity", digits = 2, better = "min", of = "tokens", splits = both,
    says = "2^bits_per_token" },
  { "word_perplexity", "word perplexity", digits = 2, better = "min", of = "tokens", over = "words",
    splits = both,
    says = "2^(bits per word of the raw text); empty where bits_per_byte is" },
  { "accuracy", "accuracy", digits = 3, better = "max", most = 1, splits = watched, grouped = true,
    curve = { valid = "valid_accuracy" },
    says = "share of predicted tokens, or of whole strings, that are right" },
  { "error_percent", "error %", unit = "%", digits = 2, better = "min", most = 100, splits = both,
    says = "100 (1 - accuracy)" },
  { "mse", "MSE", digits = 3, better = "min", of = "vectors", splits = both,
    curve = { train = "mse", valid = "valid_mse" },
    says = "mean squared error" },
  { "mae", "MAE", digits = 3, better = "min", of = "vectors", splits = both, says = "mean absolute error" },
  { "bleu", "BLEU", digits = 1, better = "max", own = true, splits = test_alone,
    says = "sacreBLEU's default: words as mteval-v13a cuts them" },
  { "sacrebleu_cased", "sacreBLEU cased", digits = 1, better = "max", own = true, splits = test_alone,
    says = "words cut internationally" },
  { "sacrebleu_uncased", "sacreBLEU uncased", digits = 1, better = "max", own = true, splits = test_alone,
    says = "words cut internationally, in lower case" },
  { "predicted_tokens", "predicted tokens", digits = 0, splits = {},
    says = "tokens that an evaluation scored" },
  { "zero_mse", "MSE of zero", digits = 3, splits = {},
    says = "MSE of predicting zero: what divergence is held against" },
  { "predicted_values", "predicted values", digits = 0, splits = {},
    says = "numbers that an evaluation scored" },
  { "tokens_to_reach", "tokens to the loss", format = amount, better = "min", kind = "cost",
    from = "curve", field = "reach",
    pooled = "every", says = "training tokens at the first point of the curve that reaches a "
      .. "row's `reach`; empty when none does" },
  { "rsa_gate", "gate of the REMs", digits = 3, from = "run",
    says = "of the recurrence encodings, mean of the layers" },
  { "context_tokens", "context, tokens", digits = 0, from = "run", pooled = "every", field = "context",
    says = "the distance within which 95 % of the gain lies: of the bits that reading more than one "
      .. "token saves (a row's `context`); empty where a seed gains no more than chance" },
  { "step_time_ms", "step time, ms", unit = "ms", digits = 1, better = "min", kind = "cost",
    from = "timing",
    shared = true, says = "a training step, median" },
  { "step_time_q1_ms", "step time, lower quartile, ms", unit = "ms", digits = 1, better = "min",
    kind = "cost",
    from = "timing", shared = true, says = "a training step, lower quartile" },
  { "step_time_q3_ms", "step time, upper quartile, ms", unit = "ms", digits = 1, better = "min",
    kind = "cost",
    from = "timing", shared = true, says = "a training step, upper quartile" },
  { "relative_step_time", "relative step time", digits = 2, better = "min", kind = "cost",
    from = "ratio", shared = true,
    says = "the ratio of medians to the baseline row timed with it" },
  { "tokens_per_second", "tokens/s", unit = "1/s", format = amount, better = "max", kind = "cost",
    from = "timing",
    shared = true, says = "tokens of a step over its median time" },
  { "mfu", "MFU", digits = 3, better = "max", kind = "cost", from = "timing", shared = true,
    says = "model FLOPs "
    .. "utilisation: three forward passes' FLOPs a step over its median time, as a share of the "
      .. "machine's matrix rate; empty where that comes out above 1" },
  { "peak_memory_bytes", "peak memory, MiB", unit = "byte", scale = mebibyte, digits = 1, better = "min",
    kind = "cost",
    from = "timing", shared = true, pooled = "max",
    says = "of a training step: the most that tensors hold at once, without the kernels' workspace, "
      .. "where scans keep the states of their chunks" },
  { "inference_memory_bytes", "inference memory, MiB", unit = "byte", scale = mebibyte, digits = 1,
    better = "min", kind = "cost",
    from = "timing", shared = true, pooled = "max",
      says = "the most in use at once while batches of the training shape "
      .. "are evaluated: parameters, carried state, activations; no gradients, no optimizer state; "
      .. "without workspace, too" },
  { "wall_time_s", "training time", unit = "s", format = quantity.duration, better = "min",
    kind = "cost", from = "run",
    shared = true, says = "of training, over restarts" },
  { "training_tokens_per_second", "training tokens/s", unit = "1/s", format = amount, better = "max",
    kind = "cost", from = "run", shared = true,
    says = "of training's last steps, beside whatever else ran" },
} -- end of the metrics

-- ---- what follows from the lines ----

local prefix = { test = "", valid = "valid_", watched = "best_" }
local title_of_split = {
  test = function(title) return title end,
  valid = function(title) return "valid. " .. title end,
  watched = function(title) return title .. ", best evaluation" end,
}

-- "bin0" -> "bin 0"
local function group_title(group) return (group:gsub("_", " "):gsub("(%a)(%d)", "%1 %2")) end

-- The tasks by name, and the groups that each names; the groups of all, each once.
local task_called, has_group = {}, {}

local function groups_of_tasks()
  local groups, seen = {}, {}
  for _, task in ipairs(core.tasks()) do
    task_called[task.name], has_group[task.name] = task, {}
    for _, group in ipairs(task.groups) do
      if not seen[group] then groups[#groups + 1] = group end
      seen[group], has_group[task.name][group] = true, true
    end
  end
  return groups
end

-- Metrics by name, in order: `registry` as they are scored or measured, groups among them.
local registry, scored = {}, {}

local function add(line, name, title)
  local metric = setmetatable({ name = name, title = title, splits = line.splits, grouped = false },
    { __index = line })
  registry[#registry + 1] = metric
  if line.splits then scored[name] = metric end
end

for _, line in ipairs(lines) do
  line.kind, line.pooled, line.from = line.kind or "quality", line.pooled or "mean", line.from
    or "evaluation"
  add(line, line[1], line[2])
  for _, group in ipairs(line.grouped and groups_of_tasks() or {}) do
    add(setmetatable({ curve = false, group = group }, { __index = line }), line[1] .. "_" .. group, line[2]
      .. ", " .. group_title(group))
  end
end

-- Columns of runs.csv by name, and the names in order. A column knows its metric and split.
local columns, order = {}, {}

-- The metrics that columns of a curve hold, by their names, and a watched metric's column there.
local in_curve = {}
local function watched_in_curve(name) return "test_" .. name end

local function add_column(metric, name, split, title)
  columns[name] = { metric = metric, name = name, split = split, title = title }
  order[#order + 1] = name
end

for _, metric in ipairs(registry) do
  if metric.splits then
    for _, split in ipairs(metric.splits) do
      add_column(metric, prefix[split] .. metric.name, split, title_of_split[split](metric.title))
      if split == "watched" then in_curve[watched_in_curve(metric.name)] = metric end
    end
  else
    add_column(metric, metric.name, nil, metric.title)
  end
  for _, name in pairs(metric.curve or {}) do in_curve[name] = metric end
end

local function line_of(name) return columns[name] and columns[name].metric or {} end

--- Whether a column of runs.csv is a metric: a table or a chart can show it.
function metrics.is_known(name) return columns[name] ~= nil end

--- The names of all columns, sorted.
function metrics.names()
  local names = table.move(order, 1, #order, 1, {})
  table.sort(names)
  return names
end

--- Why a name is refused as a metric: "no metric 'bits' (did you mean ...?)"; nil where it is one.
function metrics.refusal(name)
  if metrics.is_known(name) then return nil end
  return ("no metric '%s'%s"):format(tostring(name),
    core.did_you_mean(tostring(name), metrics.names()))
end

--- Every column in the registry's order: { name, title, metric = its line, split }.
function metrics.all()
  local list = {}
  for i, name in ipairs(order) do list[i] = columns[name] end
  return list
end

--- The lines of the registry, for documentation.
function metrics.lines() return lines end

--- A value as commands print it: counts in full.
function metrics.spell(value) return (value % 1 == 0 and "%.0f" or "%.6g"):format(value) end

--- Whether a metric is a column of runs.csv, not only what an evaluation tells.
function metrics.is_column(line) return not line.splits or #line.splits > 0 end

--- The columns that runs.csv always has, in its order.
function metrics.columns()
  local names = {}
  for _, name in ipairs(order) do
    if line_of(name).from ~= "script" then names[#names + 1] = name end
  end
  return names
end

function metrics.title(name) return columns[name] and columns[name].title or name end

--- The same without the unit of time or memory behind it.
function metrics.quantity(name)
  return (metrics.title(name):gsub(", [KM]iB$", ""):gsub(", ms$", ""))
end

--- A column's name over values as metrics.text gives them, with their unit where the name says
--- another.
function metrics.label(name)
  local unit = metrics.title(name):match ", ([KM]iB)$"
  return unit and ("%s, %s"):format(name, unit) or name
end

--- What it is, in words.
function metrics.says(name) return line_of(name).says end

--- "byte", "ms", "%" ...: the unit of the values in CSV files; nil where there is none.
function metrics.unit(name) return line_of(name).unit end

--- The highest value that there is; math.huge where there is no end.
function metrics.most(name) return line_of(name).most or math.huge end

--- "min", "max" or nil.
function metrics.better(name) return line_of(name).better end

--- "quality", "cost" or "structure"; nil when it is no metric.
function metrics.kind(name) return line_of(name).kind end

--- "evaluation", "model", "run", "timing", "ratio", "curve" or "script"; nil when it is no metric.
function metrics.from(name) return line_of(name).from end

-- Where a value comes from that another seed would have otherwise.
local of_a_run = { evaluation = true, run = true, curve = true }

--- Whether each seed has a value of its own, as a quality, the training time and the tokens to a loss
--- have; what follows from the model, or is timed in rounds, all seeds of a row share.
function metrics.is_by_seed(name) return of_a_run[metrics.from(name)] == true end

--- Whether one column of a table serves all data sets.
function metrics.is_shared(name) return line_of(name).shared == true end

--- "mean", "every", "same" or "max".
function metrics.pooled(name) return line_of(name).pooled or "mean" end

--- The columns of what comes `from` there, in the registry's order.
function metrics.columns_from(from)
  local names = {}
  for _, name in ipairs(order) do
    if line_of(name).from == from then names[#names + 1] = name end
  end
  return names
end

--- Puts into a run's row what the registry says comes `from` there.
function metrics.fill_from(record, from, values)
  for _, metric in ipairs(registry) do
    if metric.from == from then record[metric.name] = values[metric.name] end
  end
end

-- A value in the unit that readers see.
local function scaled(name, value) return value / (line_of(name).scale or 1) end

--- A spread as a reader wants it beside its value, with the same decimals; "" for nil.
function metrics.spread(name, value)
  if value == nil or value ~= value then return "" end
  local line = line_of(name)
  if line.format then return line.format(value) end
  return ("%." .. (line.digits or 3) .. "f"):format(scaled(name, value))
end

--- A value as a reader wants it; "" for nil. One that its decimals would make 0 has its first digit: a step of 0.00
--- times another's would take no time, and all small errors would be alike.
function metrics.text(name, value)
  local text = metrics.spread(name, value)
  if tonumber(text) ~= 0 or value == 0 then return text end
  return ("%.1g"):format(scaled(name, value))
end

--- A difference with its sign.
function metrics.difference(name, value)
  if value == nil or value ~= value then return "" end
  local line = line_of(name)
  if line.format or line.scale then
    return (value < 0 and "-" or "+") .. metrics.text(name, math.abs(value))
  end
  return ("%+." .. (line.digits or 3) .. "f"):format(value)
end

-- ---- evaluations ----

--- The names of the metrics that are scored on a split: "test", "valid" or "watched".
function metrics.scored(split)
  local names = {}
  for _, name in ipairs(order) do
    local column = columns[name]
    if column.split == split then names[#names + 1] = column.metric.name end
  end
  return names
end

--- The columns of all splits that evaluations score.
function metrics.scores()
  local names = {}
  for _, name in ipairs(order) do
    if columns[name].split then names[#names + 1] = name end
  end
  return names
end

--- The column that holds a scored metric of a split.
function metrics.column(split, name) return prefix[split] .. name end

--- The validation column by which a seed of this column is chosen; nil where there is none.
function metrics.twin(name)
  local column = columns[name]
  local twin = column and column.split and metrics.column("valid", column.metric.name)
  return columns[twin] and twin or nil
end

--- Why evaluations of a task never give what a column of runs.csv or of a curve holds; nil where they may.
function metrics.never(task, name)
  local line, does = in_curve[name] or line_of(name), task_called[task]
  if line.group and not has_group[task][line.group] then
    return ("task %s names no group '%s', which '%s' is of"):format(task, line.group, name)
  end
  if line.own and not does.scores then return ("task %s scores no '%s'"):format(task, name) end
  if line.of and does.predicts and line.of ~= does.predicts then
    return ("task %s predicts %s, and '%s' is of %s"):format(task, does.predicts, name, line.of)
  end
  if not line.over or does[line.over] then return nil end
  return ("task %s predicts no %s of a text, which '%s' is over"):format(task, line.over, name)
end

-- Whether a column of runs.csv or of a curve is of the test split during training.
local function is_watched(name)
  local column, of_curve = columns[name], in_curve[name]
  return column and column.split == "watched" or of_curve and name == watched_in_curve(of_curve.name)
end

--- Why runs of a row never give what a column holds, though its task may: the row does not ask for it; nil where
--- it does.
function metrics.unasked(row, name)
  local line = in_curve[name] or line_of(name)
  if line.field and not row[line.field] then
    return ("it has no field '%s', which '%s' is made by"):format(line.field, name)
  end
  if line.from == "script" and (row.values or {})[name] == nil then
    return ("its field 'values' has no '%s'"):format(name)
  end
  if not is_watched(name) or row.train:option "evaluate_test" then return nil end
  return ("it is trained without evaluate_test = true, which '%s' is of"):format(name)
end

--- What evaluations of a task may give of the test split, as a text.
function metrics.given(task)
  local names = {}
  for _, name in ipairs(metrics.scored "test") do
    if not metrics.never(task, name) then names[#names + 1] = name end
  end
  return table.concat(names, ", ")
end

--- Why those of the validation split do not give it, where it is over a size of the raw text, by the
--- function `sizes` -> { bytes =, words = }: those of tokens that do not spell their text are no numbers.
function metrics.sizeless(name, sizes)
  local over = line_of(name).over
  local size = over and sizes()[over] or math.huge
  if size > 0 then return nil end
  if size == 0 then return ("'%s' is over the %s of a text, and this task predicts none"):format(name, over) end
  return ("'%s' is over the %s of the text, but its tokens do not spell all of the validation split: "
    .. "<unk> stands for what nothing pays for"):format(name, over)
end

--- Fails when an evaluation gave a number that is in no line above; gives the values back.
function metrics.check_scored(values)
  for name in pairs(values) do
    if not scored[name] then
      error(("an evaluation gives '%s', which harness/run/metrics.lua does not know: add its line there"):format(
        name), 0)
    end
  end
  return values
end

--- Puts what was scored on a split into a run's row.
function metrics.fill_record(record, split, values)
  metrics.check_scored(values)
  for _, name in ipairs(metrics.scored(split)) do
    record[metrics.column(split, name)] = values[name]
  end
end

-- ---- curves ----

local curve_titles, curve_betters = {}, {}

local function curve_names(part)
  local names = {}
  for _, metric in ipairs(registry) do
    local name = metric.curve and metric.curve[part]
    if name then
      names[#names + 1] = name
      curve_titles[name] = part == "valid" and title_of_split.valid(metric.title) or metric.title
      curve_betters[name] = metric.better
    end
  end
  return names
end

local train_names, valid_names = curve_names "train", curve_names "valid"

--- The columns of every curve.
function metrics.curve_columns()
  local names = { "step", "tokens", "time_s" }
  table.move(train_names, 1, #train_names, #names + 1, names)
  table.move({ "rate", "gradient_norm" }, 1, 2, #names + 1, names)
  return table.move(valid_names, 1, #valid_names, #names + 1, names)
end

--- The columns of a curve whose evaluations read the test split.
function metrics.watched_columns()
  local names = metrics.scored "watched"
  for i, name in ipairs(names) do names[i] = watched_in_curve(name) end
  return names
end

--- What a reader calls a column of a curve; "gate of the REMs, layer 2" of `layer_2_rsa_gate`.
function metrics.curve_title(name)
  local layer, metric = name:match "^layer_(%d+)_(.+)$"
  if layer and metrics.is_known(metric) then return ("%s, layer %s"):format(metrics.title(metric), layer) end
  return curve_titles[name] or (name:gsub("_", " "))
end

--- The columns of a curve that are losses or scores.
function metrics.losses()
  local names = table.move(train_names, 1, #train_names, 1, {})
  return table.move(valid_names, 1, #valid_names, #names + 1, names)
end

--- Which end of such a column is better, "min" or "max"; nil when it is none.
function metrics.curve_better(name) return curve_betters[name] end

--- Puts the losses and evaluations that a training loop reports into a point of a curve.
function metrics.fill_point(point, p)
  local valid, test = metrics.check_scored(p.valid), metrics.check_scored(p.test)
  for _, name in ipairs(train_names) do point[name] = p[name] end
  for _, metric in ipairs(registry) do
    local name = metric.curve and metric.curve.valid
    if name then point[name] = valid[metric.name] end
  end
  for _, name in ipairs(metrics.scored "watched") do point[watched_in_curve(name)] = test[name] end
end

--- The best of each watched metric over the points of a curve.
function metrics.best_of_curve(points)
  local best = {}
  for _, name in ipairs(metrics.scored "watched") do
    local choose = scored[name].better == "max" and math.max or math.min
    for _, point in ipairs(points) do
      local value = tonumber(point[watched_in_curve(name)])
      if value then best[name] = choose(value, best[name] or value) end
    end
  end
  return best
end

return metrics
