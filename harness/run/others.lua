-- How others use the machine while something is measured on it.
local core = require "longhaul.core"
local ranks = require "longhaul.run.ranks"

local others = {}

-- Busy is when others used more than this share of the processors, above what the clock of the
-- system cannot tell: it counts in ticks of a hundredth of a second.
local busy_share, ticks = 0.1, 0.02

--- Whether others that used so many seconds of `processors` during so many seconds made the machine
--- busy.
function others.are_busy(used, seconds, processors)
  return used > processors * (busy_share * seconds + ticks)
end

-- What was spent by the ranks that share this one's processors, itself among them, and how many they
-- are.
local function spent_at(place, spent)
  local sum, count, alike, all = 0, 0, ranks.alike(place), ranks.each(spent)
  for i, shares in ipairs(alike) do
    if shares then sum, count = sum + all[i], count + 1 end
  end
  return sum, count
end

--- What `work` gives, and what others used meanwhile: { load = processors, busy = "yes" or "no" },
--- both "" where the system does not say. `together`: all ranks do the work, and none of them is
--- another: each looks at its own processors, and one that finds them busy is enough.
function others.watch(work, together)
  local start, machine, own, processors, place = core.clock(), core.cpu_time()
  local result = work()
  local seconds = core.clock() - start
  local machine_after, own_after = core.cpu_time()
  local known = machine ~= nil and machine_after ~= nil
  local spent, count = known and own_after - own or 0, 1
  if together then
    known = not core.any_rank(not known)
    spent, count = spent_at(place or "", spent)
  end
  if not known then return result, { load = "", busy = "" } end
  local used = math.max(0, machine_after - machine - spent)
  local busy = others.are_busy(used, seconds, processors)
  used = math.min(used, processors * seconds) -- in a few ms a tick may be more than there are
  -- processors that several ranks share count once
  if together then used, busy = core.sum_ranks(used / count), core.any_rank(busy) end
  return result, { load = used / seconds, busy = busy and "yes" or "no" }
end

--- Processors that others use just now, where that makes the machine busy; else nil.
function others.now()
  local _, seen = others.watch(function() core.sleep(0.5) end)
  return seen.busy == "yes" and seen.load or nil
end

return others
