-- The charts of an experiment: loss curves always, those of trials where rows are tuned, and what bench:plot
-- declared, drawn by the kinds of charts/. One chart per data set, but for kinds that show all of them.
-- A chart is a value first: { template = plots/<template>.gp, title =, x_title =, y_title =, blocks = { { name, data }
-- ... }, settings = { { name, value } ... }, after = lines of gnuplot }, so that what is drawn can
-- be read without drawing it.
local gnuplot = require "longhaul.report.gnuplot"
local kinds = require "longhaul.report.kinds"
local lists = require "longhaul.run.lists"
local parts = require "longhaul.report.chart_parts"
local provenance = require "longhaul.report.provenance"
local quote = require "longhaul.run.quote"
local results = require "longhaul.report.results"
local step_times = require "longhaul.run.step_times"
local store = require "longhaul.run.store"
local summary = require "longhaul.report.summary"
local views = require "longhaul.report.views"

local chart = {}

--- An experiment with a row for all data that were recorded: where a corpus is missing the script's rows are of what
--- stands in for it here.
function chart.as_recorded(experiment, measured)
  local rows, known, of_label = {}, {}, {}
  for i, row in ipairs(experiment.rows) do
    rows[i], known[row.label .. "\n" .. row.dataset] = row, true
    of_label[row.label] = of_label[row.label] or row
  end
  for _, group in ipairs(measured.order) do
    local row = of_label[group.row]
    if row and not known[group.row .. "\n" .. group.dataset] then
      rows[#rows + 1] = setmetatable({ dataset = group.dataset }, { __index = row })
    end
  end
  return setmetatable({ rows = rows }, { __index = experiment })
end

local function view_of(experiment, settings, measured)
  local function shown(which, found) return settings.recorded and chart.as_recorded(which, found) or which end
  local view = {
    experiment = shown(experiment, measured), results = measured, scale = settings.scale, device = settings.device,
    store = store.under(settings, experiment.runs),
  }
  function view.open(source)
    local found = results.of(source, settings)
    return { rows = shown(source, found).rows, results = found:selected(measured.only),
      store = store.under(settings, source.runs) }
  end
  return view
end

-- The rows that a chart shows, each { row =, results = }.
local function shown_rows(view, kind, plot, dataset)
  local wanted, list = {}, {}
  for _, label in ipairs(kind.rows and kind.rows(plot) or {}) do wanted[label] = true end
  for _, source in ipairs((kind.sources or parts.sources)(view, plot)) do
    for _, row in ipairs(source.rows) do
      local shown = (next(wanted) == nil or wanted[row.label])
        and (dataset == "" or row.dataset == dataset) and parts.has_all(row, plot.where)
      if shown then list[#list + 1] = { row = row, results = source.results } end
    end
  end
  return list
end

local function axes_of(plot) return { x = parts.axis(plot.x), y = parts.axis(plot.y) } end

-- The metrics behind a chart's axes.
local function metrics_of(kind, plot) return kind.metrics and kind.metrics(plot) or axes_of(plot) end

-- Whether one of them is a time of rounds, by itself or relative to a baseline's.
local function is_timed(names)
  for _, name in pairs(names) do
    if step_times.is_time(name) or name == "relative_step_time" then return true end
  end
  return false
end

-- The finished runs that a chart shows.
local function runs_of(shown, timed)
  local list = {}
  for _, each in ipairs(shown) do
    local group = each.results:group(each.row.label, each.row.dataset)
    local runs = group and (timed and provenance.runs_of_group(each.results, group) or group.done) or {}
    table.move(runs, 1, #runs, #list + 1, list)
  end
  return list
end

-- The charts that every experiment has, and those whose rows are tuned, but for a sweep of more rows than anybody can
-- tell apart: its curves are those of all runs.
local always, of_trials, most_rows = { "loss" }, { "trials" }, 200
local unasked = { [always] = true, [of_trials] = true }

local function any(shown, holds)
  for _, each in ipairs(shown) do
    if holds(each.results, each.row) then return true end
  end
  return false
end

-- What the rows of a chart without a value lack: the axes that none has a value of, or both of one row.
local function lacking(kind, plot, shown)
  if kind.shows then return kind.shows(plot) end
  local missing, names = {}, { (parts.axis(plot.y)) }
  if plot.x then table.insert(names, 1, (parts.axis(plot.x))) end
  for _, name in ipairs(names) do
    local is_there = any(shown, function(from, row) return parts.axis_value(from, row, name, row.dataset) end)
    if not is_there then missing[#missing + 1] = name end
  end
  return table.concat(#missing > 0 and missing or names, " and ")
end

-- The most rows that the line below a title names.
local most_named = 2

-- " · with runs that are not today's (stale): LSTM, RNN and 3 more", of the rows whose runs these are.
local function stale_note(shown)
  local labels = results.doubtful(shown, function(each)
    return each.row.label, (each.results:status(each.row.label, each.row.dataset))
  end)
  if #labels == 0 then return "" end
  return " · with runs that are not today's (stale): " .. summary.first(labels, most_named)
end

-- What stands behind the source of a chart; the mark of a busy machine is beside labels, where a kind
-- has them.
local function notes_of(view, shown, names, plot)
  local function is_busy(from, row) return parts.busy_mark(from, row, axes_of(plot)) ~= "" end
  return (view.results:apart(names, shown) and " · times of several rounds" or "")
    .. (any(shown, is_busy) and " · with times of a busy machine (~)" or "")
    .. (view.results.only and " · " .. views.selected_text(view.results.only) or "")
    .. (view.experiment.changed and " · options changed: " .. view.experiment.changed or "")
    .. stale_note(shown)
end

-- One chart, its runs in the view; nil where there are none.
local function drawn(view, kind, plot, dataset)
  local shown, names = shown_rows(view, kind, plot, dataset), metrics_of(kind, plot)
  view.runs = runs_of(shown, is_timed(names))
  if #view.runs == 0 then return nil end
  local made = kind.draw(view, plot, dataset)
  if not made then made = { lacks = lacking(kind, plot, shown) } end
  made.source = provenance.line(view.runs, view.scale) .. notes_of(view, shown, names, plot)
  return made
end

-- The same with the name of its file, or with its failure: one that fails does not stop the others. A
-- chart of chosen rows does not take the place of that of all.
local function one_chart(view, kind, plot, dataset, name)
  view.runs, view.of_all = {}, dataset == ""
  local good, made = pcall(drawn, view, kind, plot, dataset)
  if not good then made = { failure = made } end
  if not made then return nil end
  made.name = quote.file_name(view.results.only and name .. "-only" or name)
  made.plot, made.dataset, made.runs = plot, dataset, view.runs
  made.scale, made.device = view.scale, view.device
  return made
end

local function add_charts(list, view, plot)
  local kind = kinds.find(plot[1])
  local datasets = (kind.of_all or plot.together) and { "" } or summary.datasets(view.experiment.rows)
  if plot.dataset then datasets = { plot.dataset } end
  for _, dataset in ipairs(datasets) do
    local name = plot.name or plot[1]
    local made = one_chart(view, kind, plot, dataset, #datasets > 1
      and ("%s-%s"):format(name, dataset) or name)
    -- that of one data set can have the name that a script gave another: "bars" over books is "bars-books"
    local taken = made and lists.named(list, made.name) ~= nil
    if taken then made.failure = "its file would be that of an earlier chart: give one a name" end
    if made and not (unasked[plot] and (made.lacks or taken)) then list[#list + 1] = made end
  end
end

--- The charts of an experiment as values, those that have runs; nothing is drawn. Each has its
--- file's `name`, the `plot` that asked for it, its `dataset` ("" where it shows all) and the
--- `runs` behind it; or `failure`, the text of an error; or `lacks`, the measurement that its runs
--- have not. Loss curves and trials are left to the experiment whose runs they are, and left out with
--- `declared`.
function chart.values(experiment, settings, measured, declared)
  local view, list = view_of(experiment, settings, measured), {}
  for _, plot in ipairs(experiment.plots) do add_charts(list, view, plot) end
  local has_curves = experiment.runs == experiment.name and #experiment.rows <= most_rows
  if has_curves and not declared then add_charts(list, view, always) end
  if has_curves and not declared and experiment.trials then add_charts(list, view, of_trials) end
  return list
end

--- Draws charts (of chart.values) into `folder`, as SVG and PNG or in the one `format` that is wanted: sets
--- `paths` of each, or `failure`. One that fails does not stop the others. Of one that lacks something an
--- earlier drawing would stand beside tables of other runs: it goes, and `removed` says so.
function chart.draw(charts, folder, format)
  local extensions = { "gp", table.unpack(gnuplot.formats) }
  for _, made in ipairs(charts) do
    local base, owner = folder .. "/" .. made.name, views.owner(made.scale, made.device)
    if made.lacks then
      made.removed = views.remove(base, extensions, owner)
    elseif not made.failure then
      views.make_room(base, extensions, owner)
      local good, result = pcall(gnuplot.chart, base, made, format)
      made[good and "paths" or "failure"] = result
    end
  end
end

return chart
