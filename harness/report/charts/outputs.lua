-- What recurrence encodings add to the heads of a layer while the trained model reads a string of
-- letters of the alphabet "01": a curve per head, the letters along the axis.
local core = require "longhaul.core"
local encodings = require "longhaul.report.encodings"
local gnuplot = require "longhaul.report.gnuplot"
local parts = require "longhaul.report.chart_parts"

local outputs = {
  says = "what the encodings of a layer add to each head (g P V, the mean over its width) while "
    .. "the trained model reads a string",
  fields = {
    { "row", "string", "its label; its weights are kept", needed = true },
    { "layer", "number", "counted from 1", needed = true },
    { "input", "string", "a string of 0 and 1, the letters of a regular language", needed = true },
  },
}

function outputs.check(plot)
  return parts.check_layer(plot) or not plot.input:match "^[01]+$" and "'input' is a string of 0 and 1" or nil
end

function outputs.rows(plot) return { plot.row } end

function outputs.weights(plot) return plot.row end

function outputs.shows() return "weights" end

function outputs.draw(view, plot, dataset)
  local group, curves, row = view.results:group(plot.row, dataset), {}, nil
  for _, each in ipairs(parts.rows_of(view, plot, dataset)) do
    row = each.label == plot.row and each or row
  end
  local run = row and group and group.done[1]
  if not run or not core.exists(view.store:weights(run.run_id)) then return nil end
  local heads = encodings.outputs(row, view.store:weights(run.run_id), plot.input, plot.layer)
  for h, values in ipairs(heads) do
    curves[h] = {}
    for t, value in ipairs(values) do curves[h][t] = { t, value, n = 2 } end
  end
  local _, names = encodings.patterns(row.model, view.store:read_probes(run.run_id), plot.layer)
  local title = parts.title(view, plot, ("outputs of layer %d"):format(plot.layer), dataset)
  local made = parts.new("lines", title, "input",
    "added by the encoding, mean over the head's width")
  parts.add_curves(made, curves, names, { marks = true })
  local letters = {}
  for t = 1, #plot.input do
    letters[t] = ("%s %d"):format(gnuplot.quoted(plot.input:sub(t, t)), t)
  end
  table.insert(made.after, ("set xtics (%s)"):format(table.concat(letters, ", ")))
  return made
end

return outputs
