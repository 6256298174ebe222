-- Rows whose finished runs stand under another name: label and data set's name are part of what a run is, so that
-- a row that is renamed is trained again.
local csv = require "longhaul.run.csv"
local finished = require "longhaul.run.finished"
local identity = require "longhaul.run.identity"
local quote = require "longhaul.run.quote"
local row_notes = require "longhaul.run.row_notes"

local renamed = {}

local function key_of(label, dataset) return label .. "\n" .. dataset end

-- Finished runs of names that no row of the script has, by what a renamed row has in common with them.
local function nameless(rows, results)
  local named, by_content = {}, {}
  for _, row in ipairs(rows) do named[key_of(row.label, row.dataset)] = true end
  for _, run in ipairs(csv.distinct(results:rows(), { "configuration", "status" })) do
    if finished.is_over(run.status) and not named[key_of(run.row, run.dataset)] then
      local content = key_of(run.class or "", run.data_digest or "")
      by_content[content] = by_content[content] or {}
      table.insert(by_content[content], run)
    end
  end
  return by_content
end

-- Whether a run would be that of a record if it were called so.
local function is_same(run, record)
  local named = setmetatable({ label = record.row, dataset = record.dataset }, { __index = run.row })
  local what = setmetatable({ row = named }, { __index = run })
  return identity.configuration(what, record.data_digest, run.identity.starts_from) == record.configuration
end

--- Sentences on the rows of `runs`, an experiment's that are to be trained, whose like has been trained under a name
--- that none of its rows has.
function renamed.notes(runs, experiment, results)
  local by_content = #runs > 0 and nameless(experiment.rows, results) or {}
  return row_notes.all(next(by_content) and runs or {}, function(run)
    if results:by_configuration()[run.identity.configuration] then return {} end
    for _, record in ipairs(by_content[key_of(run.row.model.name, run.identity.data_digest)] or {}) do
      if is_same(run, record) then
        return { ("the same was trained as \"%s\" (%s): called so again, what is finished of it stays"):format(
          quote.line(record.row), quote.line(record.dataset)) }
      end
    end
    return {}
  end)
end

return renamed
