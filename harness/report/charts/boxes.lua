-- Box plots as they are read everywhere: quartiles, whiskers to the farthest value within 1.5
-- interquartile ranges of the box (or to its edge, where no value lies between), what lies beyond
-- as points with the number of their layer. They show what models say of each of their layers after
-- training.
local axis = require "longhaul.report.axis"
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"
local quote = require "longhaul.run.quote"

local boxes = {
  says = "box plots of what models say of each of their layers after training: over layers, rows of a box and seeds; "
    .. "outliers have the number of their layer",
  fields = {
    { "y", "string", "a metric that layers have, as rsa_gate", needed = true },
    { "by", "string or function",
      "the box of a row: a factor, an option of the model, or a function of the row", default = "its data set" },
    { "of", "table", "experiments whose rows are shown", default = "this one" },
    { "row", "string", "the only label to show" },
  },
  of_all = true,
  check = parts.check_metric, check_rows = parts.check_names,
}

-- Between the sorted values, linearly: 0 is the first, 1 the last.
local function quantile(sorted, part)
  local at = 1 + part * (#sorted - 1)
  local below = math.floor(at)
  local above = math.min(below + 1, #sorted)
  return sorted[below][1] + (at - below) * (sorted[above][1] - sorted[below][1])
end

--- Of a list of { value, name }: low, q1, median, q3, high, and the outliers as such a list.
function boxes.summary(values)
  local sorted = table.move(values, 1, #values, 1, {})
  table.sort(sorted, function(a, b) return a[1] < b[1] end)
  local box = { q1 = quantile(sorted, 0.25), median = quantile(sorted, 0.5),
    q3 = quantile(sorted, 0.75), outliers = {} }
  local reach = 1.5 * (box.q3 - box.q1)
  for _, item in ipairs(sorted) do
    if item[1] < box.q1 - reach or item[1] > box.q3 + reach then
      box.outliers[#box.outliers + 1] = item
    else
      box.low, box.high = box.low or math.min(item[1], box.q1), math.max(item[1], box.q3)
    end
  end
  return box
end

-- What a model said of each of its layers after training.
local function layers_of(probes, name)
  local list, layer = {}, 1
  while probes[("layer_%d_%s"):format(layer, name)] do
    list[layer] = { probes[("layer_%d_%s"):format(layer, name)], layer }
    layer = layer + 1
  end
  return list
end

--- Gathers the layers of all finished runs: an array of { name =, values = } in the order of the
--- rows. `sources` is an array of { rows =, results =, store = }, `category(row)` the box that a
--- row belongs to, or nil.
function boxes.gather(sources, y, category)
  local made, index = {}, {}
  for _, source in ipairs(sources) do
    for _, row in ipairs(source.rows) do
      local group, name = source.results:group(row.label, row.dataset), category(row)
      for _, run in ipairs(group and name and group.done or {}) do
        for _, item in ipairs(layers_of(source.store:read_probes(run.run_id), y)) do
          if not index[name] then
            index[name] = { name = name, values = {} }
            made[#made + 1] = index[name]
          end
          table.insert(index[name].values, item)
        end
      end
    end
  end
  return made
end

-- Which box a row belongs to: what a function says, a factor or an option of the model, or the data
-- set.
local function category_of(plot)
  local by = plot.by or "dataset"
  return function(row)
    if plot.row and row.label ~= plot.row or plot.dataset and row.dataset ~= plot.dataset then
      return nil
    end
    if type(by) == "function" then return by(row) end
    return parts.group(row, by)
  end
end

function boxes.rows(plot) return { plot.row } end

function boxes.draw(view, plot, dataset)
  local blocks, outliers, names, low, high = {}, {}, {}, math.huge, -math.huge
  for i, group in ipairs(boxes.gather(parts.sources(view, plot), plot.y, category_of(plot))) do
    local box = boxes.summary(group.values)
    names[i] = quote.tic(group.name)
    blocks[i] = { i, box.low, box.q1, box.median, box.q3, box.high }
    low, high = math.min(low, box.low), math.max(high, box.high)
    for _, item in ipairs(box.outliers) do
      outliers[#outliers + 1] = { i, item[1], ("layer %d"):format(item[2]) }
      low, high = math.min(low, item[1]), math.max(high, item[1])
    end
  end
  if #blocks == 0 then return nil end
  local room = math.max(0.05 * (high - low), 1e-3)
  local made = parts.new("boxes", parts.title(view, plot, metrics.quantity(plot.y), dataset,
    "all layers"), "", plot.y)
  -- an empty block would be an error in gnuplot
  if #outliers == 0 then outliers[1] = { 0, low, "" } end
  made.blocks = { { "boxes", { blocks } }, { "outliers", { outliers } } }
  made.settings = { { "boxes", #blocks }, { "names", names } }
  parts.set_axes(made, nil, axis.over({ low, high },
    { metric = plot.y, low = low - room, high = high + room }))
  return made
end

return boxes
