-- What expressions of figures in documents may say of the comparison (known-figures.lua, whose table of functions this
-- adds to, and whose helpers it takes).
local lists = require "longhaul.run.lists"
local quote = require "longhaul.run.quote"
local statistics = require "longhaul.report.statistics"

local known, helpers = ...
local markdown, matching, results_of = helpers.markdown, helpers.matching, helpers.results_of

-- ---- tables ----

-- "**2.615 ±0.027**" of the best mean, "≈ 2.661 ±0.094" of one that is not told from it.
local function marked_text(record, format, factor)
  local text = format:format(factor * record.measured)
  if record.spread ~= "" then text = ("%s ±%s"):format(text, format:format(factor * record.spread)) end
  if record.best == "yes" then return ("**%s**"):format(text) end
  return record.tie == "yes" and "≈ " .. text or text
end

--- Of a table.csv: rows by data sets, mean and standard deviation times `factor`, best and ties marked.
--- `datasets` chooses and orders them.
function known.marked(path, metric, format, factor, datasets)
  return helpers.by_dataset(path, metric, datasets, function(record) return marked_text(record, format, factor) end)
end

-- ---- seeds ----

-- The rows of an experiment in the order of its table.
local function rows_of(path)
  local rows = lists.set()
  for _, record in ipairs(matching(path .. "/table.csv", {})) do rows:add(record.row) end
  return rows.list
end

-- The finished runs of a row on a data set, by seed.
local function runs_of(path, row, dataset)
  local group = results_of(path):group(row, dataset)
  if not group then error(("%s: no runs of '%s' on %s"):format(path, row, dataset), 0) end
  local runs = table.move(group.done, 1, #group.done, 1, {})
  table.sort(runs, function(a, b) return tonumber(a.seed) < tonumber(b.seed) end)
  return runs
end

local function texts_of(path, row, column, format)
  local texts = {}
  for i, run in ipairs(runs_of(path, row, column[3])) do
    local value = tonumber(run[column[2]]) or error(("%s: no %s of '%s'"):format(path, column[2], row), 0)
    texts[i] = (column[4] or format):format(value)
  end
  return table.concat(texts, " / ")
end

--- What each seed of a row measured; `columns` = { { title, metric, dataset, format } ... }, the format where it is
--- another; `rows` chooses and orders them.
function known.by_seed(path, format, columns, rows)
  local head, lines = { "" }, {}
  for i, column in ipairs(columns) do head[i + 1] = column[1] end
  for i, row in ipairs(rows or rows_of(path)) do
    lines[i] = { quote.markdown(row) }
    for c, column in ipairs(columns) do lines[i][c + 1] = texts_of(path, row, column, format) end
  end
  return markdown(head, lines)
end

-- ---- probes ----

-- Probes by run: name -> value.
local function probes_of(path)
  local by_run = {}
  for _, probe in ipairs(matching(path .. "/probes.csv", {})) do
    by_run[probe.run_id] = by_run[probe.run_id] or {}
    by_run[probe.run_id][probe.name] = tonumber(probe.value)
  end
  return by_run
end

-- The mean over seeds of a probe; "" where a row has none.
local function mean_probe(by_run, runs, name, format)
  local values = {}
  for _, run in ipairs(runs) do values[#values + 1] = (by_run[run.run_id] or {})[name] end
  return #values > 0 and format:format((statistics.of(values))) or ""
end

--- What a row's `context` measured of a part ("kept", "changed", "position", "recall") at distances, means over seeds;
--- `columns` = { { title, part, distance } ... }.
function known.profile(path, dataset, format, columns)
  local by_run, head, lines = probes_of(path), { "" }, {}
  for i, column in ipairs(columns) do head[i + 1] = column[1] end
  for i, row in ipairs(rows_of(path)) do
    local runs = runs_of(path, row, dataset)
    lines[i] = { quote.markdown(row) }
    for c, column in ipairs(columns) do
      lines[i][c + 1] = mean_probe(by_run, runs, ("context_%s_%d"):format(column[2], column[3]), format)
    end
  end
  return markdown(head, lines)
end

-- ---- budgets ----

-- Who has the lowest loss at a moment, and who is not told from it.
local function leaders_at(path, dataset, over, at)
  local best, ties = nil, {}
  for _, record in ipairs(matching(path .. "/best_at.csv", { dataset = dataset, over = over, at = at })) do
    if record.place == "best" then best = record end
    if record.place == "tie" then ties[#ties + 1] = record.row end
  end
  if not best then error(("%s: nobody is the best of %s at %g %s"):format(path, dataset, at, over), 0) end
  return ("%s, %.3f ±%.3f"):format(best.row, best.loss, best.spread), ties
end

--- Who is ahead after amounts of `over` ("seconds", "flops"), data by data.
function known.leaders(path, over, amounts)
  local datasets, lines = lists.set(), {}
  for _, record in ipairs(matching(path .. "/best_at.csv", { over = over })) do datasets:add(record.dataset) end
  for _, dataset in ipairs(datasets.list) do
    for _, at in ipairs(amounts) do
      local best, ties = leaders_at(path, dataset, over, at)
      lines[#lines + 1] = { dataset, ("%g"):format(at), best, tostring(#ties), table.concat(ties, "; ") }
    end
  end
  return markdown({ "data", over, "lowest loss", "ties", "who ties" }, lines,
    { ["lowest loss"] = true, ["who ties"] = true })
end

-- ---- rates ----

local function rate_of(run) return tonumber((" " .. run.train_options):match " rate=(%S+)") end

-- The least and the greatest rate that trials of a data set had.
local function range_of(path, dataset)
  local least, greatest = math.huge, 0
  for _, trial in ipairs(matching(path .. "-trials-round1/runs.csv", { dataset = dataset })) do
    least, greatest = math.min(least, rate_of(trial)), math.max(greatest, rate_of(trial))
  end
  return least, greatest
end

-- The tuned rows of a data set that train at a rate, and how many rows are tuned.
local function rows_at(path, dataset, rate)
  local names, count = {}, 0
  for _, row in ipairs(rows_of(path)) do
    local group = results_of(path):group(row, dataset)
    local run = group and group.done[1]
    local is_tuned = run and (run.tuned or "") ~= ""
    count = count + (is_tuned and 1 or 0)
    if is_tuned and rate_of(run) == rate then names[#names + 1] = row end
  end
  return names, count
end

local function count_and_names(names)
  return #names == 0 and "0" or ("%d: %s"):format(#names, table.concat(names, "; "))
end

--- Rows that chose the lowest or the highest rate that was tried: a better one may lie beyond. `datasets` of an
--- experiment (nil: all).
function known.edges(path, datasets)
  local lines = {}
  for i, dataset in ipairs(datasets or results_of(path).datasets) do
    local least, greatest = range_of(path, dataset)
    local low, count = rows_at(path, dataset, least)
    lines[i] = { dataset, tostring(count), ("%g to %g"):format(least, greatest), count_and_names(low),
      count_and_names((rows_at(path, dataset, greatest))) }
  end
  return markdown({ "data", "rows", "rates tried", "chose the lowest", "chose the highest" }, lines,
    { ["chose the lowest"] = true, ["chose the highest"] = true })
end

--- How many rows of these data sets (nil: all) chose the "lowest" or the "highest" rate that was tried.
function known.at_edge(path, edge, datasets)
  local count = 0
  for _, dataset in ipairs(datasets or results_of(path).datasets) do
    local least, greatest = range_of(path, dataset)
    count = count + #rows_at(path, dataset, edge == "lowest" and least or greatest)
  end
  return count
end

-- ---- costs by length ----

-- From which length on a row takes less time; times of two rounds are not compared.
local function from_text(fit)
  if fit.below_rounds == "several" then return "other round" end
  return fit.below_from == "none" and "at none" or fit.below_from
end

local function fit_of(path, row, measure)
  return matching(path .. "/exponents.csv", { row = row, measure = measure, over = "length" })[1]
end

-- Numbers of "<row> <length>" at some lengths.
local function add_lengths(line, path, row, lengths, metric, format, factor)
  for _, length in ipairs(lengths) do
    local where = { row = ("%s %d"):format(row, length), metric = metric }
    table.insert(line, format:format(factor * known.value(path .. "/table.csv", where, "measured")))
  end
end

--- Step time and peak memory of an experiment whose rows are "<architecture> <length>", at some lengths, and the
--- exponents over all of them.
function known.costs_by_length(path, lengths)
  local head, lines = { "" }, {}
  for _, unit in ipairs { "ms", "MiB" } do
    for _, length in ipairs(lengths) do head[#head + 1] = ("%d tokens, %s"):format(length, unit) end
    head[#head + 1] = unit == "ms" and "exponent of time" or "of memory"
    head[#head + 1] = unit == "ms" and "less time than the Transformer from" or nil
  end
  for i, fit in ipairs(matching(path .. "/exponents.csv", { measure = "time", over = "length" })) do
    lines[i] = { quote.markdown(fit.row) }
    add_lengths(lines[i], path, fit.row, lengths, "step_time_ms", "%.1f", 1)
    -- to the digits of the file: of fewer 0.985, which may be 0.9854, would be rounded once more
    table.insert(lines[i], ("%.3f ±%.3f"):format(fit.exponent, fit.standard_error))
    table.insert(lines[i], from_text(fit))
    add_lengths(lines[i], path, fit.row, lengths, "peak_memory_bytes", "%.1f", 2 ^ -20)
    table.insert(lines[i], ("%.3f"):format(fit_of(path, fit.row, "memory").exponent))
  end
  return markdown(head, lines)
end
