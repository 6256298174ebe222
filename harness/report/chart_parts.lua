-- What the kinds of charts are made from: rows and their groups, axes, titles, curves. A kind draws
-- from a view: { experiment =, results =, store =, scale =, device =, runs = the finished runs that
-- the chart shows, open = function(experiment): { rows =, results =, store = } of another one }.
local gnuplot = require "longhaul.report.gnuplot"
local metrics = require "longhaul.run.metrics"
local provenance = require "longhaul.report.provenance"

local parts = {}

-- ---- checking ----

--- What is wrong with the field `y` of a plot, which names a metric; nil where nothing is.
function parts.check_metric(plot)
  local refusal = metrics.refusal(parts.axis(plot.y) or "(nothing)")
  return refusal and "field 'y': " .. refusal
end

--- The same, of a plot that has the field `x`, too.
function parts.check_axes(plot)
  return parts.check_metric(plot) or not plot.x and "field 'x' is missing" or nil
end

--- What is wrong where a plot lacks some of these fields: "needs the fields 'row' and 'layer'".
function parts.check_needed(plot, names)
  local lacking, quoted = false, {}
  for i, name in ipairs(names) do
    lacking = lacking or plot[name] == nil
    quoted[i] = ("'%s'"):format(name)
  end
  if not lacking then return nil end
  local all = table.concat(quoted, ", ", 1, #quoted - 1)
  return ('"%s" needs the field%s %s%s'):format(plot[1], #quoted > 1 and "s" or "", all ~= ""
    and all .. " and " or "",
    quoted[#quoted])
end

-- ---- rows ----

--- What a plot says that may show all data sets in one chart.
parts.together = { "together", "boolean", "true: all data sets in one chart" }

--- The rows that a plot shows: of an experiment on a data set, or all of them.
function parts.rows_of(view, plot, dataset)
  local rows = {}
  for _, row in ipairs(view.experiment.rows) do
    if plot.together or row.dataset == dataset then rows[#rows + 1] = row end
  end
  return rows
end

local function factor(row, name)
  for _, pair in ipairs(row.factors or {}) do
    if pair[1] == name then return pair[2] end
  end
  return nil
end

--- What a row is grouped or labelled by: its label, its model's class, a factor of the sweep or an
--- option of the model, as text.
function parts.group(row, name)
  if name == "row" then return row.label end
  if name == "class" then return row.model.name end
  local value = name and factor(row, name)
  if value == nil and name then value = row.model:spelled(name) end
  return value ~= nil and tostring(value) or ""
end

--- Rows, results and store of the experiments that a plot names, or of its own.
function parts.sources(view, plot)
  if not plot.of then
    return { { rows = view.experiment.rows, results = view.results, store = view.store } }
  end
  local list = {}
  for i, source in ipairs(plot.of) do list[i] = view.open(source) end
  return list
end

-- ---- axes ----

--- The name of an axis and whether it is logarithmic; an axis is "name" or { "name", log = true }.
function parts.axis(value)
  if type(value) == "table" then return value[1], value.log == true end
  return value, false
end

-- What the runs of a row say of a factor or an option of the model: the script may have other
-- values by now.
local function recorded_value(results, row, name, dataset)
  local group = results:group(row.label, dataset)
  if not group then return nil end
  local options = " " .. (group.first.model_options or "")
  return tonumber(group.first[name])
    or tonumber(options:match("%s" .. name:gsub("%W", "%%%0") .. "=(%S+)"))
end

--- The value of an axis for a row: a factor of the sweep, an option of the model, or a metric's
--- mean with its spread.
function parts.axis_value(results, row, name, dataset)
  local own = factor(row, name)
  if own == nil and metrics.is_known(name) then return results:value(row.label, name, dataset) end
  return recorded_value(results, row, name, dataset) or tonumber(own or row.model:spelled(name))
end

--- A linear or logarithmic axis over values with some room: { low =, high =, part = of a value in
--- 0..1, value = of a part }.
function parts.scale(values, log)
  local low, high = math.huge, -math.huge
  for _, value in ipairs(values) do low, high = math.min(low, value), math.max(high, value) end
  local to, from = function(v) return v end, function(v) return v end
  if log then to, from = math.log, math.exp end
  local a, b = to(low), to(high)
  local room = b > a and 0.09 * (b - a) or math.max(0.1 * math.abs(a), 1e-6)
  a, b = a - room, b + room
  return {
    low = from(a), high = from(b),
    part = function(value) return (to(value) - a) / (b - a) end,
    value = function(part) return from(a + part * (b - a)) end,
  }
end

--- The lower end of a spread: the value itself where a logarithmic axis has no place for it.
function parts.below(value, spread, log)
  return log and spread >= value and value or value - spread
end

--- Where an axis from 0 on ends, `room` times as far as the highest value; gnuplot refuses one
--- without length, where all values are 0.
function parts.upper_limit(room, highest) return highest > 0 and room * highest or 1 end

-- ---- the chart ----

--- The title: the plot's own, or experiment, data and `what` is shown. Of a chart of all data sets
--- `data` says so.
function parts.title(view, plot, what, data)
  local dataset = provenance.dataset(view.runs, plot.together and "all data" or data)
  if plot.title then
    return ("%s (%sscale %s)"):format(plot.title, view.of_all and "" or dataset .. "; ", view.scale)
  end
  return ("%s, %s: %s (scale %s)"):format(view.experiment.name, dataset, what, view.scale)
end

--- A chart by a template of plots/; `x` and `y` are metrics, or words.
function parts.new(template, title, x, y)
  return gnuplot.new(template, title, metrics.chart_title(x), metrics.chart_title(y))
end

--- What lines.gp draws: a curve per name, an array of { x, y, low, high }, with points on it
--- (`marks`), a band around it.
function parts.add_curves(made, curves, names, look)
  made.blocks = { { "data", curves } }
  made.settings = { { "series", #curves }, { "names", names }, { "marks", look.marks and 1 or 0 },
    { "band", look.band and 1 or 0 } }
end

return parts
