-- Charts of an experiment: loss curves always, and what bench:plot declared. One chart per dataset, but for boxes and
-- columns, which show all of them. A chart is a value first: { template = plots/<template>.gp, title =, x_title =,
-- y_title =, blocks = { { name, data } ... }, settings = { { name, value } ... }, after = lines of gnuplot }, so that what
-- is drawn can be read without drawing it.
local boxes = require "longhaul.report.boxes"
local columns = require "longhaul.report.columns"
local core = require "longhaul.core"
local gnuplot = require "longhaul.report.gnuplot"
local label = require "longhaul.report.label"
local metrics = require "longhaul.metrics"
local provenance = require "longhaul.report.provenance"
local quote = require "longhaul.report.quote"
local recurrence = require "longhaul.report.recurrence"
local store = require "longhaul.store"
local views = require "longhaul.report.views"

local chart = {}

-- An axis is "name" or { "name", log = true }.
local function axis(value)
  if type(value) == "table" then return value[1], value.log == true end
  return value, false
end

local function factor(row, name)
  for _, pair in ipairs(row.factors or {}) do
    if pair[1] == name then return pair[2] end
  end
  return nil
end

-- What the runs of a row say of a factor or an option of the model: the script may have other values by now.
local function recorded_value(results, row, name, dataset)
  local group = results:group(row.label, dataset)
  if not group then return nil end
  local options = " " .. (group.first.model_options or "")
  return tonumber(group.first[name]) or tonumber(options:match("%s" .. name:gsub("%W", "%%%0") .. "=(%S+)"))
end

-- The value of an axis for a row: a factor of the sweep, an option of the model, or a metric's mean
-- with its spread.
local function axis_value(results, row, name, dataset)
  local own = factor(row, name)
  if own == nil and metrics.is_known(name) then return results:value(row.label, name, dataset) end
  return recorded_value(results, row, name, dataset) or tonumber(own or row.model:spelled(name))
end

local function rows_of(experiment, dataset)
  local rows = {}
  for _, row in ipairs(experiment.rows) do
    if row.dataset == dataset then rows[#rows + 1] = row end
  end
  return rows
end

-- Kinds of which one chart shows all data.
local of_all_datasets = { boxes = true, columns = true }

local function title_of(view, plot, what, dataset)
  local data = provenance.dataset(view.runs, dataset)
  if plot.title then return ("%s (%sscale %s)"):format(plot.title, of_all_datasets[plot[1]] and "" or data .. "; ", view.scale) end
  return ("%s, %s: %s (scale %s)"):format(view.experiment.name, data, what, view.scale)
end

local function new_chart(template, title, x, y)
  return gnuplot.new(template, title, metrics.title(x), metrics.title(y))
end

-- Adds blocks of data and what the template asks for beside them, as { name, value } ...
local function add_blocks(made, blocks) table.move(blocks, 1, #blocks, #made.blocks + 1, made.blocks) end

local function add_settings(made, pairs_of) table.move(pairs_of, 1, #pairs_of, #made.settings + 1, made.settings) end

-- What lines.gp draws: a curve per name, with points on it (`marks`), a band around it.
local function add_curves(made, curves, names, look)
  add_blocks(made, { { "data", curves } })
  add_settings(made, { { "series", #curves }, { "names", names }, { "marks", look.marks and 1 or 0 },
    { "band", look.band and 1 or 0 } })
end

-- ---- loss curves ----

local function add_curve(sums, points, name)
  for _, point in ipairs(points) do
    local step, value = tonumber(point.step), tonumber(point[name])
    if value then
      local entry = sums[step] or { 0, 0 }
      sums[step] = { entry[1] + value, entry[2] + 1 }
    end
  end
end

-- Mean over seeds at each step, then over a short window so that curves can be told apart.
local function mean_curve(view, row, name)
  local group, sums, steps = view.results:group(row.label, row.dataset), {}, {}
  for _, run in ipairs(group and group.done or {}) do
    add_curve(sums, view.store:read_curve(run.run_id, math.huge), name)
  end
  for step in pairs(sums) do steps[#steps + 1] = step end
  table.sort(steps)
  local window, curve = math.max(0, #steps // 50), {}
  for i, step in ipairs(steps) do
    local total, count = 0, 0
    for k = math.max(1, i - window), math.min(#steps, i + window) do
      total, count = total + sums[steps[k]][1] / sums[steps[k]][2], count + 1
    end
    curve[i] = { step, total / count, n = 2 }
  end
  return curve
end

-- The steep beginning would press everything else flat: the axis ends where a tenth is done.
local function loss_range(curves)
  local low, high = math.huge, -math.huge
  for _, curve in ipairs(curves) do
    for i, point in ipairs(curve) do
      low = math.min(low, point[2])
      if i > #curve // 10 then high = math.max(high, point[2]) end
    end
  end
  local room = math.max(0.02 * (high - low), 1e-3)
  return ("set yrange [%.6g:%.6g]"):format(low - room, high + room)
end

-- The training loss of a row: bits per token, or squared errors where there are no bits.
local function loss_curve(view, row, y)
  local curve = mean_curve(view, row, y or "loss_bits")
  if y then return curve, metrics.curve_title(y) end
  if #curve > 0 then return curve, "bits/token" end
  return mean_curve(view, row, "mse"), "MSE"
end

local function loss(view, plot, dataset)
  local curves, names, unit = {}, {}, nil
  for _, row in ipairs(rows_of(view.experiment, dataset)) do
    local curve, own_unit = loss_curve(view, row, plot.y)
    unit = unit or own_unit
    if #curve > 1 then
      curves[#curves + 1] = curve
      names[#names + 1] = row.label
    end
  end
  if #curves == 0 then return nil end
  local made = new_chart("lines", title_of(view, plot, "training loss", dataset), "step", unit)
  add_curves(made, curves, names, { marks = false })
  made.after = { loss_range(curves) }
  return made
end

-- ---- lines over a factor ----

local function group_name(row, name)
  if name == "class" then return row.model.name end
  local value = name and factor(row, name)
  if value == nil and name then value = row.model:spelled(name) end
  return value ~= nil and tostring(value) or ""
end

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

-- A linear or logarithmic axis over the values with some room, and its place of a value in 0..1.
local function scale_of(values, log)
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

-- gnuplot would round a logarithmic axis to whole decades.
local function logarithmic(blocks)
  local values = {}
  for _, points in ipairs(blocks) do
    for _, point in ipairs(points) do values[#values + 1] = point[2] end
  end
  local scale = scale_of(values, true)
  return ("set logscale y\nset yrange [%.10g:%.10g]"):format(scale.low, scale.high)
end

local function sweep(view, plot, dataset)
  local x, x_log = axis(plot.x)
  local y, y_log = axis(plot.y)
  local series, names = {}, {}
  for _, row in ipairs(rows_of(view.experiment, dataset)) do
    local at = axis_value(view.results, row, x, dataset)
    local value, spread = view.results:value(row.label, y, dataset)
    if at and value then
      local name = group_name(row, plot.group)
      if not series[name] then
        series[name] = {}
        names[#names + 1] = name
      end
      table.insert(series[name], { at, value, value - (spread or 0), value + (spread or 0) })
    end
  end
  if plot.relative_to then names = relative(series, names, plot.relative_to) end
  if #names == 0 then return nil end
  local blocks = {}
  for i, name in ipairs(names) do
    table.sort(series[name], function(a, b) return a[1] < b[1] end)
    blocks[i] = series[name]
  end
  local what = metrics.title(y)
  if plot.relative_to then what = ("%s relative to %s"):format(what, plot.relative_to) end
  local made = new_chart("lines", title_of(view, plot, what, dataset), x, y)
  if plot.relative_to then made.y_title = what end
  add_curves(made, blocks, names, { marks = true, band = plot.band })
  made.after = { x_log and "set logscale x 2" or "", y_log and logarithmic(blocks) or "" }
  return made
end

-- ---- pareto ----

local function pareto_points(view, plot, dataset, x, y)
  local points, names, index = {}, {}, {}
  for _, row in ipairs(rows_of(view.experiment, dataset)) do
    local at, x_spread = axis_value(view.results, row, x, dataset)
    local value, spread = view.results:value(row.label, y, dataset)
    if at and value then
      local name = group_name(row, plot.group)
      if not index[name] then
        names[#names + 1] = name
        index[name] = #names
      end
      local text = plot.label and group_name(row, plot.label) or row.label
      points[#points + 1] = {
        at, value, at - (x_spread or 0), at + (x_spread or 0), value - (spread or 0),
          value + (spread or 0),
        index[name], text = text,
      }
    end
  end
  return points, names
end

--- Points that no other beats on both axes, from the best x on. `better` and `better_x` are "min" or "max" for y and x; an
--- x of which neither end is better counts as a cost.
function chart.front(points, better, better_x)
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

local function pareto(view, plot, dataset)
  local x, x_log = axis(plot.x)
  local y, y_log = axis(plot.y)
  local points, names = pareto_points(view, plot, dataset, x, y)
  if #points == 0 then return nil end
  local xs, ys = {}, {}
  for i, point in ipairs(points) do
    xs[2 * i - 1], xs[2 * i] = point[3], point[4]
    ys[2 * i - 1], ys[2 * i] = point[5], point[6]
  end
  local sx, sy = scale_of(xs, x_log), scale_of(ys, y_log)
  local better_x = metrics.better(x)
  local front = chart.front(points, metrics.better(y), better_x)
  front[#front + 1] = { better_x == "max" and sx.low or sx.high, front[#front][2] }
  local labels = place_labels(points, front, sx, sy)
  local what = ("%s against %s"):format(metrics.title(y), metrics.title(x))
  local made = new_chart("pareto", title_of(view, plot, what, dataset), x, y)
  add_blocks(made, { { "points", { points } }, { "front", { front } }, { "labels", { labels } } })
  add_settings(made, { { "groups", #names }, { "names", names }, { "frontier", plot.frontier == false and 0 or 1 } })
  made.after = {
    ("set xrange [%.10g:%.10g]"):format(sx.low, sx.high),
      ("set yrange [%.10g:%.10g]"):format(sy.low, sy.high),
    x_log and "set logscale x" or "", y_log and "set logscale y" or "",
  }
  return made
end

-- ---- bars ----

-- Where an axis from 0 on ends; gnuplot refuses one without length, where all values are 0.
local function upper_limit(room, highest) return highest > 0 and room * highest or 1 end

local function bars(view, plot, dataset)
  local y = axis(plot.y)
  local list, labels, limit = {}, {}, 0
  for _, row in ipairs(rows_of(view.experiment, dataset)) do
    local value, spread = view.results:value(row.label, y, dataset)
    if value then
      labels[#labels + 1] = quote.tic(row.label)
      local low, high = value - (spread or 0), value + (spread or 0)
      list[#list + 1] = { #labels, value, low, high, metrics.text(y, value) }
      limit = math.max(limit, high)
    end
  end
  if #list == 0 then return nil end
  local made = new_chart("bars", title_of(view, plot, metrics.title(y), dataset), y, "")
  add_blocks(made, { { "bars", { list } } })
  add_settings(made, { { "rows", #list }, { "labels", labels }, { "limit", upper_limit(1.15, limit) } })
  return made
end

-- ---- recurrence encodings ----

-- The learned matrices of a layer: the weight of a key by its lag, a curve per head.
local function recurrence_patterns(view, plot, dataset)
  local group, curves, names = view.results:group(plot.row, dataset), {}, {}
  local run = group and group.done[1]
  for _, row in ipairs(rows_of(view.experiment, dataset)) do
    if run and row.label == plot.row then
      curves, names = recurrence.patterns(row.model, view.store:read_probes(run.run_id), plot.layer)
    end
  end
  if #curves == 0 then return nil end
  local what = ("recurrence encodings of layer %d"):format(plot.layer)
  local made = new_chart("lines", title_of(view, plot, what, dataset), "lag", "weight")
  add_curves(made, curves, names, { marks = true })
  made.after = { ("set xrange [0:%d]"):format(#curves[1] - 1) }
  return made
end

-- What recurrence encodings add to the heads of a layer while the trained model reads `input`, a string of letters of the
-- alphabet "01": a curve per head, the letters along the axis.
local function head_outputs(view, plot, dataset)
  local group, curves, names, row = view.results:group(plot.row, dataset), {}, {}, nil
  for _, each in ipairs(rows_of(view.experiment, dataset)) do row = each.label == plot.row and each or row end
  local run = row and group and group.done[1]
  if not run or not core.exists(view.store:weights(run.run_id)) then return nil end
  local heads = recurrence.outputs(row, view.store:weights(run.run_id), plot.input, plot.layer)
  for h, values in ipairs(heads) do
    curves[h] = {}
    for t, value in ipairs(values) do curves[h][t] = { t, value, n = 2 } end
  end
  names = select(2, recurrence.patterns(row.model, view.store:read_probes(run.run_id), plot.layer))
  local title = title_of(view, plot, ("outputs of layer %d"):format(plot.layer), dataset)
  local made = new_chart("lines", title, "input", "added by the encoding, mean over the head's width")
  add_curves(made, curves, names, { marks = true })
  local letters = {}
  for t = 1, #plot.input do letters[t] = ("%s %d"):format(gnuplot.quoted(plot.input:sub(t, t)), t) end
  made.after = { ("set xtics (%s)"):format(table.concat(letters, ", ")) }
  return made
end

-- ---- what layers say of themselves ----

-- Rows and results of the experiments that a plot names, or of its own.
local function sources_of(view, plot)
  if not plot.of then return { { rows = view.experiment.rows, results = view.results, store = view.store } } end
  local list = {}
  for i, source in ipairs(plot.of) do list[i] = view.open(source) end
  return list
end

-- Which box a row belongs to: what a function says, a factor or an option of the model, or the data set.
local function category_of(plot)
  local by = plot.by or "dataset"
  return function(row)
    if plot.row and row.label ~= plot.row or plot.dataset and row.dataset ~= plot.dataset then return nil end
    if type(by) == "function" then return by(row) end
    return by == "dataset" and row.dataset or group_name(row, by)
  end
end

-- Quartiles over layers, rows of a box and seeds.
local function box_plot(view, plot)
  local blocks, outliers, names, low, high = {}, {}, {}, math.huge, -math.huge
  for i, group in ipairs(boxes.gather(sources_of(view, plot), plot.y, category_of(plot))) do
    local box = boxes.summary(group.values)
    names[i] = quote.tic(group.name)
    blocks[i] = { i, box.low, box.q1, box.median, box.q3, box.high }
    low, high = math.min(low, box.low), math.max(high, box.high)
    for _, item in ipairs(box.outliers) do
      outliers[#outliers + 1] = { i, item[1], tostring(item[2]) }
      low, high = math.min(low, item[1]), math.max(high, item[1])
    end
  end
  if #blocks == 0 then return nil end
  local room = math.max(0.05 * (high - low), 1e-3)
  local made = new_chart("boxes", title_of(view, plot, metrics.title(plot.y), "all layers"), "", plot.y)
  -- an empty block would be an error in gnuplot
  if #outliers == 0 then outliers[1] = { 0, low, "" } end
  add_blocks(made, { { "boxes", { blocks } }, { "outliers", { outliers } } })
  add_settings(made, { { "boxes", #blocks }, { "names", names }, { "low_limit", low - room }, { "high_limit", high + room } })
  return made
end

-- ---- columns ----

local function column_chart(view, plot)
  local function value(row, dataset) return (view.results:value(row, plot.y, dataset)) end
  local function rest(row, dataset) return value(plot.without:format(row), dataset) end
  local laid = columns.layout(plot.rows, view.results.datasets, value, plot.without and rest)
  if #laid.bars == 0 then return nil end
  local limit = 0
  for _, bar in ipairs(laid.bars) do limit = math.max(limit, bar[3]) end
  local made = new_chart("columns", title_of(view, plot, metrics.title(plot.y), "all data"), laid.shared, plot.y)
  for _, name in ipairs { "bars", "ticks", "clusters" } do add_blocks(made, { { name, { laid[name] } } }) end
  local names = plot.without and { plot.parts and plot.parts[1] or "without", plot.parts and plot.parts[2] or "with" } or laid.members
  add_settings(made, { { "clusters", #laid.clusters }, { "members", #laid.members }, { "names", names },
    { "width", laid.width }, { "limit", upper_limit(1.25, limit) }, { "split", plot.without and 1 or 0 } })
  return made
end

-- ---- all ----

local kinds = {
  loss = loss, lines = sweep, pareto = pareto, bars = bars, recurrence = recurrence_patterns, boxes = box_plot,
  columns = column_chart, outputs = head_outputs,
}
local function datasets_of(experiment)
  local list, seen = {}, {}
  for _, row in ipairs(experiment.rows) do
    if not seen[row.dataset] then
      seen[row.dataset] = true
      list[#list + 1] = row.dataset
    end
  end
  return list
end

-- As `report.results` does, which needs this module.
local function open_results(experiment, settings) return require("longhaul.report").results(experiment, settings) end

local function view_of(experiment, settings, results)
  local view = {
    experiment = experiment, results = results, scale = settings.scale, device = settings.device, store = store.at(settings.results, experiment.runs),
  }
  function view.open(source)
    return { rows = source.rows, results = open_results(source, settings), store = store.at(settings.results, source.runs) }
  end
  return view
end

-- The finished runs that a chart shows.
local function runs_of(view, plot, dataset)
  local rows, list = {}, {}
  for _, label in ipairs(plot.rows or { plot.row }) do
    rows[label] = true
    if plot.without then rows[plot.without:format(label)] = true end
  end
  for _, source in ipairs(sources_of(view, plot)) do
    for _, row in ipairs(source.rows) do
      local wanted = (next(rows) == nil or rows[row.label]) and (dataset == "" or row.dataset == dataset)
        and (not plot.dataset or row.dataset == plot.dataset)
      local group = wanted and source.results:group(row.label, row.dataset)
      for _, run in ipairs(group and group.done or {}) do list[#list + 1] = run end
    end
  end
  return list
end

-- The chart that every experiment has.
local always = { "loss" }

-- What a chart without a value would show: "step_time_ms and bits_per_token".
local function what_it_shows(plot)
  if plot[1] == "outputs" then return "weights" end
  if plot[1] == "recurrence" then return "probes" end
  local x, y = axis(plot.x), axis(plot.y)
  return x and y and ("%s and %s"):format(x, y) or y or "loss"
end

-- One chart with the name of its file and its runs; nil where there are none.
local function one_chart(view, plot, dataset, name)
  local runs = runs_of(view, plot, dataset)
  if #runs == 0 then return nil end
  view.runs = runs
  local good, made = pcall(kinds[plot[1]], view, plot, dataset)
  if not good then made = { failure = made } end
  if not made then made = { lacks = what_it_shows(plot) } end
  made.name, made.plot, made.dataset, made.runs = quote.file_name(name), plot, dataset, runs
  made.source = provenance.line(runs, view.scale)
  made.scale, made.device = view.scale, view.device
  return made
end

local function add_charts(list, view, plot)
  local datasets = plot.dataset and { plot.dataset } or datasets_of(view.experiment)
  if of_all_datasets[plot[1]] then datasets = { "" } end
  for _, dataset in ipairs(datasets) do
    local name = plot.name or plot[1]
    local made = one_chart(view, plot, dataset, #datasets > 1 and ("%s-%s"):format(name, dataset) or name)
    if made and not (made.lacks and plot == always) then list[#list + 1] = made end
  end
end

--- The charts of an experiment as values, those that have runs; nothing is drawn. Each has its file's `name`, the `plot`
--- that asked for it, its `dataset` ("" where it shows all) and the `runs` behind it; or `failure`, the text of an error;
--- or `lacks`, the measurement that its runs have not. Loss curves are left to the experiment whose runs they are, and
--- left out with `declared`.
function chart.values(experiment, settings, results, declared)
  local view, list = view_of(experiment, settings, results), {}
  for _, plot in ipairs(experiment.plots) do add_charts(list, view, plot) end
  if experiment.runs == experiment.name and not declared then add_charts(list, view, always) end
  return list
end

--- Draws charts (of chart.values) into `folder`: sets `paths` of each, or `failure`. One that fails does not stop the
--- others.
function chart.draw(charts, folder)
  for _, made in ipairs(charts) do
    if not made.failure and not made.lacks then
      local base = folder .. "/" .. made.name
      views.make_room(base, { "gp", "svg", "png" }, views.owner(made.scale, made.device))
      local good, result = pcall(gnuplot.chart, base, made)
      made[good and "paths" or "failure"] = result
    end
  end
end

return chart
