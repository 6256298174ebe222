-- Runs that have come to their end, and whose rows runs.csv has lost since: cut off at a line's end, or with an old
-- copy put in its place, the file itself does not show it.
local core = require "longhaul.core"
local outlook = require "longhaul.run.outlook"
local plan = require "longhaul.run.plan"
local quote = require "longhaul.run.quote"
local store = require "longhaul.run.store"

local lost = {}

--- Whether runs.csv has no row of a run (with its `id`) whose curve goes to its last step or which has probes. A
--- run leaves a checkpoint behind until its row is there, and a process that trains it holds its lock; so one that
--- has neither has had its row.
function lost.is(run, results)
  local checkpoint = results:checkpoint(run.id)
  if results:find(run.id) or core.exists(checkpoint) then return false end
  local point = results:last_point(run.id)
  local is_whole = point and (point.step or 0) >= run.row.train:option "steps"
  return (is_whole or core.exists(results:probes(run.id))) and not core.is_locked(checkpoint .. ".lock") or false
end

--- A sentence about those of `runs` that are lost; nil where none is.
function lost.note(runs, results)
  local first, count = nil, 0
  for _, run in ipairs(runs) do
    if run.id and lost.is(run, results) then first, count = first or run, count + 1 end
  end
  if not first then return nil end
  local name = quote.line(("%s %s seed %d"):format(first.row.label, first.row.dataset, first.seed))
  return ("%s has lost the row%s of %s%s, trained to the end: put a copy of the file there, or the same `longhaul run` "
    .. "trains again"):format(results.file, count > 1 and "s" or "", name,
    count > 1 and (" and %d more"):format(count - 1) or "")
end

--- Notes what an experiment and those that are run before it have lost, which looks in tables and charts as if it had
--- never been run.
function lost.tell(experiment, settings)
  for _, each in ipairs(plan.all(experiment)) do
    local stored = store.under(settings, each.runs)
    local begun = #stored:begun() > 0 -- else no data are opened
    local note = begun and lost.note(outlook.identified(plan.of(each, settings)), stored)
    if note then io.stderr:write("note: ", note, "\n") end
  end
end

return lost
