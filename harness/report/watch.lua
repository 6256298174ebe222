-- A sweep as it stands, read off its files and nothing else: how many runs are over, how far those are
-- that have begun, what failed. Nothing of a folder that others write to is changed or locked.
local core = require "longhaul.core"
local lost = require "longhaul.run.lost"
local metrics = require "longhaul.run.metrics"
local progress = require "longhaul.run.progress"
local quantity = require "longhaul.run.quantity"
local quote = require "longhaul.run.quote"
local outlook = require "longhaul.run.outlook"
local store = require "longhaul.run.store"

local watch = {}

-- The training loss of a point, with its name.
local function loss_of(point)
  for _, name in ipairs { "loss_bits", "mse" } do
    if point[name] then return ("%s %.4f"):format(metrics.curve_title(name), point[name]) end
  end
  return ""
end

local places = 20

-- "step 120/500 [####....] bits/token 4.1203, 12s left"; of one that no process trains, what the same
-- command does with it (`stopped`).
local function how_far(run, point, stopped)
  local steps = run.row.train:option "steps"
  if not point or not point.step then return stopped or "begun" end
  local left = point.time_s and point.step > 0
    and point.time_s / point.step * math.max(0, steps - point.step)
  return ("step %d/%d %s %s%s"):format(point.step, steps, progress.meter(point.step, steps, places), loss_of(point),
    stopped and ", " .. stopped or left and (", %s left"):format(quantity.duration(left)) or "")
end

-- What the same command does with a run that no process trains; nil of one that is trained. One with a checkpoint
-- is "begun" as it is known.
local function interruption_of(run, checkpoint, state)
  if core.is_locked(checkpoint .. ".lock") then return nil end
  if state == "lost" then return "its row of runs.csv is lost; the same command trains it again" end
  return run.state == "begun" and "interrupted; the same command goes on"
    or "interrupted before a checkpoint; the same command begins again"
end

local function name_of(run)
  return quote.line(("%s %s seed %d"):format(run.row.label, run.row.dataset, run.seed))
end

-- More lines of a sort than this are counted only.
local most_lines = 20

local function add_limited(lines, list)
  table.move(list, 1, math.min(#list, most_lines), #lines + 1, lines)
  if #list > most_lines then lines[#lines + 1] = ("    and %d more"):format(#list - most_lines) end
end

--- The page of an experiment (its trials and sources are experiments of their own), and how many of
--- its runs are not over. `settings` as for outlook.of.
function watch.page(experiment, settings)
  local results, counts, begun, failed = store.under(settings, experiment.runs), {}, {}, {}
  local runs = outlook.known(experiment, settings)
  for _, run in ipairs(runs) do
    local state = run.refusal and "refused" or run.state
    local point = (state == "new" or state == "begun") and results:last_point(run.id)
    if point then state = lost.is(run, results) and "lost" or "begun" end
    counts[state] = (counts[state] or 0) + 1
    if state == "begun" or state == "lost" then
      local stopped = interruption_of(run, results:checkpoint(run.id), state)
      begun[#begun + 1] = ("    %-40s %s"):format(name_of(run), how_far(run, point, stopped))
    elseif state == "failed" then
      local why = results:find(run.id).error or ""
      failed[#failed + 1] = ("    %s: %s"):format(name_of(run),
        quote.line(why ~= "" and why or "failed"))
    elseif state == "refused" then
      failed[#failed + 1] = ("    %s: %s"):format(name_of(run), quote.line(run.refusal))
    end
  end
  local over, words = (counts.done or 0) + (counts.diverged or 0), {}
  for _, state in ipairs { "done", "diverged", "weights gone", "failed", "refused", "lost", "begun", "new" } do
    if counts[state] then words[#words + 1] = ("%d %s"):format(counts[state], state) end
  end
  local lines = { ("%s, scale %s: %d of %d runs over %s  %s"):format(experiment.name,
    settings.scale, over, #runs, progress.meter(over, #runs, places), table.concat(words, ", ")) }
  add_limited(lines, begun)
  add_limited(lines, failed)
  local left = 0
  for _, state in ipairs { "begun", "lost", "weights gone", "new" } do left = left + (counts[state] or 0) end
  return table.concat(lines, "\n"), left
end

return watch
