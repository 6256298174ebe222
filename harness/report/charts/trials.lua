-- The trials of tuned rows: the validation score over the option that was tried, the chosen value marked, so that
-- a choice at the edge of the grid is seen. Of rounds the first is shown, in which all choices had as many steps.
-- It is drawn unasked where rows are tuned (chart.lua).
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"
local summary = require "longhaul.report.summary"

local trials = {
  says = "the validation score of each row's trials (`lh.tune`) over an option that was tried, the best of those with "
    .. "its value, a curve per row, the chosen one marked",
  fields = {
    { "x", "string", "the option", default = "rate where it was tried, else the first of them" },
  },
}

-- The trials of a row's first round, and the experiment whose rows they are.
local function first_round(experiment, row)
  local owner, list = experiment.trials, row.trials
  while list[1].trials do owner, list = owner.trials, list[1].trials end
  return owner, list
end

-- Of a row { row =, name = the option, trials =, results = those of its trials }.
local function tried(view, plot, row)
  local owner, list = first_round(view.experiment, row)
  local opened = view.opened or {}
  view.opened = opened
  opened[owner] = opened[owner] or view.open(owner).results
  return { row = row, name = plot.x or (row.tune.axes.rate and "rate" or row.tune.names[1]), trials = list,
    results = opened[owner] }
end

-- The tuned rows of a data set that tried the option.
local function tuned_rows(view, plot, dataset)
  local list = {}
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local each = row.tune and tried(view, plot, row)
    if each and each.row.tune.axes[each.name] then list[#list + 1] = each end
  end
  return list
end

--- Whose runs are behind the chart.
function trials.sources(view, plot)
  local list = {}
  for _, each in ipairs(tuned_rows(view, plot, "")) do
    list[#list + 1] = { rows = each.trials, results = each.results }
  end
  return list
end

function trials.metrics() return {} end

function trials.shows() return "a score of the validation split of trials over numbers" end

-- The curve of a row, the best score at each value in their order, and how many trials have no score.
local function curve_of(each)
  local sign, best, curve, without = metrics.better(each.row.tune.by) == "max" and -1 or 1, {}, {}, 0
  for _, trial in ipairs(each.trials) do
    local at = tonumber(trial.tried.values[each.name])
    local group = each.results:group(trial.label, trial.dataset)
    local is_whole = group ~= nil and group.diverged + group.failed == 0
    local score = is_whole and each.results:value(trial.label, each.row.tune.by, trial.dataset)
    if not score then without = without + 1 end
    if at and score and (not best[at] or sign * score < sign * best[at]) then best[at] = score end
  end
  for at, score in pairs(best) do curve[#curve + 1] = { at, score, score, score } end
  table.sort(curve, function(a, b) return a[1] < b[1] end)
  return curve, without
end

-- The mark of the value that a row chose, on its curve.
local function chosen(each, curve, index)
  local value = each.row.tuned and tonumber(each.row.tuned.values[each.name])
  for _, point in ipairs(curve) do
    if point[1] == value then return { point[1], point[2], index } end
  end
end

local function is_positive(lines)
  for _, curve in ipairs(lines) do
    if curve[1][1] <= 0 then return false end
  end
  return true
end

-- The most rows that the x title names.
local most_named = 2

-- What the x title says of the marks, of trials that have none, and of the rows `others`, which tried otherwise.
local function note_of(without, others)
  local texts = { "circle: chosen" }
  if without > 0 then texts[2] = ("%d trial%s without a score"):format(without, without == 1 and "" or "s") end
  if #others > 0 then
    texts[#texts + 1] = "by another score or option, not shown: " .. summary.first(others, most_named)
  end
  return (" (%s)"):format(table.concat(texts, "; "))
end

function trials.draw(view, plot, dataset)
  local lines, names, marks, without, first, others = {}, {}, {}, 0, nil, {}
  for _, each in ipairs(tuned_rows(view, plot, dataset)) do
    first = first or each
    local is_alike = each.name == first.name and each.row.tune.by == first.row.tune.by
    local curve, lost = curve_of(each)
    if is_alike and #curve > 0 then
      lines[#lines + 1], names[#names + 1] = curve, each.row.label
      marks[#marks + 1] = chosen(each, curve, #lines)
    end
    without = without + (is_alike and lost or 0)
    others[#others + 1] = not is_alike and each.row.label or nil
  end
  if #lines == 0 then return nil end
  local by, rounds = first.row.tune.by, first.row.tune.rounds
  local what = ("%s by %s%s"):format(metrics.quantity(by), first.name,
    rounds > 1 and (", first of %d rounds"):format(rounds) or "")
  local made = parts.new("lines", parts.title(view, plot, what, dataset), first.name, by)
  parts.add_curves(made, lines, names, { marks = true, published = marks, x = { log = is_positive(lines), room = 0.05 },
    y = { metric = by, room = 0.05 } })
  made.x_title = made.x_title .. note_of(without, others)
  return made
end

return trials
