-- Quality against cost: a labelled point per row with its spreads, and the front of rows that no
-- other row beats on both axes.
local label = require "longhaul.report.label"
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"

local pareto = {
  says = "two metrics, a labelled point per row with its spreads, and the front of what no other row beats on both",
  fields = {
    { "x", "string or table", "a metric, a factor or an option of the model; { name, log = true } is logarithmic" },
    { "y", "string or table", "a metric; { name, log = true } is logarithmic" },
    { "group", "string", "a factor, an option of the model or \"class\": a colour for each value" },
    { "label", "string", "what points are labelled by, like `group`; default: the row" },
    { "frontier", "boolean", "false: without the front" },
    parts.together,
  },
  check = parts.check_axes,
}

-- Points, the names of their groups, and the labels of rows that have no place on a logarithmic axis.
local function points_of(view, plot, dataset)
  local x, x_log = parts.axis(plot.x)
  local y, y_log = parts.axis(plot.y)
  local points, names, index, beyond = {}, {}, {}, {}
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local at, x_spread = parts.axis_value(view.results, row, x, row.dataset)
    local value, spread = view.results:value(row.label, y, row.dataset)
    if at and value and ((x_log and at <= 0) or (y_log and value <= 0)) then
      beyond[#beyond + 1] = row.label
    elseif at and value then
      local name = parts.group(row, plot.group)
      if not index[name] then
        names[#names + 1] = name
        index[name] = #names
      end
      x_spread, spread = x_spread or 0, spread or 0
      points[#points + 1] = {
        at, value, parts.below(at, x_spread, x_log), at + x_spread,
        parts.below(value, spread, y_log), value + spread, index[name],
        text = plot.label and parts.group(row, plot.label) or row.label,
      }
    end
  end
  return points, names, beyond
end

--- Points that no other beats on both axes, from the best x on. `better` and `better_x` are "min"
--- or "max" for y and x; an x of which neither end is better counts as a cost.
function pareto.front(points, better, better_x)
  local sorted, front, best = {}, {}, nil
  for i, point in ipairs(points) do sorted[i] = point end
  table.sort(sorted, function(a, b)
    if a[1] ~= b[1] then return (a[1] < b[1]) ~= (better_x == "max") end
    if better == "max" then return a[2] > b[2] end
    return a[2] < b[2]
  end)
  for _, point in ipairs(sorted) do
    local gains = not best or (better == "max" and point[2] > best)
      or (better ~= "max" and point[2] < best)
    if gains then
      best = point[2]
      front[#front + 1] = { point[1], point[2] }
    end
  end
  return front
end

local plot_width, plot_height = 0.88 * 960, 0.75 * 600

-- What labels must not hide, in pixels: the bars of spread and the steps of the front.
local function taken_boxes(points, front, px, py)
  local boxes = {}
  local function add(x, y, x_to, y_to)
    boxes[#boxes + 1] = { math.min(x, x_to) - 2, math.min(y, y_to) - 2, math.max(x, x_to) + 2,
      math.max(y, y_to) + 2 }
  end
  for _, p in ipairs(points) do
    add(px(p[3]), py(p[2]), px(p[4]), py(p[2]))
    add(px(p[1]), py(p[5]), px(p[1]), py(p[6]))
  end
  for i = 2, #front do
    add(px(front[i - 1][1]), py(front[i - 1][2]), px(front[i][1]), py(front[i - 1][2]))
    add(px(front[i][1]), py(front[i - 1][2]), px(front[i][1]), py(front[i][2]))
  end
  return boxes
end

local function place_labels(points, front, sx, sy)
  local function px(value) return sx.part(value) * plot_width end
  local function py(value) return sy.part(value) * plot_height end
  local pixels, labels = {}, {}
  for i, p in ipairs(points) do pixels[i] = { px(p[1]), py(p[2]), p.text } end
  local taken = taken_boxes(points, front, px, py)
  for i, at in ipairs(label.place(pixels, plot_width, plot_height, taken)) do
    labels[i] = { sx.value(at[1] / plot_width), sy.value(at[2] / plot_height), points[i].text }
  end
  return labels
end

-- The two axes over the points with their spreads.
local function scales_of(points, x_log, y_log)
  local xs, ys = {}, {}
  for i, point in ipairs(points) do
    xs[2 * i - 1], xs[2 * i] = point[3], point[4]
    ys[2 * i - 1], ys[2 * i] = point[5], point[6]
  end
  return parts.scale(xs, x_log), parts.scale(ys, y_log)
end

function pareto.draw(view, plot, dataset)
  local x, x_log = parts.axis(plot.x)
  local y, y_log = parts.axis(plot.y)
  local points, names, beyond = points_of(view, plot, dataset)
  if #points == 0 then return nil end
  local sx, sy = scales_of(points, x_log, y_log)
  local better_x = metrics.better(x)
  local front = pareto.front(points, metrics.better(y), better_x)
  front[#front + 1] = { better_x == "max" and sx.low or sx.high, front[#front][2] }
  local labels = place_labels(points, front, sx, sy)
  local what = ("%s against %s"):format(metrics.chart_title(y), metrics.chart_title(x))
  local made = parts.new("pareto", parts.title(view, plot, what, dataset), x, y)
  if #beyond > 0 then
    made.x_title = ("%s (at 0, not shown: %s)"):format(made.x_title, table.concat(beyond, ", "))
  end
  made.blocks = { { "points", { points } }, { "front", { front } }, { "labels", { labels } } }
  made.settings = { { "groups", #names }, { "names", names },
    { "frontier", plot.frontier == false and 0 or 1 } }
  made.after = {
    ("set xrange [%.10g:%.10g]"):format(sx.low, sx.high),
    ("set yrange [%.10g:%.10g]"):format(sy.low, sy.high),
    x_log and "set logscale x" or "", y_log and "set logscale y" or "",
  }
  return made
end

return pareto
