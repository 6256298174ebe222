-- What the status of a table's cell says, and whether the cell may be the best of its column; what
-- else ranks rows asks here whether seeds are lacking.
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

local function is_of_today(row) return row.status == "done" or row.status == "partial" end

--- The most `seeds` that one of some rows has, of those whose `status` is of today's runs.
function statuses.most_seeds(rows)
  local most = 0
  for _, row in ipairs(rows) do
    if is_of_today(row) then most = math.max(most, row.seeds) end
  end
  return most
end

--- Whether the mean over a row's seeds may lack those that did worst: some did not end well (`why`
--- names them), or others have more `seeds` with a value, `most`. What learns nothing (`constant`, its
--- value) has the same at every seed, and lacks none.
function statuses.lacks_seeds(row, most)
  return row.why ~= nil or (not row.constant and row.seeds < most)
end

--- What may be the best: of today's runs, on an idle machine, on all data sets and, of what each seed
--- has of its own, without lacking seeds, of which others have `most` (nil: seeds share it).
function statuses.candidate(cell, most)
  if cell.busy or not is_of_today(cell) then return nil end
  if most and statuses.lacks_seeds(cell, most) then return nil end
  return cell.measured
end

return statuses
