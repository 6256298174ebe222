-- How time and memory grow: exponents fitted to the rows of an experiment, beside the paper's
-- formulas.
local csv = require "longhaul.run.csv"
local core = require "longhaul.core"
local provenance = require "longhaul.report.provenance"
local published = require "longhaul.report.published"
local quote = require "longhaul.run.quote"
local summary = require "longhaul.report.summary"
local views = require "longhaul.report.views"

local exponents = {}

local function factor(row, name)
  for _, pair in ipairs(row.factors or {}) do
    if pair[1] == name then return pair[2] end
  end
  error(("fit: row \"%s\" has no factor '%s'"):format(row.label, name), 0)
end

-- What a measure (a metric, or a function of them) comes to for a row, or nil.
local function value_of(results, row, measure)
  local function value(metric) return results:value(row.label, metric, row.dataset) end
  if type(measure) == "string" then return value(measure) end
  local good, y = pcall(measure, value)
  return good and y or nil
end

-- What a row shares with those that differ from it in the group and `axis` alone: "books, batch 1".
local function held(row, group, axis)
  local words = { row.dataset }
  for _, pair in ipairs(row.factors) do
    if pair[1] ~= group and pair[1] ~= axis then
      words[#words + 1] = ("%s %s"):format(pair[1], pair[2])
    end
  end
  return table.concat(words, ", ")
end

-- The sets of a group's rows that differ in `axis` alone, as points { x, y }, in the order of the rows
-- and by what they hold.
local function sets_along(experiment, results, options, group, axis, measure)
  local sets = {}
  for _, row in ipairs(experiment.rows) do
    local x = factor(row, axis)
    local y = factor(row, options.group) == group and value_of(results, row, measure)
    if y and y > 0 and x > 0 then
      local key = held(row, options.group, axis)
      if not sets[key] then
        sets[key] = { held = key }
        sets[#sets + 1] = sets[key]
      end
      table.insert(sets[key], { x, y })
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
  local groups, seen = {}, {}
  for _, row in ipairs(experiment.rows) do
    local group = factor(row, name)
    if not seen[group] then groups[#groups + 1] = group end
    seen[group] = true
  end
  return groups
end

--- One record for each group, measure and axis that has been measured at two points or more.
function exponents.records(experiment, options, results)
  local formulas = options.published and published.formulas(options.published) or {}
  local measures, records = {}, {}
  for name in pairs(options.of) do measures[#measures + 1] = name end
  table.sort(measures)
  for _, group in ipairs(groups_of(experiment, options.group)) do
    for _, measure in ipairs(measures) do
      for _, axis in ipairs(options.over) do
        local points = largest(sets_along(experiment, results, options, group, axis,
          options.of[measure]))
        local slope, standard_error = exponents.slope(points)
        if slope then
          records[#records + 1] = {
            row = group, measure = measure, over = axis, exponent = ("%.3f"):format(slope),
            standard_error = standard_error and ("%.3f"):format(standard_error),
            points = #points, held = points.held, published = (formulas[group] or {})[measure],
            scale = results.scale, device = results.device,
          }
        end
      end
    end
  end
  return records
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

--- From where on `points` are below `base` (both { x, y }), as far as both were measured: x, by the
--- straight lines between logarithms, and whether that is the first point of both; nil where the
--- last one is not below.
function exponents.crossing(points, base)
  table.sort(points, by_x)
  table.sort(base, by_x)
  local found, before, first
  for _, point in ipairs(points) do
    local other = between(base, point[1])
    if other then
      local ratio = math.log(point[2] / other)
      if ratio >= 0 then
        found = nil
      elseif not found then
        found = before and point[1] * (before[1] / point[1]) ^ (ratio / (ratio - before[2]))
          or point[1]
        first = before == nil
      end
      before = { point[1], ratio }
    end
  end
  return found, found and first
end

-- "LSH attention: less time than full attention from length 1365 on (costs, batch 1)."; what the points
-- hold is said where others hold something else.
local function sentence_of(group, base, measure, axis, points, sets)
  local x, first = exponents.crossing(points, sets[points.held])
  local of = #sets > 1 and (" (%s)"):format(points.held) or ""
  if not x then
    return ("%s: at no %s less %s than %s, as far as both were measured%s."):format(group, axis,
      measure, base, of)
  end
  return ("%s: less %s than %s from %s %d on%s%s."):format(group, measure, base, axis,
    math.ceil(x), first and ", the first that was measured" or "", of)
end

--- From where on each group is below the one that `options.crossing` names, as sentences.
function exponents.crossings(experiment, options, results)
  if not options.crossing then return {} end
  local measures, list, groups = {}, {}, groups_of(experiment, options.group)
  if not table.concat(groups, "\n"):find(options.crossing, 1, true) then
    error(("fit: no row has '%s' as its %s"):format(options.crossing, options.group), 0)
  end
  for name in pairs(options.of) do measures[#measures + 1] = name end
  table.sort(measures)
  for _, group in ipairs(groups) do
    for _, measure in ipairs(group ~= options.crossing and measures or {}) do
      for _, axis in ipairs(options.over) do
        local function sets_of(name)
          return sets_along(experiment, results, options, name, axis, options.of[measure])
        end
        local base = sets_of(options.crossing)
        local points = largest(sets_of(group), base)
        if #points > 0 then
          list[#list + 1] = sentence_of(group, options.crossing, measure, axis, points,
            base)
        end
      end
    end
  end
  return list
end

-- "1.021 ±0.013", without an error where there are two points alone.
local function with_error(record)
  if not record.standard_error then return record.exponent end
  return ("%s ±%s"):format(record.exponent, record.standard_error)
end

local function markdown(name, records, crossings, source)
  local lines = {
    "# " .. name .. ": fitted exponents, ± the standard error of the slope", "",
    "| row | measure | over | of | exponent | points | paper |",
    "| --- | --- | --- | --- | --: | --: | --- |",
  }
  for _, r in ipairs(records) do
    lines[#lines + 1] = ("| %s | %s | %s | %s | %s | %d | %s |"):format(quote.markdown(r.row),
      r.measure, r.over, quote.markdown(r.held), with_error(r), r.points, r.published or "")
  end
  for i, text in ipairs(crossings) do
    lines[#lines + 1] = (i == 1 and "\n" or "") .. "- " .. quote.markdown(text)
  end
  lines[#lines + 1] = "\n" .. source
  return table.concat(lines, "\n") .. "\n"
end

local columns = { "row", "measure", "over", "held", "exponent", "standard_error", "points",
  "published", "scale", "device" }

--- Writes <folder>/<name>.{csv,md} and prints the fits; gives the paths.
function exponents.write(experiment, options, results, folder)
  local records = exponents.records(experiment, options, results)
  if #records == 0 then return {} end
  print("")
  for _, r in ipairs(records) do
    print(("%-30s %-7s ~ %-8s ^ %6s%-8s (%d points of %s)  paper: %s"):format(r.row, r.measure,
      r.over, r.exponent, r.standard_error and " ±" .. r.standard_error or "", r.points, r.held,
      r.published or "-"))
  end
  local base = folder .. "/" .. (options.name or "exponents")
  views.make_room(base, { "csv", "md" }, views.owner(results.scale, results.device))
  csv.write(base .. ".csv", columns, records)
  local crossings = exponents.crossings(experiment, options, results)
  for _, text in ipairs(crossings) do print(text) end
  local runs = provenance.runs_of(results)
  local source = ("Scale %s, %s. %s"):format(results.scale, summary.seeds(runs),
    provenance.sentence(runs))
  print(source)
  core.write_file(base .. ".md",
    markdown(experiment.name, records, crossings, quote.markdown(source)))
  return { base .. ".csv", base .. ".md" }
end

return exponents
