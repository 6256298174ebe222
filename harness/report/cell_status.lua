-- What the status of a table's cell says, and whether the cell may be the best of its column.
local statuses = {}

-- A mean of fewer data sets than that of others, and one that is of a busy machine besides.
statuses.of_fewer, statuses.busy_of_fewer = "fewer data sets", "busy, fewer data sets"

--- The status of a cell whose runs have `status`: whatever seeds are missing, a time can be of a busy
--- machine, and a mean of fewer data sets than that of others.
function statuses.of_cell(status, value, busy, lacking)
  if status ~= "done" and not (value and status == "partial") then return status end
  if value == nil then return "missing" end
  if busy and lacking then return statuses.busy_of_fewer end
  return busy and "busy" or lacking and statuses.of_fewer or status
end

--- Whether a status says that a mean is of fewer data sets.
function statuses.is_of_fewer(status)
  return status == statuses.of_fewer or status == statuses.busy_of_fewer
end

--- What may be the best: of today's runs, on an idle machine, on all data sets.
function statuses.candidate(cell)
  return not cell.busy and (cell.status == "done" or cell.status == "partial") and cell.measured
end

return statuses
