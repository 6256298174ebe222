-- What the kinds of charts are made from: rows and their groups, axes, titles, curves. A kind draws
-- from a view: { experiment =, results =, store =, scale =, device =, runs = the finished runs that
-- the chart shows, open = function(experiment): { rows =, results =, store = } of another one }.
local axis = require "longhaul.report.axis"
local core = require "longhaul.core"
local factors = require "longhaul.run.factors"
local gnuplot = require "longhaul.report.gnuplot"
local label = require "longhaul.report.label"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local provenance = require "longhaul.report.provenance"
local published = require "longhaul.report.published"
local summary = require "longhaul.report.summary"

local parts = {}

-- ---- fields ----

--- What plots say whose kind has two axes.
parts.x_field = { "x", "string or table",
  "a metric, a factor or an option of the model; { name, log = true } is logarithmic", needed = true }
parts.y_field = { "y", "string or table", "a metric; { name, log = true } is logarithmic", needed = true }

--- What a plot says whose x axis is an option that readers know by another name, or in a unit.
parts.x_title_field = { "x_title", "string", "what the x axis is called, as \"length, tokens\"",
  default = "the name of what it shows" }

--- `what` is shown for each group.
function parts.group_field(what)
  return { "group", "string",
    ("a factor, an option of the model, \"class\", \"dataset\" or \"row\": %s for each value"):format(what) }
end

--- What a plot says whose legend names groups.
parts.group_names_field = { "group_names", "table",
  "what the legend calls groups: { lsh = \"LSH attention\" }", default = "what `group` says of them" }

-- ---- checking ----

--- What is wrong with the field `y` of a plot, which names a metric; nil where nothing is.
function parts.check_metric(plot)
  local refusal = metrics.refusal(parts.axis(plot.y) or "(nothing)")
  return refusal and "field 'y': " .. refusal
end

--- The same, of a plot that has the field `x`, too.
function parts.check_axes(plot)
  return parts.check_metric(plot) or not parts.axis(plot.x) and "field 'x' is missing" or nil
end

--- What is wrong with the field `layer` of a plot; nil where nothing is.
function parts.check_layer(plot)
  local layer = math.tointeger(plot.layer)
  return not (layer and layer > 0) and "field 'layer' is a whole number from 1 on" or nil
end

-- What the rows of a plot can be told apart by: names of factors and of their models' options.
local function names_of(rows)
  local names = lists.set()
  for _, row in ipairs(rows) do
    for _, pair in ipairs(row.factors or {}) do names:add(pair[1]) end
    for name in row.model.text:gmatch "([%w_]+)=" do names:add(name) end
  end
  return names
end

-- What is wrong with the values of a plot's `where`, of names that rows have: no row of its data set has them all; nil
-- where one has.
local function where_refusal(plot, rows)
  local texts = {}
  for _, row in ipairs(summary.on_dataset(rows, plot.dataset)) do
    if parts.has_all(row, plot.where) then return nil end
  end
  for i, name in ipairs(lists.keys(plot.where or {})) do
    texts[i] = ("%s %s"):format(name, factors.text(plot.where[name]))
  end
  return ("field 'where': no row has %s"):format(table.concat(texts, " and "))
end

--- What is wrong with the names of a plot over these rows, which are all there are: an axis that is
--- no metric, factor or option, a group of which no row has a value, values that no row has; nil where nothing is.
function parts.check_names(plot, rows)
  local names = names_of(rows)
  for _, name in ipairs { "class", "row", "dataset" } do names:add(name) end
  local function refusal(field, name)
    return ("field '%s': no factor or option '%s'%s"):format(field, name,
      core.did_you_mean(tostring(name), names.list))
  end
  local x = parts.axis(plot.x)
  if x and not names.has[x] and not metrics.is_known(x) then
    for _, name in ipairs(metrics.names()) do names:add(name) end
    return refusal("x", x)
  end
  for _, field in ipairs { "group", "label", "by" } do
    local name = plot[field]
    if type(name) == "string" and not names.has[name] then return refusal(field, name) end
  end
  for name in pairs(plot.where or {}) do
    if not names.has[name] then return refusal("where", name) end
  end
  for name in pairs(plot.group_names or {}) do
    local wrong = parts.check_group(plot, rows, "group_names", name)
    if wrong then return wrong end
  end
  return where_refusal(plot, rows)
end

--- What is wrong with a field that names a group of these rows; nil where nothing is.
function parts.check_group(plot, rows, field, name)
  local names = {}
  for i, row in ipairs(rows) do
    names[i] = parts.group(row, plot.group)
    if names[i] == factors.text(name) then return nil end
  end
  return ("field '%s': no group '%s'%s"):format(field, name, core.did_you_mean(tostring(name), names))
end

-- ---- what the papers print ----

--- What a plot says whose kind draws published values.
parts.published_field = { "published", "string",
  "a table of `results/published/`: hollow marks where it prints what is shown; the title of x says where others lie" }

-- Whether an axis over our values has place for another one: on it, or at most as far beyond it as
-- it is long, or as a tenth of its end. A chart without such an axis has.
local function is_near(made, value)
  if not made then return true end
  local part = made.part(value)
  if part >= -1 and part <= 2 then return true end
  local nearest = part < 0 and made.low or made.high
  return math.abs(value - nearest) <= 0.1 * math.abs(nearest)
end

--- The published values of the points of a chart, each { x, y, ..., row = }: { x, y, index of the
--- point } where the table prints y, and x where x is a metric that it prints. `axes` are those that
--- the chart has of the points alone, { x =, y = }. What is so far from them that it would press all
--- points flat is left out: the second result has the values y of those.
function parts.published(plot, points, x, y, axes)
  local marks, beyond = {}, {}
  if not plot.published then return marks, beyond end
  local paper = published.table(plot.published)
  for i, point in ipairs(points) do
    local name, dataset = published.row_name(paper, point.row), point.row.dataset
    local value = paper.value(name, y, dataset) or paper.value(name, y, "")
    local at = point[1]
    if metrics.is_known(x) then at = paper.value(name, x, dataset) or paper.value(name, x, "") end
    if value and at then
      if is_near(axes.y, value) and is_near(axes.x, at) then
        marks[#marks + 1] = { at, value, i }
      else
        beyond[#beyond + 1] = value
      end
    end
  end
  return marks, beyond
end

-- "4 published values of y, 22.9 to 26.4, lie beyond the axes", which tells how far ours are from them.
local function far_text(beyond)
  local low, high = ("%.4g"):format(math.min(table.unpack(beyond))), ("%.4g"):format(math.max(table.unpack(beyond)))
  return ("%d published value%s of y, %s, lie%s beyond the axes"):format(#beyond, #beyond == 1 and "" or "s",
    low == high and low or low .. " to " .. high, #beyond == 1 and "s" or "")
end

--- What the x title says of published values, drawn and beyond the axes: "" where there are none.
function parts.published_text(marks, beyond)
  local said = {}
  if #marks > 0 then said[1] = "hollow: published" end
  if #beyond > 0 then said[#said + 1] = far_text(beyond) end
  return #said > 0 and (" (%s)"):format(table.concat(said, "; ")) or ""
end

-- ---- rows ----

--- What a plot says that shows some of the rows alone.
parts.where = { "where", "table", "factors or options and their values: only the rows that have them" }

--- What a plot says that may show all data sets in one chart.
parts.together = { "together", "boolean", "true: all data sets in one chart" }

-- What a row says of a name: its label, its data set, its model's class, a factor of the sweep or, as
-- text, an option of the model; nil where it has none of that name.
local function said(row, name)
  if name == "row" then return row.label end
  if name == "dataset" then return row.dataset end
  if name == "class" then return row.model.name end
  local value = factors.value(row, name)
  if value == nil then value = row.model:spelled(name) end
  return value
end

local function is_same(a, b)
  local x, y = tonumber(a), tonumber(b)
  if x and y then return x == y end
  return factors.text(a) == factors.text(b)
end

--- Whether a row has these factors or options, { name = value ... }; nil: any has.
function parts.has_all(row, wanted)
  for name, value in pairs(wanted or {}) do
    if not is_same(said(row, name), value) then return false end
  end
  return true
end

--- The rows that a plot shows: of an experiment on a data set, or with "" on all of them.
function parts.rows_of(view, plot, dataset)
  local rows = {}
  for _, row in ipairs(view.experiment.rows) do
    local shown = dataset == "" or row.dataset == dataset
    if shown and parts.has_all(row, plot.where) then rows[#rows + 1] = row end
  end
  return rows
end

--- What a row is grouped or labelled by, as text: what it says of the name; its model's class where it
--- says nothing.
function parts.group(row, name)
  if not name then return "" end
  local value = said(row, name)
  if value == nil then return row.model.name end
  return factors.text(value)
end

--- "~", as tables mark them, where the value that is shown of a row for one of `names`, the axes of a
--- plot, is a time of a busy machine; else "".
function parts.busy_mark(results, row, names)
  for _, name in pairs(names) do
    local _, busy = results:reason(row.label, name, row.dataset)
    if busy then return "~" end
  end
  return ""
end

--- What the legend of a plot says of groups: "window 64" where a number alone would not tell.
function parts.told_groups(plot, names)
  local told, own = {}, {}
  for name, said_of in pairs(plot.group_names or {}) do own[factors.text(name)] = said_of end
  for i, name in ipairs(names) do
    told[i] = own[name] or tonumber(name) and plot.group and ("%s %s"):format(plot.group, name) or name
  end
  return told
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
  local options = " " .. (group.latest.model_options or "")
  return tonumber(group.latest[name])
    or tonumber(options:match("%s" .. name:gsub("%W", "%%%0") .. "=(%S+)"))
end

--- The value of an axis for a row: a factor of the sweep, an option of the model, or a metric's
--- mean with its spread.
function parts.axis_value(results, row, name, dataset)
  local own = factors.value(row, name)
  if own == nil and metrics.is_known(name) then return results:value(row.label, name, dataset) end
  return recorded_value(results, row, name, dataset) or tonumber(own or row.model:spelled(name))
end

--- Whether an axis has a place for a value: a logarithmic one has none for 0.
function parts.has_place(value, log) return not log or value > 0 end

--- What the x title says of rows that a logarithmic axis has no place for, by their labels.
function parts.beyond_text(labels)
  return #labels > 0 and (" (at 0, not shown: %s)"):format(table.concat(labels, ", ")) or ""
end

--- The lower end of a spread: the value itself where a logarithmic axis has no place for it, else
--- not below 0 of a value that is not negative.
function parts.below(value, spread, log)
  if log and spread >= value then return value end
  return value >= 0 and math.max(0, value - spread) or value - spread
end

--- The upper end of a spread of a metric.
function parts.above(value, spread, name)
  return math.max(value, math.min(value + spread, metrics.most(name)))
end

--- Where an axis from 0 on ends, `room` times as far as the highest value; gnuplot refuses one
--- without length, where all values are 0.
function parts.upper_limit(room, highest) return highest > 0 and room * highest or 1 end

-- ---- points ----

--- The rows of a plot over two axes as points { x, y, low x, high x, low y, high y, row = }, and the labels of
--- those that have both values, but no place on a logarithmic axis.
function parts.points_of(view, plot, dataset)
  local x, x_log = parts.axis(plot.x)
  local y, y_log = parts.axis(plot.y)
  local points, beyond = {}, {}
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local at, x_spread = parts.axis_value(view.results, row, x, row.dataset)
    local value, spread = view.results:value(row.label, y, row.dataset)
    local is_whole = at and value
    if is_whole and parts.has_place(at, x_log) and parts.has_place(value, y_log) then
      points[#points + 1] = {
        at, value, parts.below(at, x_spread or 0, x_log), parts.above(at, x_spread or 0, x),
        parts.below(value, spread or 0, y_log), parts.above(value, spread or 0, y), row = row,
      }
    elseif is_whole then
      beyond[#beyond + 1] = row.label
    end
  end
  return points, beyond
end

-- ---- the chart ----

--- A block of rows with so many columns. gnuplot takes no empty one: a row that is not drawn stands for it.
function parts.block(name, rows, columns)
  return { name, { #rows > 0 and rows or { { n = columns } } } }
end

--- The title: the plot's own, or experiment, data and `what` is shown. A chart of all data sets ("")
--- is of `all`, default "all data".
function parts.title(view, plot, what, data, all)
  local dataset = provenance.dataset(view.runs, data == "" and (all or "all data") or data)
  if plot.title then
    return ("%s (%sscale %s)"):format(plot.title, view.of_all and "" or dataset .. "; ", view.scale)
  end
  return ("%s, %s: %s (scale %s)"):format(view.experiment.name, dataset, what, view.scale)
end

--- What is on an axis, without its unit: of a metric, or of a title as "length, tokens".
function parts.without_unit(name)
  if metrics.is_known(name) then return metrics.quantity(name) end
  return (name:gsub(", [^,]*$", ""))
end

--- A chart by a template of plots/; `x` and `y` are metrics, or words.
function parts.new(template, title, x, y)
  local made = gnuplot.new(template, title, metrics.title(x), metrics.title(y))
  made.x_name, made.y_name = x, y
  return made
end

--- Gives a chart its axes, made by axis.over; one may be nil.
function parts.set_axes(made, x, y)
  made.axes = { x = x, y = y }
  if x then
    made.x_title = axis.title(made.x_name, x)
    table.insert(made.after, axis.program("x", x))
  end
  if y then
    made.y_title = axis.title(made.y_name, y)
    table.insert(made.after, axis.program("y", y))
  end
end

-- ---- legends ----

local canvas_width, canvas_height = 960, 600
local most_entries, sample_width = 40, 72

-- Letters of the size that legends and ticks have.
local function width_of(text) return label.width(text) * 14 / 12 end

--- A text that takes at most this part of the canvas's width, and what it takes.
function parts.shortened(text, most)
  while width_of(text) > canvas_width * most do
    text = text:gsub("…$", "")
    text = text:sub(1, utf8.offset(text, -1) - 1) .. "…"
  end
  return text, width_of(text) / canvas_width
end

--- Names as a legend beside the plot has room for them, and the right end of the plot beside them
--- as a part of the canvas; without a legend that is 0.96.
function parts.legend(names)
  if #names < 2 then return names, 0.96 end
  local list, widest = {}, 0
  for i, name in ipairs(names) do
    local text = i < most_entries and name or ""
    if i == most_entries then text = ("and %d more"):format(#names - most_entries + 1) end
    local shown, width = parts.shortened(text, 0.44)
    list[i], widest = shown, math.max(widest, width)
  end
  return list, 1 - widest - sample_width / canvas_width
end

--- The plot's width and height in pixels, up to `right` and between the margins of style.gp.
function parts.plot_size(right) return (right - 0.09) * canvas_width, 0.75 * canvas_height end

-- ---- curves ----

-- The columns of all points of all curves, one after the other.
local function gathered(curves, columns)
  local values = {}
  for _, curve in ipairs(curves) do
    for _, point in ipairs(curve) do
      for _, c in ipairs(columns) do values[#values + 1] = point[c] end
    end
  end
  return values
end

--- The axes over curves and published marks; `look` as parts.add_curves takes it.
function parts.curve_axes(curves, look, marks)
  local xs, ys = gathered(curves, { 1 }), gathered(curves, look.band and { 2, 3, 4 } or { 2 })
  table.move(gathered({ marks }, { 1 }), 1, #marks, #xs + 1, xs)
  table.move(gathered({ marks }, { 2 }), 1, #marks, #ys + 1, ys)
  return axis.over(xs, look.x or { room = 0.03 }), axis.over(ys, look.y or { room = 0.05 })
end

--- What lines.gp draws: a curve per name, an array of { x, y, low, high }. `look` says whether it
--- has points (`marks`; `mark_every`: of how many one is drawn), a band around it (`band`), what its
--- axes are (`x` and `y`, as axis.over takes them), and which `published` values stand beside it, an
--- array of { x, y, curve }.
function parts.add_curves(made, curves, names, look)
  local legend, right = parts.legend(names)
  local marks = look.published or {}
  made.blocks = { { "data", curves }, parts.block("published", marks, 3) }
  made.settings = { { "series", #curves }, { "names", legend }, { "marks", look.marks and 1 or 0 },
    { "mark_every", look.mark_every or 1 }, { "band", look.band and 1 or 0 },
    { "published", #marks }, { "right", right } }
  parts.set_axes(made, parts.curve_axes(curves, look, marks))
end

return parts
