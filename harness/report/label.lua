-- Places the labels of points so that they cover neither each other nor other points: for each
-- point the free place that is nearest to it, from a ring of candidates.
local label = {}

local character, height, gap = 7.9, 16, 10

-- Offsets of a label's box from its point: right, left, above, below, and the corners, then
-- further.
local function candidates(width)
  local list = {}
  for _, reach in ipairs { 1, 1.8, 2.8, 4 } do
    local dx, dy = gap, height * reach
    list[#list + 1] = { dx * reach, -height / 2 }
    list[#list + 1] = { -width - dx * reach, -height / 2 }
    list[#list + 1] = { dx, -dy - height / 4 }
    list[#list + 1] = { dx, dy - 3 * height / 4 }
    list[#list + 1] = { -width - dx, -dy - height / 4 }
    list[#list + 1] = { -width - dx, dy - 3 * height / 4 }
    list[#list + 1] = { -width / 2, -dy - height / 2 }
    list[#list + 1] = { -width / 2, dy - height / 2 }
  end
  return list
end

local function overlap(a, b)
  local x = math.min(a[3], b[3]) - math.max(a[1], b[1])
  local y = math.min(a[4], b[4]) - math.max(a[2], b[2])
  return x > 0 and y > 0 and x * y or 0
end

local function outside(box, width, canvas)
  local left, right = math.max(0, -box[1]), math.max(0, box[3] - width)
  local low, high = math.max(0, -box[2]), math.max(0, box[4] - canvas)
  return (left + right + low + high) * 200
end

--- `points` are {x, y, text} in pixels from the lower left corner of a canvas of this size; `taken`
--- are boxes {left, low, right, high} to keep clear of. Gives {x, y} of the left middle of each
--- label.
function label.place(points, width, canvas, taken)
  local boxes = { table.unpack(taken or {}) }
  for _, point in ipairs(points) do
    boxes[#boxes + 1] = { point[1] - 6, point[2] - 6, point[1] + 6, point[2] + 6 }
  end
  local places = {}
  for i, point in ipairs(points) do
    local size = (utf8.len(point[3]) or #point[3]) * character
    local best, cost
    for order, offset in ipairs(candidates(size)) do
      local x, y = point[1] + offset[1], point[2] + offset[2]
      local box = { x, y, x + size, y + height }
      local worth = order + outside(box, width, canvas)
      for _, other in ipairs(boxes) do worth = worth + overlap(box, other) end
      if not cost or worth < cost then best, cost = box, worth end
    end
    boxes[#boxes + 1] = best
    places[i] = { best[1], best[2] + height / 2 }
  end
  return places
end

return label
