-- One bar per row from zero, with its spread over seeds and its value.
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"
local quote = require "longhaul.run.quote"

local bars = {
  says = "a bar per row from zero, with its spread and value",
  fields = { { "y", "string or table", "a metric" } },
  check = parts.check_metric,
}

function bars.draw(view, plot, dataset)
  local y = parts.axis(plot.y)
  local list, labels, limit = {}, {}, 0
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local value, spread = view.results:value(row.label, y, dataset)
    if value then
      labels[#labels + 1] = quote.tic(row.label)
      local low, high = value - (spread or 0), value + (spread or 0)
      list[#list + 1] = { #labels, value, low, high, metrics.text(y, value) }
      limit = math.max(limit, high)
    end
  end
  if #list == 0 then return nil end
  local made = parts.new("bars", parts.title(view, plot, metrics.chart_title(y), dataset), y, "")
  made.blocks = { { "bars", { list } } }
  made.settings = { { "rows", #list }, { "labels", labels },
    { "limit", parts.upper_limit(1.15, limit) } }
  return made
end

return bars
