-- A kind of charts: a point per row, and its template.
return {
  says = "a kind of charts and its template",
  files = { { "harness/report/charts/NAME.lua", [==[
-- NAME: what it shows, in one sentence.
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"

local NAME = {
  says = "a point per row",
  fields = { { "y", "string", "a metric", needed = true } },
  check = parts.check_metric,
}

-- A point for each row that has the metric, in their order: replace this by what is to be shown.
function NAME.draw(view, plot, dataset)
  local points, labels = {}, {}
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local value = view.results:value(row.label, plot.y, dataset)
    if value then
      labels[#labels + 1] = row.label
      points[#points + 1] = { #labels, value }
    end
  end
  if #points == 0 then return nil end
  local made = parts.new("NAME", parts.title(view, plot, metrics.title(plot.y), dataset), "", plot.y)
  made.blocks = { { "points", { points } } }
  made.settings = { { "rows", #points }, { "labels", labels } }
  return made
end

return NAME
]==] }, { "plots/NAME.gp", [==[
# NAME: what it shows. Needs $points (x, y), `rows`, array `labels`.
set lmargin at screen 0.11
set rmargin at screen 0.96
set xrange [0.4 : rows + 0.6]
unset key
set xtics () noenhanced
do for [i = 1:rows] { set xtics add (labels[i] i) }
plot $points using 1:2 with points pointtype 7 linecolor rgb "#0072B2" notitle
]==] } },
  beside = "harness/report/kinds.lua",
  next = "make; bench:plot { \"NAME\", y = \"bits_per_byte\" }; build/longhaul lua scripts/annotate.lua",
}
