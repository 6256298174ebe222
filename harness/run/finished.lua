-- Which runs are finished and need not be run again, by what runs.csv says of them.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local metrics = require "longhaul.run.metrics"
local reach = require "longhaul.run.reach"

local finished = {}

--- Whether a run of this status has come to its end: one that diverged would do so again.
function finished.is_over(status) return status == "done" or status == "diverged" end

local function goes_before(run, other)
  local is_over = finished.is_over(run.status)
  if is_over ~= finished.is_over(other.status) then return is_over end
  return (run.date or "") >= (other.date or "")
end

--- Of the runs of a configuration one of each seed, in the order of the first: one seed may have started from
--- either of two source runs. One that came to its end goes before a failed attempt, then the latest, however
--- it ended.
function finished.of_seeds(runs)
  local list, places, seeds = {}, {}, csv.texts(runs, "seed")
  for i, run in ipairs(runs) do
    local seed = seeds[i] or ""
    local place = places[seed] or #list + 1
    if not places[seed] or goes_before(run, list[place]) then list[place], places[seed] = run, place end
  end
  return list
end

-- The first column by which two finished runs of one id did not end alike: how they ended, or a score as tables
-- show it. No machine may change these, while step times differ on each.
local function unlike(a, b, scores)
  if a.status ~= b.status then return "status" end
  for _, name in ipairs(scores) do
    local x, y = a[name], b[name]
    if x ~= y and metrics.text(name, csv.number(x)) ~= metrics.text(name, csv.number(y)) then return name end
  end
end

--- The finished runs that two folders (stores) have with other ends or scores of any split, of which the
--- first's are kept: an array of { id =, text = a line that says so }.
function finished.conflicts(first, second)
  local list, known, scores = {}, first:by_id(), metrics.scores()
  for _, run in ipairs(second:rows()) do
    local there = known[run.run_id]
    local both = there and finished.is_over(run.status) and finished.is_over(there.status)
    local name = both and unlike(there, run, scores)
    if name then
      local text = ("note: run %s (row '%s', seed %s): %s is '%s' in %s and '%s' in %s; the first is kept"):format(
        run.run_id, run.row, run.seed, name, there[name] or "", first.file, run[name] or "", second.file)
      list[#list + 1] = { id = run.run_id, text = text }
    end
  end
  return list
end

-- Whether the weights are there with which a run (its row of runs.csv) ended, where others start
-- from them.
local function has_weights(row, results, record)
  return not row.keep_weights or core.exists(results:weights(record.run_id))
end

--- The row of a run that has come to its end, or nil.
function finished.row(id, results)
  local record = results:find(id)
  return record and finished.is_over(record.status) and record or nil
end

--- Whether a run need not be run.
function finished.is_done(run, results)
  local record = finished.row(run.id, results)
  return record and has_weights(run.row, results, record)
end

--- What the rows of its configuration say of a row's seeds: `done`, those that need not be run, and
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
        known.done[seed] = row
        if is_old then known.renew[seed] = row.run_id end
      end
    end
  end
  return known
end

return finished
