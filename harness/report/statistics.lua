-- Statistics over seeds and runs.
local statistics = {}

--- Mean, standard deviation (nil for one value) and number of some values, of which there are any.
function statistics.of(values)
  local sum, squares = 0, 0
  for _, value in ipairs(values) do sum = sum + value end
  local mean = sum / #values
  for _, value in ipairs(values) do squares = squares + (value - mean) ^ 2 end
  return mean, #values > 1 and math.sqrt(squares / (#values - 1)) or nil, #values
end

--- Mean, standard error of it (nil for one value) and number of some values, of which there are any.
function statistics.mean_error(values)
  local mean, spread, count = statistics.of(values)
  return mean, spread and spread / math.sqrt(count), count
end

--- The standard error of what is made of several values, by what is made of all but one of them
--- (the jackknife); for their mean the usual one. nil for fewer than two.
---@param left_out number[] without the first value, without the second ...
function statistics.jackknife(left_out)
  local count, sum, squares = #left_out, 0, 0
  if count < 2 then return nil end
  for _, value in ipairs(left_out) do
    local apart = value - left_out[1]
    sum, squares = sum + apart, squares + apart ^ 2
  end
  -- in this order a NaN stays one
  return math.sqrt(math.max(squares - sum ^ 2 / count, 0) * (count - 1) / count)
end

-- P(|T| <= t) of Student's t (Abramowitz and Stegun, 26.7.3 and 26.7.4).
local function within(t, freedom)
  local angle, odd = math.atan(t / math.sqrt(freedom)), freedom % 2
  local term = odd == 1 and math.cos(angle) or 1
  local sum = freedom > 1 and term or 0
  for n = odd + 2, freedom - 2, 2 do
    term = term * (n - 1) / n * math.cos(angle) ^ 2
    sum = sum + term
  end
  if odd == 0 then return math.sin(angle) * sum end
  return 2 / math.pi * (angle + math.sin(angle) * sum)
end

--- A difference of qualities needs so many seeds to be told from chance, and a p-value below this.
statistics.fewest_seeds, statistics.level = 3, 0.05

--- The share of a level that decides at so many seeds (or rounds), where `planned` were to be looked
--- at. Whoever adds seeds to what these left open has a further chance to be wrong. So each look at
--- up to twice as many has half the level of the one before: all together err less than twice as
--- often as one.
function statistics.share_of_look(seeds, planned)
  local further = 0
  while seeds > planned << further do further = further + 1 end
  return 0.5 ^ further
end

--- What stands beside qualities of fewer seeds.
statistics.too_few = ("Fewer than %d seeds tell no difference from chance."):format(statistics.fewest_seeds)

--- The chance that equal sides show a mean difference as great on the side where it lies (p-value,
--- one-sided), by its standard error over so many seeds; 1 where these are too few, where the sides
--- are equal in every one, or where one of the two is no number.
function statistics.p_value(mean, err, seeds)
  if seeds < statistics.fewest_seeds then return 1 end
  if mean ~= mean or err ~= err then return 1 end
  if err == 0 then return mean == 0 and 1 or 0 end
  -- where the rest is below the rounding of 1 it may come out negative
  return math.max((1 - within(math.abs(mean) / err, seeds - 1)) / 2, 0)
end

-- Of smaller ones rounding leaves no digit.
local least_told = 1e-15

--- "p 0.012", "p < 1e-15"
function statistics.p_text(p_value)
  return p_value < least_told and ("p < %g"):format(least_told) or ("p %.2g"):format(p_value)
end

--- The differences a - b of values by seed, in the order of the seeds that both have.
---@param a table<integer, number>
---@param b table<integer, number>
---@return number[]
function statistics.paired(a, b)
  local seeds, differences = {}, {}
  for seed in pairs(a) do
    if b[seed] then seeds[#seeds + 1] = seed end
  end
  table.sort(seeds)
  for i, seed in ipairs(seeds) do differences[i] = a[seed] - b[seed] end
  return differences
end

--- The p-value of differences by seed, of which there are any: a paired t test, two-sided; 1 where
--- nothing can be told.
function statistics.paired_p_value(differences)
  return math.min(2 * statistics.p_value(statistics.mean_error(differences)), 1)
end

--- Which rows of a table are told from its best, by the differences of each from it, seed by seed:
--- paired t tests, two-sided since the data chose the best, at a false discovery rate of
--- statistics.level over the rows that have a test (Benjamini and Hochberg 1995): those of too few seeds
--- have none.
---@param rows number[][]
---@return boolean[]
function statistics.told_apart(rows)
  local tests, last, apart = {}, 0, {}
  for i, differences in ipairs(rows) do
    apart[i] = false
    if #differences >= statistics.fewest_seeds then
      tests[#tests + 1] = { row = i, p_value = statistics.paired_p_value(differences) }
    end
  end
  table.sort(tests, function(a, b) return a.p_value < b.p_value end)
  for rank, test in ipairs(tests) do
    if test.p_value < statistics.level * rank / #tests then last = rank end
  end
  for rank, test in ipairs(tests) do apart[test.row] = rank <= last end
  return apart
end

return statistics
