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

return statistics
