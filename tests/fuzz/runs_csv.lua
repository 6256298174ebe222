-- runs.csv with any bytes: refused by its name, or its runs are there, are shown, and stay when
-- another run is added.
local csv = require "longhaul.run.csv"
local core = require "longhaul.core"
local finished = require "longhaul.run.finished"
local reference = require "longhaul.report.reference"
local store = require "longhaul.run.store"
local refused = dofile "tests/fuzz/refused.lua"

local function check_kept(before, after)
  assert(#after == #before + 1, "a run was lost or came twice")
  for i, row in ipairs(before) do
    for name, value in pairs(row) do
      if after[i][name] ~= value then
        error(("run %d, column '%s': '%s' became '%s'"):format(i, name, value,
          tostring(after[i][name])), 0)
      end
    end
  end
end

return function(bytes, folder)
  local path = folder .. "/sweep/runs.csv"
  core.make_folder(folder .. "/sweep")
  local file <close> = assert(io.open(path, "wb"))
  file:write(bytes):flush()
  local read, rows = refused(csv.read, path)
  if not read then
    assert(rows:find(path, 1, true), "a refusal does not name its file: " .. rows)
    return
  end
  refused(reference.markdown, folder)
  local sweep = store.at(folder, "sweep")
  local good, runs = refused(sweep.rows, sweep)
  if not good then return end
  local by_run = csv.groups(rows, { "run_id" })
  assert(#runs == #by_run, "the store has other runs")
  for i, row in ipairs(runs) do
    for name, value in pairs(finished.of_seeds(by_run[i])[1]) do -- of a run that stands there twice
      local is_read, found = refused(function() return row[name] end) -- not where a number is none
      assert(is_read or found:find(path, 1, true), "a refusal does not name its file")
      assert(not is_read or found == value, "the store reads a field otherwise")
    end
    assert(sweep:find(row.run_id).run_id == row.run_id)
    assert(row.run_id ~= "added") -- nobody guesses it
  end
  sweep:put { run_id = "added", row = "=1+1", seed = 1, identity = "2", status = "done" }
  check_kept(rows, (csv.read(path)))
  local after = store.at(folder, "sweep")
  assert(after:find("added").row == "=1+1", "what was added reads otherwise")
end
