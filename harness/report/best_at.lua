-- Who is best at a moment: the training loss that each row has reached after so many seconds of its
-- own steps on the idle machine, or after so many FLOPs. A schedule that decays ends later: what a
-- curve says before its end is no more than that of a shorter training.
local csv = require "longhaul.run.csv"
local curves = require "longhaul.report.curves"
local quantity = require "longhaul.run.quantity"
local results_of = require "longhaul.report.results"
local statuses = require "longhaul.report.cell_status"
local statistics = require "longhaul.report.statistics"
local summary = require "longhaul.report.summary"
local views = require "longhaul.report.views"

local best_at = {}

local columns = { "dataset", "row", "over", "at", "loss", "spread", "seeds", "step", "ended", "place", "scale",
  "device", "status" }

-- The last point of a curve up to a step.
local function point_at(points, step)
  local found
  for _, point in ipairs(points) do
    if point.step <= step then found = point end
  end
  return found
end

-- What a row has at `at`, nil where a seed has not come to its first point by then.
local function reached(row, seeds, unit, at)
  local values, by_seed, step, has_ended = {}, {}, math.huge, true
  for i, points in ipairs(seeds) do
    local point = point_at(points, at / unit)
    if not point then return nil end
    values[i], by_seed[points.seed], step = point.value, point.value, math.min(step, point.step)
    has_ended = has_ended and point == points[#points] -- patience ends each seed at a step of its own
  end
  if #values == 0 then return nil end
  local mean, spread = statistics.of(values)
  return { row = row.label, by_seed = by_seed, seeds = #values, loss = mean, spread = spread, step = step,
    ended = has_ended and "yes" or "no" }
end

-- The differences of two rows of the same seeds; none where one has a seed that the other lacks.
local function differences(a, b)
  local list = statistics.paired(a.by_seed, b.by_seed)
  return #list == math.max(a.seeds, b.seeds) and list or {}
end

-- Ties are what is not told from the first; where no row has the seeds for it, places are by loss.
local function mark_ties(placed)
  local from_best, seeds = {}, 0
  for _, entry in ipairs(placed) do seeds = math.max(seeds, entry.seeds) end
  if seeds < statistics.fewest_seeds then return end
  for i = 2, #placed do from_best[i - 1] = differences(placed[i], placed[1]) end
  for i, apart in ipairs(statistics.told_apart(from_best)) do
    if not apart then placed[i + 1].place = "tie" end
  end
end

-- Why a row has no place, "stale" or "seeds are missing"; nil where it has one.
local function doubt_of(entry, most)
  local is_lacking = statuses.lacks_seeds(entry, most)
  return results_of.doubt(entry.status) or (is_lacking and "seeds are missing") or nil
end

local function name_doubts(list)
  local most = statuses.most_seeds(list)
  for _, entry in ipairs(list) do entry.doubt = doubt_of(entry, most) end
end

-- By loss; the first is the best, and those that cannot be told from it are tied. What is not of
-- today's runs, or lacks seeds, has no place, nor has any where times are of several rounds.
local function rank(list)
  table.sort(list, function(a, b)
    if a.loss ~= b.loss then return a.loss < b.loss end
    return a.row < b.row
  end)
  local placed = {}
  for _, entry in ipairs(list) do
    if not entry.doubt and not entry.rounds then
      placed[#placed + 1] = entry
      entry.place = #placed == 1 and "best" or tostring(#placed)
    end
  end
  mark_ties(placed)
end

-- Whether those that could have a place were timed in several rounds.
local function are_apart(list, results, dataset)
  local cells = {}
  for _, entry in ipairs(list) do
    if not entry.doubt then cells[#cells + 1] = { row = { label = entry.row, dataset = dataset } } end
  end
  return results:apart({ "step_time_ms" }, cells)
end

-- What the rows of a data set have reached at a moment, ranked. `losses`: by row, seed by seed.
local function ranked(rows, losses, results, over, at)
  local list = {}
  for _, row in ipairs(rows) do
    local unit = curves.per_step(results, row, losses[row], over)
    local entry = unit and reached(row, losses[row], unit, at)
    if entry then
      entry.status, entry.why = results:status(row.label, row.dataset)
      entry.constant = results:learns_nothing(row.label, row.dataset) and entry.loss or nil
      list[#list + 1] = entry
    end
  end
  name_doubts(list)
  local is_apart = over == "seconds" and are_apart(list, results, rows[1].dataset)
  for _, entry in ipairs(list) do entry.rounds = is_apart and "several" or nil end
  rank(list)
  return list
end

--- One record for each data set, moment and row that has come so far: dataset, row, over ("seconds" or
--- "flops"), at, loss and spread over its seeds, seeds, step, ended ("yes": its training was over), place
--- ("best", "tie" with it, or a number; nil where the runs are not today's, seeds are missing, or seconds
--- are of several rounds), status, rounds ("several" where they are).
function best_at.records(experiment, options, results, from)
  local records = {}
  for _, dataset in ipairs(summary.datasets(experiment.rows)) do
    local rows, losses = summary.on_dataset(experiment.rows, dataset), {}
    for _, row in ipairs(rows) do
      losses[row] = curves.training_loss(from, results:group(row.label, dataset))
    end
    for _, over in ipairs { "seconds", "flops" } do
      for _, at in ipairs(options[over] or {}) do
        for _, entry in ipairs(ranked(rows, losses, results, over, at)) do
          entry.dataset, entry.over, entry.at = dataset, over, at
          entry.scale, entry.device = results.scale, results.device
          records[#records + 1] = entry
        end
      end
    end
  end
  return records
end

local function moment(record)
  if record.over == "flops" then return quantity.amount(record.at) .. " FLOPs" end
  return quantity.duration(record.at)
    .. (record.rounds and ", by steps of several rounds, which give no places" or "")
end

-- What stands behind a loss: " (tie)", or " (stale)".
local function remark(record)
  local text = record.doubt or record.place == "tie" and "tie"
  return text and (" (%s)"):format(text) or ""
end

-- "books, after 10s: Dai XL 2.61, Sliding window 2.70 (tie), Staircase 2.72"
local function sentences(records)
  local lines, last, named = {}, nil, 0
  for _, record in ipairs(records) do
    local title = ("%s, after %s"):format(record.dataset, moment(record))
    if title ~= last then
      lines[#lines + 1], last, named = title .. ":", title, 0
    end
    named = named + 1
    if named <= 3 then
      lines[#lines] = ("%s%s %s %.3f%s"):format(lines[#lines], named > 1 and "," or "", record.row,
        record.loss, remark(record))
    end
  end
  return lines
end

local function any_of_few_seeds(records)
  for _, record in ipairs(records) do
    if record.seeds < statistics.fewest_seeds then return true end
  end
  return false
end

--- Writes <folder>/best_at.csv and prints the first three of each moment; gives the paths.
function best_at.write(experiment, options, results, from, folder)
  local records = best_at.records(experiment, options, results, from)
  if #records == 0 then return {} end
  print ""
  for _, line in ipairs(sentences(records)) do print(line) end
  if any_of_few_seeds(records) then print(statistics.too_few) end
  if experiment.changed then print(views.changed_text(experiment.changed)) end
  for _, record in ipairs(records) do record.changed = experiment.changed end
  views.make_room(folder .. "/best_at", { "csv" }, views.owner(results.scale, results.device))
  csv.write(folder .. "/best_at.csv", views.columns(columns, { "rounds", "changed" }, records), records)
  return { folder .. "/best_at.csv" }
end

return best_at
