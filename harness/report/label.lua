-- Places the labels of points so that they cover neither each other nor other points: for each
-- point the free place that is nearest to it, from rings of candidates; where that is not beside
-- the point, a line leads there.
local fold = require "longhaul.run.fold"

local label = {}

local height, gap = 15, 9

-- ---- how wide a text is ----

local narrow, wide = "[ijlI.,:;'|!%(%)%[%]ftr ]", "[mwMW@%%]"

--- The width of a text in pixels at a size of 12, a little more than DejaVu Sans takes: of one that a terminal gives
--- two columns, two letters'.
function label.width(text)
  local _, slim = text:gsub(narrow, "")
  local _, broad = text:gsub(wide, "")
  local _, capitals = text:gsub("[A-HJ-LN-VX-Z]", "")
  return 7.5 * fold.columns(text) - 3 * slim + 4 * broad + 1 * capitals
end

-- ---- where it may stand ----

-- Where the label of a point may stand, the nearest first: { x, y, align }, offsets of its
-- middle's height and of the end (-1: the left one, 1: the right one) or the middle (0) at which it
-- is held.
local function candidates()
  local list = {}
  for ring = 0, 9 do
    local x, y = gap + 8 * ring, height * (ring + 0.9)
    list[#list + 1] = { gap + 14 * ring, 0, -1 }
    list[#list + 1] = { -gap - 14 * ring, 0, 1 }
    for _, side in ipairs { 1, -1 } do
      list[#list + 1] = { 0, side * y, 0 }
      list[#list + 1] = { x, side * y * 0.8, -1 }
      list[#list + 1] = { -x, side * y * 0.8, 1 }
    end
  end
  return list
end

local places = candidates()

local function box_of(point, place, size)
  local x = point[1] + place[1] - (place[3] + 1) / 2 * size
  local y = point[2] + place[2]
  return { x, y - height / 2, x + size, y + height / 2 }
end

-- ---- what a place costs ----

--- The box that the mark of a point takes.
function label.around(point) return { point[1] - 6, point[2] - 6, point[1] + 6, point[2] + 6 } end

--- The area that two boxes {left, low, right, high} share.
function label.overlap(a, b)
  local x = math.min(a[3], b[3]) - math.max(a[1], b[1])
  local y = math.min(a[4], b[4]) - math.max(a[2], b[2])
  return x > 0 and y > 0 and x * y or 0
end

-- How far a point is from a box.
local function distance(box, point)
  local x = math.max(box[1] - point[1], 0, point[1] - box[3])
  local y = math.max(box[2] - point[2], 0, point[2] - box[4])
  return math.sqrt(x * x + y * y)
end

-- Whether a reader may take a label for that of another point, which is as near to it as its own.
local function is_unclear(box, points, own)
  local near = distance(box, points[own]) + 4
  for i, point in ipairs(points) do
    if i ~= own and distance(box, point) < near then return true end
  end
  return false
end

-- Where a line from a point ends that leads to its label, as an offset; nil where the label stands beside the point.
local function line_of(place)
  if math.abs(place[1]) <= 1.5 * gap and math.abs(place[2]) <= 1.2 * height then return nil end
  local edge = place[3] == 0 and (place[2] > 0 and -height / 2 or height / 2) or 0
  return { place[1] + 2 * place[3], place[2] + edge }
end

-- Whether the line to a label passes another point closely, whose it would seem to be, or runs through another label.
local function is_tangled(place, state, own)
  local line, from = line_of(place), state.points[own]
  for step = 1, line and 10 or 0 do
    local at = { from[1] + step / 10 * line[1], from[2] + step / 10 * line[2] }
    local box = { at[1], at[2], at[1], at[2] }
    for i, point in ipairs(state.points) do
      if i ~= own and (distance(box, point) < gap or distance(state.boxes[i], at) == 0) then return true end
    end
  end
  return false
end

local function outside(box, width, canvas)
  local left, right = math.max(0, -box[1]), math.max(0, box[3] - width)
  local low, high = math.max(0, -box[2]), math.max(0, box[4] - canvas)
  return (left + right + low + high) * 200
end

-- What a thin line through a label costs beside what it covers, and a label that may be another point's.
local crossed, unclear = 40, 30

-- How much it would hide of everything but itself, beside what the place costs already; boxes of labels weigh most.
-- What costs as much as the bound may cost more than is said. The dearest question comes last.
local function cost_of(box, place, state, own, cost, bound)
  cost = cost + outside(box, state.width, state.canvas)
  for i, other in ipairs(state.boxes) do
    if i ~= own then cost = cost + 3 * label.overlap(box, other) end
  end
  if cost >= bound then return cost end
  for _, other in ipairs(state.taken) do
    local shared = label.overlap(box, other)
    cost = cost + shared + (shared > 0 and crossed or 0)
  end
  if cost >= bound then return cost end
  if not line_of(place) and is_unclear(box, state.points, own) then cost = cost + unclear end
  if cost >= bound then return cost end
  return is_tangled(place, state, own) and cost + unclear or cost
end

-- The best place for the label of a point while the others stay where they are; each costs a little more than the one
-- before it.
local function settle(state, points, i)
  local size = label.width(points[i][3])
  local best, chosen, least = nil, nil, math.huge
  for order, place in ipairs(places) do
    if 4 * order >= least then break end
    local box = box_of(points[i], place, size)
    local cost = cost_of(box, place, state, i, 4 * order, least)
    if cost < least then best, chosen, least = box, place, cost end
  end
  state.boxes[i], state.places[i] = best, chosen
end

local rounds = 4

--- `points` are {x, y, text} in pixels from the lower left corner of a canvas of this size; `taken`
--- are boxes {left, low, right, high} to keep clear of. Gives for each {x, y, align, leader =}: where
--- its left end (align -1), its middle (0) or its right end (1) is held, and, where it stands so far
--- from its point that a line should lead there, the end {x, y} of that line.
function label.place(points, width, canvas, taken)
  local state = { width = width, canvas = canvas, taken = { table.unpack(taken or {}) },
    points = points, boxes = {}, places = {} }
  for i, point in ipairs(points) do
    table.insert(state.taken, label.around(point))
    state.boxes[i] = { 0, 0, 0, 0 }
  end
  for _ = 1, rounds do
    for i = 1, #points do settle(state, points, i) end
  end
  local list = {}
  for i, point in ipairs(points) do
    local place = state.places[i]
    local x, y = point[1] + place[1], point[2] + place[2]
    list[i] = { x, y, place[3] }
    local line = line_of(place)
    list[i].leader = line and { point[1] + line[1], point[2] + line[2] } or nil
  end
  return list
end

return label
