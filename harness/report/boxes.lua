-- Box plots as they are read everywhere: quartiles, whiskers to the farthest value within 1.5 interquartile ranges of the
-- box (or to its edge, where no value lies between), what lies beyond as points with the number of their layer.
local boxes = {}

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
  local box = { q1 = quantile(sorted, 0.25), median = quantile(sorted, 0.5), q3 = quantile(sorted, 0.75), outliers = {} }
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

--- Gathers the layers of all finished runs: an array of { name =, values = } in the order of the rows. `sources` is an
--- array of { rows =, results =, store = }, `category(row)` the box that a row belongs to, or nil.
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

return boxes
