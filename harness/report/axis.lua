-- An axis of a chart: where it begins and ends, where its ticks stand and what they say. It is
-- decided here and not by gnuplot, which labels a logarithmic axis of less than a decade once, ends
-- it at whole decades and writes bytes as powers of ten.
local label = require "longhaul.report.label"
local metrics = require "longhaul.run.metrics"
local quote = require "longhaul.run.quote"

local axis = {}

-- ---- the unit in which ticks count ----

local function unit_of_bytes(size)
  if size >= 2 ^ 20 then return 2 ^ 20, "MiB" end
  if size >= 2 ^ 10 then return 2 ^ 10, "KiB" end
  return 1, "bytes"
end

-- A number that is too long for a tick, by its size: 200000 is 200 of 1e3, "K".
local function amount_unit(size)
  for _, unit in ipairs { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "K" } } do
    if size >= 1e5 and size >= unit[1] then return unit[1], unit[2] end
  end
  return 1, ""
end

-- ---- ticks ----

-- The least of 1, 2 and 5 times a power of ten that cuts a span into at most `most` parts.
local function nice_step(span, most)
  local step = 10.0 ^ math.floor(math.log(span / most, 10))
  for _, factor in ipairs { 1, 2, 5 } do
    if span / (factor * step) <= most * (1 + 1e-9) then return factor * step end
  end
  return 10 * step
end

local most_parts = 8

-- Multiples of a step, all with as many digits behind the point.
local function linear_ticks(low, high, whole)
  local step = nice_step(high - low, most_parts)
  if whole and high - low >= 2 then step = math.max(1, step) end
  local divisor, suffix = amount_unit(math.max(math.abs(low), math.abs(high)))
  local digits = math.max(0, math.ceil(-math.log(step / divisor, 10) - 1e-9))
  local ticks = {}
  for k = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do
    -- what is so much finer than its size is told apart by all digits
    local text = digits > 5 and ("%.10g"):format(k * step)
      or ("%%.%df"):format(digits):format(k * step / divisor) .. suffix
    ticks[#ticks + 1] = { k * step, k == 0 and "0" or text }
  end
  return ticks
end

-- `factors` times the powers of ten between two ends.
local function decimal_ticks(low, high, factors)
  local ticks = {}
  for power = math.floor(math.log(low, 10)) - 1, math.ceil(math.log(high, 10)) do
    for _, factor in ipairs(factors) do
      local value = factor * 10.0 ^ power
      if value >= low * (1 - 1e-9) and value <= high * (1 + 1e-9) then
        local divisor, suffix = amount_unit(value)
        ticks[#ticks + 1] = { value, ("%.6g%s"):format(value / divisor, suffix) }
      end
    end
  end
  return ticks
end

local function is_power_of_two(value)
  return value >= 1 and math.log(value, 2) % 1 == 0
end

-- Lengths and windows are powers of two, and read as such.
local function binary_ticks(low, high)
  local ticks = {}
  for power = math.max(0, math.ceil(math.log(low, 2) - 1e-9)), math.floor(math.log(high, 2)) do
    ticks[#ticks + 1] = { 2.0 ^ power, ("%d"):format(2 ^ power) }
  end
  return ticks
end

-- A plot beside a long legend is about so wide, in pixels, and labels are so far apart.
local narrow_plot, label_gap = 500, 6

-- Whether the labels of two ticks stand apart, `part` being where on the axis a value is.
local function are_apart(a, b, part)
  local room = (label.width(a[2]) + label.width(b[2])) / 2 * 14 / 12 + label_gap
  return math.abs(part(a[1]) - part(b[1])) * narrow_plot >= room
end

local function has_room(tick, others, part)
  for _, other in ipairs(others) do
    if not are_apart(tick, other, part) then return false end
  end
  return true
end

local function are_crowded(ticks, part)
  for i = 2, #ticks do
    if not are_apart(ticks[i - 1], ticks[i], part) then return true end
  end
  return false
end

local fewest, most_ticks = 4, 10

-- Every second, third ... of them where there are too many.
local function thinned(ticks, part)
  local stride, kept = 0, ticks
  while stride == 0 or #kept > most_ticks or are_crowded(kept, part) do
    stride, kept = stride + 1, {}
    for i = 1, #ticks, stride do kept[#kept + 1] = ticks[i] end
  end
  return kept
end

local finer = { { 1, 2, 5 }, { 1, 1.5, 2, 3, 4, 5, 6, 8 } }

local function by_value(a, b) return a[1] < b[1] end

-- Powers of ten and, while those are too few, what lies between them and has room.
local function decimal_labels(low, high, part)
  local kept = thinned(decimal_ticks(low, high, { 1 }), part)
  for _, factors in ipairs(finer) do
    local ticks = #kept < fewest and decimal_ticks(low, high, factors) or {}
    for _, tick in ipairs(ticks) do
      if has_room(tick, kept, part) then kept[#kept + 1] = tick end
    end
  end
  table.sort(kept, by_value)
  return kept
end

local function logarithmic_ticks(low, high, values, part)
  local binary = #values > 1
  for _, value in ipairs(values) do binary = binary and is_power_of_two(value) end
  if binary then
    local ticks = binary_ticks(low, high)
    if #ticks > 1 then return thinned(ticks, part) end
  end
  local ticks = decimal_labels(low, high, part)
  return #ticks >= fewest and ticks or linear_ticks(low, high)
end

-- ---- the axis ----

local function ends_of(values, to, room)
  local low, high = math.huge, -math.huge
  for _, value in ipairs(values) do low, high = math.min(low, value), math.max(high, value) end
  local a, b = to(low), to(high)
  local margin = b > a and room * (b - a) or math.max(0.1 * math.abs(a), 1e-6)
  return low, a - margin, b + margin
end

local function all_whole(values)
  for _, value in ipairs(values) do
    if value % 1 ~= 0 then return false end
  end
  return true
end

local function same(value) return value end

-- Ticks are counted from one end to the other, and none is counted from or to infinity.
local function check_ends(low, high, log)
  if low > (log and 0 or -math.huge) and high < math.huge then return end
  error(("a%s axis has no place for values that lead it from %g to %g"):format(
    log and " logarithmic" or "n", low, high), 0)
end

--- An axis over values with `room` on either side, a part of their span (default 0.09); of values
--- that are not negative it does not begin below 0. `log`: logarithmic; `metric`: the column that
--- is shown, whose unit ticks count in; `low`, `high`: ends that are given. Gives { low =, high =,
--- log =, ticks = { { value, text } ... }, unit = "MiB" or nil, part = of a value in 0..1, value =
--- of a part }. Values without a place on it are an error: none is logarithmic to 0.
function axis.over(values, options)
  local to, from = same, same
  if options.log then to, from = math.log, math.exp end
  local least, a, b = ends_of(values, to, options.room or 0.09)
  if not options.log and least >= 0 then a = math.max(a, 0) end
  a, b = options.low and to(options.low) or a, options.high and to(options.high) or b
  local made = {
    low = from(a), high = from(b), log = options.log,
    part = function(value) return (to(value) - a) / (b - a) end,
    value = function(part) return from(a + part * (b - a)) end,
  }
  check_ends(made.low, made.high, made.log)
  local divisor = 1
  if metrics.unit(options.metric) == "byte" then
    divisor, made.unit = unit_of_bytes(from(options.log and (a + b) / 2 or b))
    made.divisor = divisor
  end
  local low, high = made.low / divisor, made.high / divisor
  local function part(amount) return made.part(amount * divisor) end
  made.ticks = options.log and logarithmic_ticks(low, high, made.unit and {} or values, part)
    or linear_ticks(low, high, not made.unit and all_whole(values))
  for _, tick in ipairs(made.ticks) do tick[1] = tick[1] * divisor end
  return made
end

--- What an axis is called: a metric's title with the unit in which its ticks count, or a word.
function axis.title(name, made)
  return made.unit and ("%s, %s"):format(metrics.quantity(name), made.unit) or metrics.title(name)
end

--- A value of a metric as its axis counts: in its unit where it has one.
function axis.text(name, made, value)
  if not made.unit then return metrics.text(name, value) end
  local amount = value / made.divisor
  return (amount < 1000 and "%.4g" or "%.0f"):format(amount)
end

--- What gnuplot is told of an axis, "x" or "y".
function axis.program(letter, made)
  local ticks = {}
  for i, tick in ipairs(made.ticks) do
    ticks[i] = ("%s %.10g"):format(quote.gnuplot(tick[2]), tick[1])
  end
  return ("set %srange [%.10g:%.10g]\n%sset %stics (%s)"):format(letter, made.low, made.high,
    made.log and ("set logscale %s\n"):format(letter) or "", letter, table.concat(ticks, ", "))
end

return axis
