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

-- Rows of a group that differ in `axis` alone: the set with the most of them, as points { x, y }.
local function points_along(experiment, results, options, group, axis, measure)
  local sets, best = {}, {}
  for _, row in ipairs(experiment.rows) do
    local y = factor(row, options.group) == group and value_of(results, row, measure)
    if y and y > 0 then
      local words = {}
      for i, other in ipairs(options.over) do
        words[i] = other == axis and "" or tostring(factor(row, other))
      end
      local key = table.concat(words, " ")
      sets[key] = sets[key] or {}
      table.insert(sets[key], { factor(row, axis), y })
      if #sets[key] > #best then best = sets[key] end
    end
  end
  return best
end

--- The slope of log y over log x by least squares; nil below two points.
function exponents.slope(points)
  local n, sx, sy, sxx, sxy = #points, 0, 0, 0, 0
  for _, point in ipairs(points) do
    local x, y = math.log(point[1]), math.log(point[2])
    sx, sy, sxx, sxy = sx + x, sy + y, sxx + x * x, sxy + x * y
  end
  local spread = n * sxx - sx * sx
  if n < 2 or spread <= 0 then return nil end
  return (n * sxy - sx * sy) / spread
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
        local points = points_along(experiment, results, options, group, axis, options.of[measure])
        local slope = exponents.slope(points)
        if slope then
          records[#records + 1] = {
            row = group, measure = measure, over = axis, exponent = ("%.3f"):format(slope),
            points = #points,
            published = (formulas[group] or {})[measure], scale = results.scale,
            device = results.device,
          }
        end
      end
    end
  end
  return records
end

local function markdown(name, records, source)
  local lines = {
    "# " .. name .. ": fitted exponents", "",
    "| row | measure | over | exponent | points | paper |", "| --- | --- | --- | --: | --: | --- |",
  }
  for _, r in ipairs(records) do
    lines[#lines + 1] = ("| %s | %s | %s | %s | %d | %s |"):format(quote.markdown(r.row), r.measure,
      r.over, r.exponent, r.points,
      r.published or "")
  end
  lines[#lines + 1] = "\n" .. source
  return table.concat(lines, "\n") .. "\n"
end

local columns = { "row", "measure", "over", "exponent", "points", "published", "scale", "device" }

--- Writes <folder>/exponents.{csv,md} and prints the fits; gives the paths.
function exponents.write(experiment, options, results, folder)
  local records = exponents.records(experiment, options, results)
  if #records == 0 then return {} end
  print("")
  for _, r in ipairs(records) do
    print(("%-30s %-7s ~ %-8s ^ %6s   paper: %s"):format(r.row, r.measure, r.over, r.exponent,
      r.published or "-"))
  end
  views.make_room(folder .. "/exponents", { "csv", "md" },
    views.owner(results.scale, results.device))
  csv.write(folder .. "/exponents.csv", columns, records)
  local runs = provenance.runs_of(results)
  local source = ("Scale %s, %s. %s"):format(results.scale, summary.seeds(runs),
    provenance.sentence(runs))
  print(source)
  core.write_file(folder .. "/exponents.md",
    markdown(experiment.name, records, quote.markdown(source)))
  return { folder .. "/exponents.csv", folder .. "/exponents.md" }
end

return exponents
