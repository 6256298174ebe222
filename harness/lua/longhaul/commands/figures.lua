-- figures: every figure of the papers from recorded runs, on one page.
local begun = require "longhaul.run.begun"
local command = require "longhaul.command"
local core = require "longhaul.core"
local figures = require "longhaul.report.figures"
local gallery = require "longhaul.report.gallery"
local gnuplot = require "longhaul.report.gnuplot"
local place = require "longhaul.report.place"
local script = require "longhaul.script"

-- The folder that --from means.
local function runs_folder(from)
  local folder = from == "own" and "results" or from ~= "reference" and from
    or place.find "results/reference"
  if not folder then
    error("no reference runs come with this program; give --from own or a folder of results", 0)
  end
  if not core.is_folder(folder) then error(folder .. ": no such folder of results", 0) end
  return folder
end

local function print_list(title, list, text_of)
  if #list > 0 then print(title) end
  for _, entry in ipairs(list) do print("  " .. text_of(entry)) end
end

local function draw(values, rest)
  if not gnuplot.is_available() then error("no figures: " .. gnuplot.missing, 0) end
  local from, out = runs_folder(values.from or "reference"), values.out or "results/figures"
  local state = figures.gather(from, #rest > 0 and rest or figures.scripts(), script.value)
  if #state.folders == 0 then error(begun.nothing(from), 0) end
  core.make_folder(out)
  figures.draw(state, out)
  local printed = figures.printed(state)
  local lacking = figures.lacking(state, printed)
  local page = gallery.write(state, printed, lacking, out)
  local drawn = 0
  for _, made in ipairs(state.charts) do drawn = drawn + (made.paths and 1 or 0) end
  print_list("Without runs", lacking, function(entry)
    local line = ("%-28s longhaul run %s"):format(entry.name, entry.script)
    return entry.begun and ("%s (%s)"):format(line, entry.begun) or line
  end)
  print_list("With runs that lack something", state.incomplete, tostring)
  for _, text in ipairs(state.failures) do io.stderr:write(text, "\n") end
  print(("%d charts drawn, %d without runs, %d with runs that lack something, %d failed: %s"):format(drawn, #lacking,
    #state.incomplete, #state.failures, page))
  return #state.failures > 0 and command.failed or command.ok
end

return {
  {
    name = "figures", takes = "script", summary = "draw the papers' figures from recorded runs, on one page",
    run = draw, most = math.huge,
    usage = "figures [SCRIPT.lua ...] [--from reference|own|FOLDER] [--out FOLDER]",
    description = "Draws every chart that an experiment declares, at each scale that was run, "
      .. "whatever data are on this "
      .. "machine, and an index.html that says what each shows. --from reference (default): the runs that come with "
      .. "the program; own: those in results/.",
    options = {
      { "from=", "reference, own or a folder of results", "WHERE", words = { "reference", "own" }, open = true },
      { "out=", "folder to draw into (default results/figures)", "FOLDER" },
    },
  },
}
