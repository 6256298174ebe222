-- How others use the machine while something is measured on it.
local core = require "longhaul.core"

local others = {}

-- Busy is when others used more than this share of the processors, above what the clock of the
-- system cannot tell: it counts in ticks of a hundredth of a second.
local busy_share, ticks = 0.1, 0.02

--- Whether others that used so many seconds of `processors` during so many seconds made the machine
--- busy.
function others.are_busy(used, seconds, processors)
  return used > processors * (busy_share * seconds + ticks)
end

--- What `work` gives, and what others used meanwhile: { load = processors, busy = "yes" or "no" },
--- both "" where the system does not say. `add` (nil: nothing is) sums what ranks beside this one
--- used: they are not others.
function others.watch(work, add)
  local start, machine, own, processors = core.clock(), core.cpu_time()
  local result = work()
  local seconds = core.clock() - start
  local machine_after, own_after = core.cpu_time()
  local spent = machine_after and own_after - own or 0
  if add then spent = add(spent) end
  if not machine or not machine_after then return result, { load = "", busy = "" } end
  local used = math.max(0, machine_after - machine - spent)
  local busy = others.are_busy(used, seconds, processors)
  return result, { load = used / seconds, busy = busy and "yes" or "no" }
end

--- Processors that others use just now, where that makes the machine busy; else nil.
function others.now()
  local _, seen = others.watch(function() core.sleep(0.5) end)
  return seen.busy == "yes" and seen.load or nil
end

return others
