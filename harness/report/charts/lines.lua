-- Lines over a factor of the sweep or an option of the model: a curve per group, with its spread
-- over seeds as a band.
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"

local lines = {
  says = "a metric over a factor of the sweep or an option of the model, a curve per group",
  fields = {
    parts.x_field,
    parts.y_field,
    parts.x_title_field,
    parts.group_field "a curve",
    parts.group_names_field,
    { "level", "string", "a group to which x means nothing, as full attention to a number of hash rounds: drawn "
      .. "from end to end" },
    { "band", "string or boolean", "\"seeds\": the standard deviation around each curve" },
    { "relative_to", "string", "a group: the others are shown as ratios to it" },
    parts.published_field,
    parts.where,
    parts.together,
  },
}

function lines.check(plot)
  if plot.published and plot.relative_to then
    return "published values are not relative to a curve: field 'published' or 'relative_to'"
  end
  if plot.level and plot.relative_to then
    return "a level curve and others have no points in common: field 'level' or 'relative_to'"
  end
  return parts.check_axes(plot)
end

function lines.check_rows(plot, rows)
  local wrong = parts.check_names(plot, rows)
  for _, field in ipairs { "relative_to", "level" } do
    wrong = wrong or plot[field] and parts.check_group(plot, rows, field, plot[field]) or nil
  end
  return wrong
end

-- Where a point stands: data sets that are drawn together have a base each.
local function place_of(point) return ("%s %.17g"):format(point.row.dataset, point[1]) end

-- Curves as ratios to the curve called `base`, which is left out; points that it lacks, or has at 0,
-- too.
local function relative(series, names, base)
  local divisor, kept = {}, {}
  for _, point in ipairs(series[base] or {}) do
    if point[2] ~= 0 then divisor[place_of(point)] = point[2] end
  end
  for _, name in ipairs(names) do
    local points = {}
    for _, p in ipairs(name ~= base and series[name] or {}) do
      local by = divisor[place_of(p)]
      if by then points[#points + 1] = { p[1], p[2] / by, p[3] / by, p[4] / by, row = p.row } end
    end
    if #points > 0 then series[name], kept[#kept + 1] = points, name end
  end
  return kept
end

-- The points of every group by its name, the names in the order of the rows, and the labels of rows
-- that have no place on a logarithmic axis.
local function gather(view, plot, dataset)
  local points, beyond = parts.points_of(view, plot, dataset)
  local series, names = {}, {}
  for _, point in ipairs(points) do
    local name = parts.group(point.row, plot.group)
    if not series[name] then
      series[name] = {}
      names[#names + 1] = name
    end
    table.insert(series[name], { point[1], point[2], point[5], point[6], row = point.row })
  end
  return series, names, beyond
end

-- The curve of a group to which x means nothing: what its first point says, where the others begin and end.
local function level_of(series, name)
  local low, high = math.huge, -math.huge
  for other, points in pairs(series) do
    for _, point in ipairs(other ~= name and points or {}) do
      low, high = math.min(low, point[1]), math.max(high, point[1])
    end
  end
  local point = series[name][1]
  if low > high then return { point } end
  local first, last = { low, table.unpack(point, 2) }, { high, table.unpack(point, 2) }
  first.row, last.row = point.row, point.row
  return { first, last }
end

-- The published values of all curves, each with the number of its curve; those that have no place.
local function published_marks(plot, curves, x, y, look)
  local points, curve_of = {}, {}
  for i, curve in ipairs(curves) do
    for _, point in ipairs(curve) do points[#points + 1], curve_of[#points + 1] = point, i end
  end
  local x_axis, y_axis = parts.curve_axes(curves, look, {})
  local marks, beyond = parts.published(plot, points, x, y, { x = x_axis, y = y_axis })
  for _, mark in ipairs(marks) do mark[3] = curve_of[mark[3]] end
  return marks, beyond
end

function lines.draw(view, plot, dataset)
  local x, x_log = parts.axis(plot.x)
  local y, y_log = parts.axis(plot.y)
  local series, names, beyond = gather(view, plot, dataset)
  if plot.relative_to then names = relative(series, names, plot.relative_to) end
  if #names == 0 then return nil end
  if series[plot.level] then series[plot.level] = level_of(series, plot.level) end
  local curves = {}
  for i, name in ipairs(names) do
    table.sort(series[name], function(a, b) return a[1] < b[1] end)
    curves[i] = series[name]
  end
  local what = metrics.quantity(y)
  if plot.relative_to then what = ("%s relative to %s"):format(what, plot.relative_to) end
  local x_name = plot.x_title or x
  local by = ("%s by %s"):format(what, parts.without_unit(x_name))
  local look = {
    marks = true, band = plot.band, x = { log = x_log, metric = x, room = 0.03 },
    y = { log = y_log, metric = not plot.relative_to and y, room = 0.05 },
  }
  local far
  look.published, far = published_marks(plot, curves, x, y, look)
  local made = parts.new("lines", parts.title(view, plot, by, dataset), x_name,
    plot.relative_to and what or y)
  parts.add_curves(made, curves, parts.told_groups(plot, names), look)
  made.x_title = made.x_title .. parts.beyond_text(beyond)
    .. parts.published_text(look.published, far)
  return made
end

return lines
