-- Claims of RSA on time series, for experiments/claims.lua: { experiment, id, check, expected } each.
local claims = {}

local function claim_on(...) claims[#claims + 1] = { ... } end

local function series_claim(id, check, expected) claim_on("rsa-table1", id, check, expected) end

-- In how many of the errors on all sets and horizons the first row is below the second.
local function wins(seen, row, other)
  local won, compared = 0, 0
  for _, dataset in ipairs(seen:datasets()) do
    for _, metric in ipairs { "mse", "mae" } do
      compared = compared + 1
      if seen:value(row, metric, dataset) <= seen:value(other, metric, dataset) then won = won + 1 end
    end
  end
  return won, compared
end

-- Against itself without RSA it wins about as often as in the paper: at least in this share less a tenth.
local function wins_claim(id, row, other, share)
  series_claim(id, function(seen)
    local won, compared = wins(seen, row, other)
    return won >= (share - 0.1) * compared, ("%s is no worse than %s in %d of %d"):format(row, other, won, compared)
  end, ("no worse in %.0f percent, less ten"):format(100 * share))
end

wins_claim("rsa_p017", "RSA-Informer", "Informer", 28 / 32)
wins_claim("rsa_p018", "RSA-LogSparse", "LogSparse", 31 / 32)
wins_claim("rsa_p019", "RSA-XL", "XL", 24 / 32)

series_claim("rsa_p020", function(seen)
  local parts = {}
  for i, name in ipairs { "Informer", "LogSparse", "XL" } do
    local won, compared = wins(seen, "RSA-" .. name, name)
    parts[i] = { 2 * won > compared and "holds" or "fails", ("RSA-%s: %d of %d"):format(name, won, compared) }
  end
  return seen:all(parts)
end, "no worse in more than half of all errors, each of the three")

series_claim("rsa_p022", function(seen)
  local gate = seen:value("RSA-Informer", "rsa_gate")
  return gate > 0.7, ("mean gate %.2f"):format(gate)
end, "mean gate above 0.7")

series_claim("rsa_p023", function(seen)
  local rsa, plain = seen:value("RSA-XL", "parameters"), seen:value("XL", "parameters")
  return rsa < plain, ("%.0f against %.0f parameters, mean over sets"):format(rsa, plain)
end, "fewer parameters")

claim_on("rsa-table6", "rsa_p072", function(seen)
  local parts = {}
  for _, dataset in ipairs(seen:datasets()) do
    for s = 0, 2 do
      local best = math.huge
      for dilated = 0, 2 do
        best = math.min(best, seen:value(("s %d, dilated %d"):format(s, dilated), "mse", dataset))
      end
      local none = seen:value(("s %d, dilated -"):format(s), "mse", dataset)
      parts[#parts + 1] = { best < none and "holds" or "fails", ("%s, s = %d: %.3f with, %.3f without"):format(dataset, s, best, none) }
    end
  end
  return seen:all(parts)
end, "the best of the dilated settings below the one without, for every s and horizon")

claim_on("rsa-figure9", "rsa_p078", function(seen)
  local errors = {}
  for i = 1, 3 do errors[i] = seen:value(("initial gate %d"):format(i - 2), "mse", "ETTh1 24") end
  return errors[1] > errors[2] and errors[2] > errors[3], ("MSE %.3f, %.3f, %.3f"):format(table.unpack(errors))
end, "MSE falls as the initial gate goes from -1 to 0 and 1")

return claims
