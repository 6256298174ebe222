-- What stands below a table: a sentence each on scale and seeds, marks, where the numbers are from,
-- and what is amiss with some cells.
local best = require "longhaul.report.best"
local metrics = require "longhaul.run.metrics"
local statuses = require "longhaul.report.cell_status"
local summary = require "longhaul.report.summary"
local views = require "longhaul.report.views"

local notes = {}

-- What a status of some cells means.
local odd_sentences = {
  { "partial", "Some rows lack seeds (status partial in the CSV file), and no mean of fewer than others have "
    .. "is the best" },
  { statuses.of_fewer, "Some rows lack data sets that others have (part), and are never the best" },
  { "stale", "Some rows are stale, and never the best" },
  { "other data", "Some rows were measured on data that this machine lacks, and are never the best" },
  { "diverged", "Some rows diverged and are no results" },
  { "failed", "Some rows failed" },
}

local function each_cell(made, visit)
  for _, row in ipairs(made.rows) do
    for c, cell in ipairs(row.cells) do visit(cell, row, made.columns[c]) end
  end
end

-- Under which status the notes speak of a cell: what is busy its column tells.
local function noted_status(cell)
  return statuses.is_of_fewer(cell.status) and statuses.of_fewer or cell.status
end

-- The most reasons that are told, and rows that are named with each.
local most = 3

-- Why cells have a status: { why =, labels of its rows } ..., in their order.
local function reasons_of(made, status)
  local list, by_why = {}, {}
  each_cell(made, function(cell, row)
    if noted_status(cell) ~= status or not cell.why then return end
    local reason = by_why[cell.why]
    if not reason then
      reason = { why = cell.why }
      by_why[cell.why], list[#list + 1] = reason, reason
    end
    if reason[#reason] ~= row.label then reason[#reason + 1] = row.label end
  end)
  return list
end

-- ": row, row: why; row: why" of the cells with a status; "" where there is none.
local function whys_of(made, status)
  local texts, list = {}, reasons_of(made, status)
  for i = 1, math.min(#list, most) do
    texts[i] = ("%s: %s"):format(summary.first(list[i], most), list[i].why)
  end
  if #list > most then texts[#texts + 1] = ("%d more in the CSV file"):format(#list - most) end
  return #texts > 0 and ": " .. table.concat(texts, "; ") or ""
end

-- What is amiss with some cells, and what was left out.
local function status_notes(made, odd)
  local list, seen, left_out = {}, {}, made.left_out or 0
  for _, line in ipairs(odd_sentences) do
    if odd[line[1]] then
      list[#list + 1] = line[2] .. whys_of(made, line[1]) .. "."
    end
  end
  if left_out > 0 then
    list[#list + 1] = ("%d run%s of other data or options %s left out."):format(left_out,
      left_out == 1 and "" or "s",
      left_out == 1 and "was" or "were")
  end
  for _, column in ipairs(made.columns) do
    if column.apart then
      list[#list + 1] = ("Column \"%s\" is of several rounds: only the relative step time compares rows."):format(
        metrics.title(column.metric))
    end
  end
  each_cell(made, function(cell, _, column)
    for _, reason in ipairs(cell.reasons) do
      local what = reason.busy and "is marked ~" or cell.measured
        and "is of fewer data sets" or "is empty"
      local text = ("Column \"%s\" %s where a row %s."):format(metrics.title(column.metric), what,
        reason.text)
      if not seen[text] then list[#list + 1] = text end
      seen[text] = true
    end
  end)
  return list
end

-- Whether a measured value stands beside a published one.
local function compared(made)
  for _, row in ipairs(made.rows) do
    for _, cell in ipairs(row.cells) do
      if cell.published and cell.measured then return true end
    end
  end
  return false
end

-- Whether a column holds means over datasets: a cost has one for all of them.
local function averages(made)
  for _, column in ipairs(made.columns) do
    if made.several and not column.dataset and metrics.kind(column.metric) == "cost" then
      return true
    end
  end
  return false
end

-- How many seeds the measured values are of, in words, the most, and whether some rows have fewer than others.
local function seeds_of(made)
  local counts = {}
  each_cell(made, function(cell, row, column)
    if cell.measured == nil then return end
    counts[#counts + 1] = { label = row.label, column = column, seeds = cell.seeds }
  end)
  return summary.of_seeds(counts)
end

-- Which value of a column is marked, and what else is; where rows are `uneven`, a better mean of fewer seeds is not.
local function marks_of(is_mean, tested, uneven)
  if not is_mean then return "the best measured value of a column is marked *" end
  local never = uneven and " (never one of fewer seeds)" or ""
  if not tested then return "the best mean, ties not told apart, of a column is marked *" .. never end
  return ("the best mean of a column is marked *%s, and ≈ what is %s"):format(never, best.meaning)
end

--- What a reader must know beside the numbers of a table: one sentence each.
function notes.of(made)
  local list, odd, selected, unselected, tested = {}, {}, false, false, false
  local seeds_text, seeds, uneven = seeds_of(made)
  each_cell(made, function(cell)
    selected, unselected = selected or cell.selected, unselected or cell.unselected
    tested = tested or cell.tie ~= nil
    odd[noted_status(cell)] = true
  end)
  local is_mean = seeds > 1 and not selected
  list[1] = ("Scale %s, %s%s; %s."):format(made.scale, seeds_text, is_mean and ", mean ± standard deviation" or "",
    marks_of(is_mean, tested, uneven))
  list[#list + 1] = averages(made) and "A cost is the mean over the data sets." or nil
  list[#list + 1] = made.source
  list[#list + 1] = made.tuned
  list[#list + 1] = views.changed_text(made.changed)
  list[#list + 1] = made.rebuilt and made.rebuilt .. "."
  if selected and seeds > 1 then
    list[#list + 1] = "A value is that of the seed with the best validation result; in brackets "
      .. "mean ± standard deviation."
  end
  if unselected and seeds > 1 then
    list[#list + 1] = "A value without brackets is the mean over seeds: its runs kept no validation result."
  end
  if compared(made) and made.scale ~= "paper" then
    list[#list + 1] = "The paper's models are larger: compare the order of the rows."
  end
  if made.empty and #made.empty > 0 then
    list[#list + 1] = ("No row has a value of: %s."):format(table.concat(made.empty, ", "))
  end
  local odd_notes = status_notes(made, odd)
  return table.move(odd_notes, 1, #odd_notes, #list + 1, list)
end

return notes
