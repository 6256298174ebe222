-- longhaul lua tests/harness/numbers.lua FOLDER: all that the runs of results/<experiment> came to,
-- but times and the machine's load, a number a line, in the order of the runs' names: the rows, the
-- curves, and digests of weights.
local csv, core = require "longhaul.run.csv", require "longhaul.core"
local folder = ...
local passed_over = { tokens_per_second = true, training_tokens_per_second = true, wall_time_s = true,
  date = true, load = true, time_s = true }
local function show(place, columns, record)
  for _, name in ipairs(columns) do
    if not passed_over[name] then print(place, name, record[name]) end
  end
end
local rows, columns = csv.read(folder .. "/runs.csv")
table.sort(rows, function(a, b) return a.run_id < b.run_id end)
for _, row in ipairs(rows) do
  show(row.row, columns, row)
  local points, names = csv.read(("%s/curves/%s.csv"):format(folder, row.run_id))
  for _, point in ipairs(points) do show(row.row .. " step " .. point.step, names, point) end
end
for _, name in ipairs(core.list_folder(folder .. "/weights")) do
  print(name, core.hash(core.read_file(folder .. "/weights/" .. name)))
end
