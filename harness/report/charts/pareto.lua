-- Quality against cost: a labelled point per row with its spreads, and the front of rows that no
-- other row beats on both axes; times of several rounds have none, as tables have no best of them.
local axis = require "longhaul.report.axis"
local label = require "longhaul.report.label"
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"
local results = require "longhaul.report.results"
local statuses = require "longhaul.report.cell_status"

local pareto = {
  says = "two metrics, a labelled point per row with its spreads, and the front of what no other row beats on both",
  fields = {
    parts.x_field,
    parts.y_field,
    parts.group_field "a colour",
    parts.group_names_field,
    { "label", "string", "what points are labelled by, like `group`", default = "the row" },
    { "frontier", "boolean", "false: without the front" },
    parts.published_field,
    parts.where,
    parts.together,
  },
  check = parts.check_axes,
  check_rows = parts.check_names,
}

-- Points, each with the number of its group, its label and whether it is in doubt; the names of the groups; and the
-- labels of rows that have no place on a logarithmic axis.
local function points_of(view, plot, dataset)
  local points, beyond = parts.points_of(view, plot, dataset)
  local names, index, axes = {}, {}, { (parts.axis(plot.x)), (parts.axis(plot.y)) }
  for _, point in ipairs(points) do
    local row, name = point.row, parts.group(point.row, plot.group)
    if not index[name] then
      names[#names + 1] = name
      index[name] = #names
    end
    local busy = parts.busy_mark(view.results, row, axes)
    point[7] = index[name]
    -- no longer than what fits on one side of a point in the middle
    point.text = parts.shortened(plot.label and parts.group(row, plot.label) or row.label, 0.4) .. busy
    point.doubtful = busy ~= "" or results.doubt(view.results:status(row.label, row.dataset)) ~= nil
  end
  return points, names, beyond
end

-- How many seeds a row has a value of, of the metrics of which seeds have their own.
local function seeds_of(found, row, by_seed)
  local least = math.huge
  for _, metric in ipairs(by_seed) do
    least = math.min(least, select(3, found:value(row.label, metric, row.dataset)))
  end
  return least
end

-- Where seeds have values of their own, what lacks seeds is doubtful as well.
local function doubt_lacking(found, points, x, y)
  local by_seed, runs = {}, {}
  for _, metric in ipairs { x, y } do
    if metrics.is_by_seed(metric) then by_seed[#by_seed + 1] = metric end
  end
  if #by_seed == 0 then return end
  for i, point in ipairs(points) do
    local row = point.row
    local status, why = found:status(row.label, row.dataset)
    runs[i] = { status = status, why = why, seeds = seeds_of(found, row, by_seed),
      constant = found:learns_nothing(row.label, row.dataset) }
  end
  local most = statuses.most_seeds(runs)
  for i, point in ipairs(points) do
    point.doubtful = point.doubtful or statuses.lacks_seeds(runs[i], most)
  end
end

-- What may be on the front: what a table would not call the best is not.
local function candidates(points)
  local list = {}
  for _, point in ipairs(points) do
    if not point.doubtful then list[#list + 1] = point end
  end
  return list
end

--- Points that no other beats on both axes, from the best x on, of those not `doubtful`. `better` and
--- `better_x` are "min" or "max" for y and x; an x of which neither end is better counts as a cost.
function pareto.front(points, better, better_x)
  local sorted, front, best = candidates(points), {}, nil
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

local front_text = "Pareto front"

local function is_free(box, taken, pixels)
  for _, other in ipairs(taken) do
    if label.overlap(box, other) > 0 then return false end
  end
  for _, point in ipairs(pixels) do
    if label.overlap(box, label.around(point)) > 0 then return false end
  end
  return true
end

-- The box in which the front is named: above or below its last part, as near to its end as it hides nothing; at the end
-- where it hides something everywhere.
local function front_box(from, to, taken, pixels)
  local size, away = label.width(front_text), to[1] < from[1] and 1 or -1
  local function at(shift, low)
    local left = to[1] + away * shift - (away < 0 and size or 0)
    return { left, to[2] + low, left + size, to[2] + low + 16 }
  end
  for shift = 0, math.abs(to[1] - from[1]) - size, 8 do
    for _, low in ipairs { 3, -19 } do
      local box = at(shift, low)
      if is_free(box, taken, pixels) then return box end
    end
  end
  return at(0, 3)
end

-- Labels, lines to those that stand apart, and the left end of the front's name, at half its height.
local function place_labels(points, front, marks, sx, sy, right)
  local width, height = parts.plot_size(right)
  local function px(value) return sx.part(value) * width end
  local function py(value) return sy.part(value) * height end
  local function back(at) return sx.value(at[1] / width), sy.value(at[2] / height) end
  local pixels, labels, leaders = {}, {}, {}
  local taken, name = taken_boxes(points, front, px, py), { 0, 0 }
  for i, p in ipairs(points) do pixels[i] = { px(p[1]), py(p[2]), p.text } end
  for _, mark in ipairs(marks) do taken[#taken + 1] = label.around { px(mark[1]), py(mark[2]) } end
  if #front > 0 then
    local from, to = front[#front - 1], front[#front]
    local box = front_box({ px(from[1]), py(from[2]) }, { px(to[1]), py(to[2]) }, taken, pixels)
    taken[#taken + 1] = box
    name = { back { box[1], (box[2] + box[4]) / 2 } }
  end
  for i, at in ipairs(label.place(pixels, width, height, taken)) do
    local x, y = back(at)
    labels[i] = { x, y, points[i].text, at[3] }
    if at.leader then
      local to_x, to_y = back(at.leader)
      leaders[#leaders + 1] = { points[i][1], points[i][2], to_x - points[i][1],
        to_y - points[i][2] }
    end
  end
  return labels, leaders, name
end

-- The two axes over the points with their spreads and the published marks.
local function axes_of(points, marks, x, y)
  local xs, ys = {}, {}
  local function add(x_value, y_value) xs[#xs + 1], ys[#ys + 1] = x_value, y_value end
  for _, point in ipairs(points) do
    add(point[3], point[5])
    add(point[4], point[6])
  end
  for _, mark in ipairs(marks) do add(mark[1], mark[2]) end
  return axis.over(xs, x), axis.over(ys, y)
end

function pareto.draw(view, plot, dataset)
  local x, x_log = parts.axis(plot.x)
  local y, y_log = parts.axis(plot.y)
  local points, names, beyond = points_of(view, plot, dataset)
  if #points == 0 then return nil end
  doubt_lacking(view.results, points, x, y)
  local x_options, y_options = { log = x_log, metric = x }, { log = y_log, metric = y }
  local sx, sy = axes_of(points, {}, x_options, y_options)
  local marks, far = parts.published(plot, points, x, y, { x = sx, y = sy })
  sx, sy = axes_of(points, marks, x_options, y_options)
  local better_x = metrics.better(x)
  local front = pareto.front(points, metrics.better(y), better_x)
  local is_drawn = plot.frontier ~= false and metrics.better(y) ~= nil and #front > 0
    and not view.results:apart({ x, y }, candidates(points))
  if #front > 0 then front[#front + 1] = { better_x == "max" and sx.low or sx.high, front[#front][2] } end
  for _, mark in ipairs(marks) do mark[3] = points[mark[3]][7] end
  local legend, right = parts.legend(parts.told_groups(plot, names))
  local labels, leaders, name = place_labels(points, is_drawn and front or {}, marks, sx, sy, right)
  -- the template draws labels by alignment; gnuplot 5.4 crashes on a block of one line of which it draws none
  labels[#labels + 1] = { n = 4 }
  local what = ("%s against %s"):format(metrics.quantity(y), metrics.quantity(x))
  local made = parts.new("pareto", parts.title(view, plot, what, dataset), x, y)
  parts.set_axes(made, sx, sy)
  made.x_title = made.x_title .. parts.beyond_text(beyond) .. parts.published_text(marks, far)
  made.blocks = { { "points", { points } }, parts.block("front", front, 2), { "labels", { labels } },
    parts.block("leaders", leaders, 4), parts.block("published", marks, 3) }
  made.settings = { { "groups", #names }, { "names", legend }, { "right", right },
    { "frontier", is_drawn and 1 or 0 }, { "published", #marks },
    { "front_name_x", name[1] }, { "front_name_y", name[2] } }
  return made
end

return pareto
