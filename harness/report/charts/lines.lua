-- Lines over a factor of the sweep or an option of the model: a curve per group, with its spread
-- over seeds as a band.
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"

local lines = {
  says = "a metric over a factor of the sweep or an option of the model, a curve per group",
  fields = {
    { "x", "string or table", "a metric, a factor or an option of the model; { name, log = true } is logarithmic" },
    { "y", "string or table", "a metric; { name, log = true } is logarithmic" },
    { "group", "string", "a factor, an option of the model, \"class\" or \"row\": a curve for each value" },
    { "band", "string or boolean", "\"seeds\": the standard deviation around each curve" },
    { "relative_to", "string", "a group: the others are shown as ratios to it" },
    parts.together,
  },
  check = parts.check_axes,
}

-- Curves as ratios to the curve called `base`, which is left out; points that it lacks, too.
local function relative(series, names, base)
  local divisor, kept = {}, {}
  for _, point in ipairs(series[base] or {}) do divisor[point[1]] = point[2] end
  for _, name in ipairs(names) do
    local points = {}
    for _, p in ipairs(name ~= base and series[name] or {}) do
      local by = divisor[p[1]]
      if by then points[#points + 1] = { p[1], p[2] / by, p[3] / by, p[4] / by } end
    end
    if #points > 0 then series[name], kept[#kept + 1] = points, name end
  end
  return kept
end

-- gnuplot would round a logarithmic axis to whole decades.
local function logarithmic(blocks)
  local values = {}
  for _, points in ipairs(blocks) do
    for _, point in ipairs(points) do values[#values + 1] = point[2] end
  end
  local scale = parts.scale(values, true)
  return ("set logscale y\nset yrange [%.10g:%.10g]"):format(scale.low, scale.high)
end

-- The points of every group by its name, and the names in the order of the rows.
local function gather(view, plot, dataset, x, y)
  local series, names = {}, {}
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local at = parts.axis_value(view.results, row, x, row.dataset)
    local value, spread = view.results:value(row.label, y, row.dataset)
    if at and value then
      local name = parts.group(row, plot.group)
      if not series[name] then
        series[name] = {}
        names[#names + 1] = name
      end
      table.insert(series[name], { at, value, value - (spread or 0), value + (spread or 0) })
    end
  end
  return series, names
end

function lines.draw(view, plot, dataset)
  local x, x_log = parts.axis(plot.x)
  local y, y_log = parts.axis(plot.y)
  local series, names = gather(view, plot, dataset, x, y)
  if plot.relative_to then names = relative(series, names, plot.relative_to) end
  if #names == 0 then return nil end
  local blocks = {}
  for i, name in ipairs(names) do
    table.sort(series[name], function(a, b) return a[1] < b[1] end)
    blocks[i] = series[name]
  end
  local what = metrics.chart_title(y)
  if plot.relative_to then what = ("%s relative to %s"):format(what, plot.relative_to) end
  local made = parts.new("lines", parts.title(view, plot, what, dataset), x, y)
  if plot.relative_to then made.y_title = what end
  parts.add_curves(made, blocks, names, { marks = true, band = plot.band })
  made.after = { x_log and "set logscale x 2" or "", y_log and logarithmic(blocks) or "" }
  return made
end

return lines
