-- The learned matrices of a layer's recurrence encodings: the weight of a key by its lag, a curve
-- per head.
local encodings = require "longhaul.report.encodings"
local parts = require "longhaul.report.chart_parts"

local recurrence = {
  says = "the learned recurrence encodings of a layer, the weight of a key by its lag, a curve per head",
  fields = {
    { "row", "string", "its label", needed = true }, { "layer", "number", "counted from 1", needed = true },
  },
}

recurrence.check = parts.check_layer

function recurrence.rows(plot) return { plot.row } end

function recurrence.shows() return "probes" end

function recurrence.draw(view, plot, dataset)
  local group, curves, names = view.results:group(plot.row, dataset), {}, {}
  local run = group and group.done[1]
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    if run and row.label == plot.row then
      curves, names = encodings.patterns(row.model, view.store:read_probes(run.run_id), plot.layer)
    end
  end
  if #curves == 0 then return nil end
  local what = ("recurrence encodings of layer %d"):format(plot.layer)
  local made = parts.new("lines", parts.title(view, plot, what, dataset), "lag", "weight")
  parts.add_curves(made, curves, names, { marks = true, x = { room = 0 } })
  return made
end

return recurrence
