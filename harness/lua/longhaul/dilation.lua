-- How far back data repeat themselves, and so which dilation d a recurrence encoding may want
-- (Huang et al. 2023, section 3): autocorrelation of a series, recurrence of symbols.
local dilation = {}

--- Sample autocorrelation of an array of numbers at the lags 1 .. `lags`, and the bound above which
--- it is no chance (two standard errors of white noise).
function dilation.autocorrelation(series, lags)
  local count, mean, variance, values = #series, 0, 0, {}
  for _, x in ipairs(series) do mean = mean + x / count end
  for _, x in ipairs(series) do variance = variance + (x - mean) ^ 2 end
  for lag = 1, math.min(lags, count - 1) do
    local sum = 0
    for t = lag + 1, count do sum = sum + (series[t] - mean) * (series[t - lag] - mean) end
    values[lag] = variance > 0 and sum / variance or 0
  end
  return values, 2 / math.sqrt(math.max(1, count))
end

--- Share of positions whose symbol is the one `lag` positions before, at the lags 1 .. `lags`: the
--- density of the diagonals of a recurrence plot. The bound is the share of independent symbols and
--- two standard errors.
function dilation.recurrence(symbols, lags)
  local count, seen, chance, values = #symbols, {}, 0, {}
  for _, s in ipairs(symbols) do seen[s] = (seen[s] or 0) + 1 end
  for _, n in pairs(seen) do chance = chance + (n / count) ^ 2 end
  for lag = 1, math.min(lags, count - 1) do
    local same = 0
    for t = lag + 1, count do
      if symbols[t] == symbols[t - lag] then same = same + 1 end
    end
    values[lag] = same / (count - lag)
  end
  return values, chance + 2 * math.sqrt(chance * (1 - chance) / math.max(1, count))
end

--- The lags above 1 where `values` peaks above `bound`, highest first, at most `most` (default 4):
--- { lag, value } each.
function dilation.suggest(values, bound, most)
  local peaks, chosen = {}, {}
  for lag = 2, #values do
    local value = values[lag]
    if value > bound and value > values[lag - 1] and value >= (values[lag + 1] or -math.huge) then
      peaks[#peaks + 1] = { lag, value }
    end
  end
  table.sort(peaks, function(a, b)
    if a[2] ~= b[2] then return a[2] > b[2] end
    return a[1] < b[1]
  end)
  for i = 1, math.min(most or 4, #peaks) do chosen[i] = peaks[i] end
  return chosen
end

--- The recurrence plot of an array: { i, j } for all places that hold the same symbol, i ~= j.
function dilation.points(symbols)
  local points = {}
  for i = 1, #symbols do
    for j = 1, #symbols do
      if i ~= j and symbols[i] == symbols[j] then points[#points + 1] = { i, j } end
    end
  end
  return points
end

return dilation
