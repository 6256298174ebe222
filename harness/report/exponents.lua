-- How time and memory grow: exponents fitted to the rows of an experiment, beside the paper's
-- formulas.
local csv = require "longhaul.run.csv"
local core = require "longhaul.core"
local factors = require "longhaul.run.factors"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local pipe_table = require "longhaul.report.pipe_table"
local provenance = require "longhaul.report.provenance"
local published = require "longhaul.report.published"
local quote = require "longhaul.run.quote"
local results_of = require "longhaul.report.results"
local summary = require "longhaul.report.summary"
local views = require "longhaul.report.views"

local exponents = {}

-- What a measure of a fit comes to for a row, or nil where it lacks a value; which metrics it read; and
-- whether one of them is a time of a busy machine. What else goes wrong in a script's function is told.
local function value_of(results, row, options, name)
  local measure, read, was_busy, lacks = options.of[name], {}, false, false
  local function value(metric)
    local refusal = metrics.refusal(metric)
    lacks = lacks and not refusal
    if refusal then error(refusal, 0) end
    local _, busy = results:reason(row.label, metric, row.dataset)
    local number = results:value(row.label, metric, row.dataset)
    read[#read + 1], was_busy, lacks = metric, was_busy or busy == true, lacks or not number
    return number
  end
  local function computed()
    if type(measure) == "string" then return value(measure) end
    local y = measure(value)
    if y and not math.type(y) then error("gives no number", 0) end
    return y
  end
  local good, y = pcall(computed)
  if not good and not lacks then
    error(("%s: fit: measure '%s': %s"):format(options.line, name, y), 0)
  end
  return good and y or nil, read, was_busy
end

-- The group of a row, as the text that a file has.
local function group_of(row, name) return factors.text(factors.value(row, name)) end

-- What a row shares with those that differ from it in the group and `axis` alone: "books, batch 1".
local function held(row, group, axis)
  local words = { row.dataset }
  for _, pair in ipairs(row.factors) do
    if pair[1] ~= group and pair[1] ~= axis then
      words[#words + 1] = ("%s %s"):format(pair[1], factors.text(pair[2]))
    end
  end
  return table.concat(words, ", ")
end

local function has_logarithm(number) return number > 0 and number < math.huge end

-- The sets of a group's rows that differ in `axis` alone, as points { x, y, row = }, in the order of the
-- rows and by what they hold; `read`: the metrics behind them; `busy`: whether one is of a busy machine;
-- `doubtful`: the status of one whose runs are not today's.
local function sets_along(experiment, results, options, group, axis, measure)
  local sets = {}
  for _, row in ipairs(experiment.rows) do
    local x, y, read, busy = factors.value(row, axis), nil, nil, nil
    if group_of(row, options.group) == group then y, read, busy = value_of(results, row, options, measure) end
    if y and has_logarithm(y) and has_logarithm(x) then
      local key = held(row, options.group, axis)
      if not sets[key] then
        sets[key] = { held = key, read = read }
        sets[#sets + 1] = sets[key]
      end
      sets[key].busy = sets[key].busy or busy
      local status, why = results:status(row.label, row.dataset)
      sets[key].doubtful = sets[key].doubtful or results_of.doubt(status, why) and status
      table.insert(sets[key], { x, y, row = row })
    end
  end
  return sets
end

-- The set with the most points, the first of several; with `others` of those that hold what one of
-- these does.
local function largest(sets, others)
  local best = {}
  for _, set in ipairs(sets) do
    if #set > #best and (not others or others[set.held]) then best = set end
  end
  return best
end

--- The slope of log y over log x by least squares and its standard error; nil below two points, and
--- no error below three, which leave nothing to judge a line by.
function exponents.slope(points)
  local n, mx, my, sxx, sxy, syy = #points, 0, 0, 0, 0, 0
  for _, point in ipairs(points) do
    mx, my = mx + math.log(point[1]) / n, my + math.log(point[2]) / n
  end
  for _, point in ipairs(points) do
    local x, y = math.log(point[1]) - mx, math.log(point[2]) - my
    sxx, sxy, syy = sxx + x * x, sxy + x * y, syy + y * y
  end
  if n < 2 or sxx <= 0 then return nil end
  local slope = sxy / sxx
  if n < 3 then return slope end
  return slope, math.sqrt(math.max(0, syy - slope * sxy) / ((n - 2) * sxx))
end

local function groups_of(experiment, name)
  local groups = lists.set()
  for _, row in ipairs(experiment.rows) do groups:add(group_of(row, name)) end
  return groups.list
end

-- y of points { x, y } in order at x, on the straight line between logarithms; nil outside them.
local function between(points, x)
  for i = 1, #points do
    if points[i][1] == x then return points[i][2] end
    local low, high = points[i], points[i + 1]
    if high and low[1] < x and x < high[1] then
      local part = math.log(x / low[1]) / math.log(high[1] / low[1])
      return low[2] * (high[2] / low[2]) ^ part
    end
  end
end

local function by_x(a, b) return a[1] < b[1] end

-- By how much `points` lie above `base`, in logarithms, where either has a point and both were measured: { x,
-- difference } in order. Between two of these both are straight lines.
local function differences(points, base)
  local list = {}
  for _, point in ipairs(table.move(base, 1, #base, #points + 1, { table.unpack(points) })) do
    local own, other = between(points, point[1]), between(base, point[1])
    if own and other then list[#list + 1] = { point[1], math.log(own / other) } end
  end
  table.sort(list, by_x)
  return list
end

--- From where on `points` are below `base` (both { x, y }), as far as both were measured: x, by the
--- straight lines between logarithms; false where the last point of both is not below; nil where
--- nothing was measured of both. Then the first point of both where they are below, nil for none.
function exponents.crossing(points, base)
  table.sort(points, by_x)
  table.sort(base, by_x)
  local found, before, first = false, nil, nil
  for _, point in ipairs(differences(points, base)) do
    local x, difference = point[1], point[2]
    if difference >= 0 then
      found = false
    elseif not found then
      found = before and x * (before[1] / x) ^ (difference / (difference - before[2])) or x
    end
    first = first or difference < 0 and x or nil
    before = point
  end
  if not before then return nil end
  return found, first
end

-- Whether the times behind two lists of points are of several rounds.
local function is_of_several(results, points, others)
  return results:apart(points.read, table.move(others, 1, #others, #points + 1, { table.unpack(points) }))
end

-- What stands behind a crossing: what the points hold, where there are others, and what is amiss with their times.
local function behind(results, fall)
  local points, base, words = fall.points, fall.base, { fall.held }
  local doubtful = points.doubtful or base.doubtful
  if doubtful then words[#words + 1] = ("with runs that are not today's: %s"):format(doubtful) end
  if points.busy or base.busy then words[#words + 1] = "by times of a busy machine" end
  if is_of_several(results, points, base) then words[#words + 1] = "of several rounds" end
  return #words > 0 and (" (%s)"):format(table.concat(words, "; ")) or ""
end

-- A place on an axis: counts begin with the next whole one.
local function place_text(x, ...)
  for _, points in ipairs { ... } do
    for _, point in ipairs(points) do
      if point[1] % 1 ~= 0 then return ("%.3g"):format(x) end
    end
  end
  return ("%.0f"):format(math.ceil(x))
end

-- How a group's points fall below those of another, of the sets of both: { points =, base = the points of the other,
-- held = what both hold, where either has more sets, x and first = as exponents.crossing }; nil where nothing was
-- measured of both.
local function fall_of(sets, bases)
  local points = largest(sets, bases)
  local x, first = exponents.crossing(points, bases[points.held] or {})
  if x == nil then return nil end
  local held = (#sets > 1 or #bases > 1) and points.held or nil
  return { points = points, base = bases[points.held], held = held, x = x, first = first }
end

-- "LSH attention: less time than full attention from length 1365 on (costs, batch 1).".
local function sentence_of(group, base, measure, axis, fall, of)
  if not fall.x and fall.first then
    return ("%s: less %s than %s at some %s, but not at the last that was measured of both%s."):format(group, measure,
      base, axis, of)
  end
  if not fall.x then
    return ("%s: at no %s less %s than %s, as far as both were measured%s."):format(group, axis,
      measure, base, of)
  end
  return ("%s: less %s than %s from %s %s on%s%s."):format(group, measure, base, axis,
    place_text(fall.x, fall.points, fall.base), fall.x == fall.first and ", the first that was measured" or "", of)
end

-- What each group is by each measure over each axis: { group =, measure =, axis =, points =, fall = } ..., `fall` below
-- the group that `options.crossing` names; nil of itself.
local function fits_of(experiment, options, results)
  local list = {}
  local function add(group, measure, axis)
    local function sets_of(name) return sets_along(experiment, results, options, name, axis, measure) end
    local sets, is_compared = sets_of(group), options.crossing and group ~= options.crossing
    list[#list + 1] = { group = group, measure = measure, axis = axis, points = largest(sets),
      fall = is_compared and fall_of(sets, sets_of(options.crossing)) or nil }
  end
  for _, group in ipairs(groups_of(experiment, options.group)) do
    for _, measure in ipairs(lists.keys(options.of)) do
      for _, axis in ipairs(options.over) do add(group, measure, axis) end
    end
  end
  return list
end

local function crossings_of(fits, options, results)
  local list = {}
  for _, fit in ipairs(fits) do
    local fall = fit.fall
    list[#list + 1] = fall and sentence_of(fit.group, options.crossing, fit.measure, fit.axis, fall,
      behind(results, fall)) or nil
  end
  return list
end

--- From where on each group is below the one that `options.crossing` names, as sentences.
function exponents.crossings(experiment, options, results)
  return crossings_of(fits_of(experiment, options, results), options, results)
end

-- The record of a fit; nil below two points. `formulas`: of the paper, by group and measure.
local function record_of(fit, options, results, formulas)
  local points, fall = fit.points, fit.fall
  local slope, standard_error = exponents.slope(points)
  if not slope then return nil end
  return {
    row = fit.group, measure = fit.measure, over = fit.axis, exponent = ("%.3f"):format(slope),
    standard_error = standard_error and ("%.3f"):format(standard_error),
    points = #points, held = points.held, busy = points.busy,
    status = points.doubtful or points.busy and "busy" or "done",
    rounds = results:apart(points.read, points) and "several" or nil,
    published = (formulas[fit.group] or {})[fit.measure],
    scale = results.scale, device = results.device, below = fall and options.crossing,
    below_from = fall and (fall.x and place_text(fall.x, fall.points, fall.base) or "none"),
    below_rounds = fall and is_of_several(results, fall.points, fall.base) and "several" or nil,
  }
end

local function records_of(fits, options, results)
  local formulas, records = options.published and published.formulas(options.published) or {}, {}
  for _, fit in ipairs(fits) do records[#records + 1] = record_of(fit, options, results, formulas) end
  return records
end

--- One record for each group, measure and axis that has been measured at two points or more.
function exponents.records(experiment, options, results)
  return records_of(fits_of(experiment, options, results), options, results)
end

--- What a reader must know of the runs and times behind the records: one sentence each.
function exponents.notes(records)
  local busy, several = false, false
  for _, record in ipairs(records) do
    busy, several = busy or record.busy, several or record.rounds ~= nil
  end
  local notes = {}
  local doubtful = results_of.doubtful(records, function(record) return record.row, record.status end)
  if busy then notes[1] = "~: with times of a busy machine." end
  if #doubtful > 0 then
    notes[#notes + 1] = ("Some exponents are of runs that are not today's (status in the CSV file): %s."):format(
      table.concat(doubtful, ", "))
  end
  if several then
    notes[#notes + 1] = "Some exponents are of times of several rounds (rounds in the CSV file), "
      .. "between which the machine may have changed."
  end
  return notes
end

-- "1.021 ±0.013", without an error where there are two points alone, marked where it is of busy times.
local function with_error(record)
  local error_text = record.standard_error and " ±" .. record.standard_error or ""
  return record.exponent .. error_text .. (record.busy and "~" or "")
end

local function markdown(name, records, sentences, source)
  local rows = {}
  for i, r in ipairs(records) do
    rows[i] = { r.row, r.measure, r.over, r.held, with_error(r), r.points, r.published or "" }
    for c, cell in ipairs(rows[i]) do rows[i][c] = quote.markdown(cell) end
  end
  local lines = { "# " .. name .. ": fitted exponents, ± the standard error of the slope", "",
    pipe_table.text({ "row", "measure", "over", "of", "exponent", "points", "paper" }, "llllrrl", rows) }
  for i, text in ipairs(sentences) do
    lines[#lines + 1] = (i == 1 and "\n" or "") .. "- " .. quote.markdown(text)
  end
  lines[#lines + 1] = "\n" .. source
  return table.concat(lines, "\n") .. "\n"
end

exponents.columns = { "row", "measure", "over", "held", "exponent", "standard_error", "points",
  "published", "scale", "device", "status", "rounds" }

--- What a file has besides, where it has something to say: options that `--set` changed; below which group a row is,
--- from where on ("none": at the last that was measured of both it is not), and whether by times of several rounds.
exponents.more_columns = { "changed", "below", "below_from", "below_rounds" }

--- Writes <folder>/<name>.{csv,md} and prints the fits; gives the paths.
function exponents.write(experiment, options, results, folder)
  local fits = fits_of(experiment, options, results)
  local records = records_of(fits, options, results)
  if #records == 0 then return {} end
  local sentences, crossings = exponents.notes(records), crossings_of(fits, options, results)
  table.move(crossings, 1, #crossings, #sentences + 1, sentences)
  print("")
  for _, r in ipairs(records) do
    print(("%-30s %-7s ~ %-8s ^ %-15s (%d points of %s)  paper: %s"):format(r.row, r.measure,
      r.over, with_error(r), r.points, r.held, r.published or "-"))
  end
  for _, text in ipairs(sentences) do print(text) end
  for _, record in ipairs(records) do record.changed = experiment.changed end
  local base = folder .. "/" .. (options.name or "exponents")
  views.make_room(base, { "csv", "md" }, views.owner(results.scale, results.device))
  csv.write(base .. ".csv", views.columns(exponents.columns, exponents.more_columns, records), records)
  local runs = provenance.runs_of(results)
  local source = ("Scale %s, %s. %s"):format(results.scale, summary.seeds(runs),
    provenance.sentence(runs))
  if experiment.changed then source = source .. " " .. views.changed_text(experiment.changed) end
  print(source)
  core.write_file(base .. ".md",
    markdown(experiment.name, records, sentences, quote.markdown(source)))
  return { base .. ".csv", base .. ".md" }
end

return exponents
