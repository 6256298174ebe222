-- The papers' headline claims as rows that a machine checks against whatever has been run at this scale.
-- `longhaul run experiments/claims.lua --scale small` after the tables.
local lh = require "longhaul"

local bench = lh.experiment "claims"

-- A dozen steps order nothing: at scale smoke only the figures stand.
local function judged(check)
  if lh.scale() ~= "smoke" then return check end
  return function(seen)
    local _, measured = check(seen)
    return "undecided", measured, "a smoke run trains for a dozen steps"
  end
end

local function claim(id, check, expected)
  bench:claim { id, experiment = "brt-table1", expected = expected, check = judged(check) }
end

local bits, time = "bits_per_token", "relative_step_time"
local best = "Rec:fixed:skip"

-- Recurrence beats one more layer at the same cost.
claim("brt_p006", function(seen) return seen:lower_everywhere(bits, best, "Slide:13L") end)

claim("brt_p071", function(seen)
  local own, layer = seen:value(best, time), seen:value("Slide:13L", time)
  return own < 1.05 * layer, ("relative step time %.2f"):format(own / layer)
end, "step time of Rec:fixed:skip at most 1.05 of Slide:13L")

-- fixed:skip is the best of the six cells.
claim("brt_p070", function(seen)
  local parts = {}
  for _, row in ipairs(seen:rows "^Rec:") do
    if row ~= best then parts[#parts + 1] = { seen:lower_everywhere(bits, best, row) } end
  end
  return seen:all(parts)
end)

-- Better than four times the window at less than half of its step time.
claim("brt_p102", function(seen)
  local ratio = seen:value("XL:2048", time) / seen:value(best, time)
  return seen:all {
    { seen:lower_everywhere(bits, best, "XL:2048") },
    { ratio > 2 and "holds" or "fails", ("XL:2048 takes %.2f of its step time"):format(ratio) },
  }
end)

-- A window that is differentiable across blocks beats a cache of the same width.
claim("brt_p060", function(seen) return seen:lower_everywhere(bits, "Slide:12L", "XL:512") end)

-- A wider window lowers bits.
claim("brt_p057", function(seen)
  return seen:all {
    { seen:lower_everywhere(bits, "XL:1024", "XL:512") },
    { seen:lower_everywhere(bits, "XL:2048", "XL:1024") },
  }
end)

-- Feedback costs 30 to 40 percent.
claim("brt_p028", function(seen)
  local skip = seen:value("Feedback:fixed:skip", time) / seen:value(best, time)
  local single = seen:value("Feedback:lstm:single", time) / seen:value("Rec:lstm:single", time)
  local inside = skip >= 1.2 and skip <= 1.5 and single >= 1.2 and single <= 1.5
  return inside, ("feedback costs %.2f (fixed:skip) and %.2f (lstm:single)"):format(skip, single)
end)

-- Recurrence helps more at small windows.
bench:claim {
  "brt_p085", experiment = "brt-ablations",
  check = judged(function(seen)
    local windows = seen:rows "^window %d+ rec$"
    local widths = {}
    for i, row in ipairs(windows) do widths[i] = tonumber(row:match "%d+") end
    table.sort(widths)
    if #widths < 2 then return "undecided", "", "fewer than two windows were measured" end
    local function gain(width)
      return seen:value(("window %d slide"):format(width), bits) - seen:value(("window %d rec"):format(width), bits)
    end
    local small, large = gain(widths[1]), gain(widths[#widths])
    local measured = ("gain %.4f bits at window %d, %.4f at %d"):format(small, widths[1], large, widths[#widths])
    if math.abs(small - large) < 0.01 then return "undecided", measured, "within 0.01 bits" end
    return small > large, measured
  end),
}

return bench
