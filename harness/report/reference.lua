-- What lies in a folder of results, for readers: a line for each experiment, made from its runs,
-- and verdicts by paper.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local pipe_table = require "longhaul.report.pipe_table"
local place = require "longhaul.report.place"
local provenance = require "longhaul.report.provenance"
local quote = require "longhaul.run.quote"
local store = require "longhaul.run.store"
local summary = require "longhaul.report.summary"

local reference = {}

local function markdown(head, lines)
  for _, line in ipairs(lines) do
    for c, text in ipairs(line) do line[c] = quote.markdown(text) end
  end
  return pipe_table.text(head, ("l"):rep(#head), lines)
end

--- The first sentence of the comment that the text of a script begins with, without its full stop.
function reference.first_sentence(script)
  local words = {}
  for line in script:gmatch "[^\n]*" do
    local comment = line:match "^%-%-%s*(.*)$"
    if not comment then break end
    words[#words + 1] = comment
  end
  -- behind "et al." goes the sentence on
  local text = table.concat(words, " "):gsub("et al%.", "et al\0")
  local first = text:match "^(.-)%.%s" or text:match "^(.-)%.?$"
  return (first:gsub("\0", "."))
end

-- What the script of an experiment is for; "" where it is not beside the program.
local function says(experiment)
  local folder, name = experiment:match "^(.-)%-(.+)$"
  local path = folder and place.find(("experiments/%s/%s.lua"):format(folder, name))
  return path and reference.first_sentence(core.read_file(path)) or ""
end

-- Runs of a code version that is no commit, or identified as before, wait to be measured again.
local function status_of(runs)
  for _, run in ipairs(runs) do
    if not tonumber(run.identity) or tonumber(run.identity) < 2 then
      return "to be measured again: identified by an earlier rule"
    end
    if not provenance.is_clean(run) then return "to be measured again: not of a commit" end
  end
  return "current"
end

local function line_of(folder, name)
  local runs = store.at(folder, name):rows()
  return {
    name, says(name), summary.different(runs, "scale", 5), tostring(summary.count(runs, "row")),
    tostring(summary.count(runs, "seed")),
    summary.different(runs, "data", 3), summary.different(runs, "code_version", 4),
    summary.days(runs), status_of(runs),
  }
end

--- The experiments below `folder` as a table in Markdown.
function reference.markdown(folder)
  local lines = {}
  for i, name in ipairs(store.experiments(folder)) do lines[i] = line_of(folder, name) end
  if #lines == 0 then error(folder .. ": no experiment has runs here", 0) end
  return markdown({ "experiment", "what", "scale", "rows", "seeds", "data", "code", "date",
    "status" }, lines)
end

--- The folders below `folder` that hold experiments, as a table in Markdown: machine, runs, scales,
--- days.
function reference.machines(folder)
  local lines = {}
  for _, machine in ipairs(core.list_folder(folder)) do
    local runs, experiments = {}, 0
    for _, name in ipairs(core.list_folder(folder .. "/" .. machine)) do
      local found = store.at(folder .. "/" .. machine, name):rows()
      if #found > 0 then experiments = experiments + 1 end
      table.move(found, 1, #found, #runs + 1, runs)
    end
    if #runs > 0 then
      lines[#lines + 1] = { machine, summary.different(runs, "machine", 3), tostring(experiments),
        tostring(#runs),
        summary.different(runs, "scale", 5), summary.days(runs) }
    end
  end
  return markdown({ "folder", "machine", "experiments", "runs", "scales", "date" }, lines)
end

--- The folders below `folder` that wait to be measured again (legacy.csv, which
--- scripts/check-reference.lua keeps), and what is wrong with each, as a table in Markdown.
function reference.waiting(folder)
  local lines, path = {}, folder .. "/legacy.csv"
  for i, entry in ipairs(core.exists(path) and csv.read(path, { "folder", "reason", "wrong" })
    or {}) do
    lines[i] = { entry.folder, entry.wrong, entry.reason }
  end
  return #lines > 0 and markdown({ "folder", "what is wrong", "why" }, lines) or "None."
end

return reference
