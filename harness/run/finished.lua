-- Which runs are finished and need not be run again, by what runs.csv says of them.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local reach = require "longhaul.run.reach"

local finished = {}

--- Whether a run of this status has come to its end: one that diverged would do so again.
function finished.is_over(status) return status == "done" or status == "diverged" end

-- Whether the weights are there with which a run (its row of runs.csv) ended, where others start
-- from them.
local function has_weights(row, results, record)
  return not row.keep_weights or core.exists(results:weights(record.run_id))
end

--- Whether a run need not be run.
function finished.is_done(run, results)
  local record = results:find(run.id)
  return record and finished.is_over(record.status) and has_weights(run.row, results, record)
end

--- What the rows of its configuration say of a row's seeds: `done`, which need not be run, and
--- `renew`, the ids of those for which the script has come to name another loss. `shared`: what its
--- runs have in common (plan.of).
function finished.seeds(shared, rows, results)
  local known, wanted = { done = {}, renew = {} }, reach.text(shared.row.reach) or ""
  for _, alike in ipairs(csv.groups(rows, { "status", "reach" })) do
    local seeds, status = csv.numbers(alike, "seed"), alike[1].status
    local is_old = (alike[1].reach or "") ~= wanted
    for i, row in ipairs(finished.is_over(status) and alike or {}) do
      local seed = seeds[i] or 0
      -- a seed may have started from another run than it would now
      local is_own = not shared.row.from or row.run_id == identity.id(setmetatable({ seed = seed }, shared))
      if is_own and has_weights(shared.row, results, row) then
        known.done[seed] = true
        if is_old then known.renew[seed] = row.run_id end
      end
    end
  end
  return known
end

return finished
