-- What scripts call experiments, which are folders of results, and their views, which are files
-- there. A name leads nowhere else, and no view takes the place of what the program keeps or of
-- another one.
local scales = require "longhaul.run.scales"
local spec = require "longhaul.spec"

local names = {}

local most_letters = 100

-- What stands beside the views of an experiment, or beside the verdicts.
local kept = { "runs", "timings", "curves", "probes", "samples", "best_at", "claims", "totals" }

-- What is wrong with the name of a thing ("an experiment"), as a sentence; nil where it can be that
-- of a folder or a file.
local function letters_refusal(thing, name)
  local is_good = type(name) == "string" and name:find "^[%w_][%w_.-]*$" and #name <= most_letters
  if is_good then return nil end
  return ("%s's name begins with a letter or a digit and is made of letters, digits, '-', '_' and '.'"):format(thing)
end

--- Fails, at the script's line, unless the name of a thing ("an experiment") can be that of a folder.
function names.check(thing, name)
  local refusal = letters_refusal(thing, name)
  if refusal then spec.fail(refusal) end
end

-- "table.smoke", "table.small-cuda": what the view "table" of a scale and device is called beside
-- those of others.
local function is_of_scale(name)
  for _, scale in ipairs(scales) do
    if name:find("%." .. scale .. "$") or name:find("%." .. scale .. "%-[^.]*$") then return true end
  end
  return false
end

-- Where capitals tell no files apart, "Runs" is "runs"; files of charts end otherwise than those of
-- tables and fits.
local function key_of(view)
  return (view.thing == "plot" and "plot " or "table ") .. view.name:lower()
end

-- "pareto-only": what `plot --only` calls the chart "pareto" of some rows.
local function is_of_only(view) return view.thing == "plot" and view.name:lower():find "%-only$" ~= nil end

-- Every experiment has a chart of its losses.
local function is_loss(view)
  return view.thing == "plot" and view.kind ~= "loss" and view.name:lower() == "loss"
end

local function refusal_of(view, earlier)
  local refusal = letters_refusal("a " .. view.thing, view.name)
  if refusal then return refusal end
  if is_loss(view) then return "'loss' is the chart of the losses: give it another name" end
  for _, name in ipairs(kept) do
    if key_of(view) == "table " .. name then
      return ("'%s' is what the program calls a file of its own: give it another name"):format(view.name)
    end
  end
  if is_of_scale(view.name) then
    return ("'%s' ends as the views of a scale do: give it another name"):format(view.name)
  end
  if is_of_only(view) then
    return ("'%s' ends as the charts of --only do: give it another name"):format(view.name)
  end
  local before = earlier[key_of(view)]
  return before and ("an earlier %s is called '%s', and its file would be this one's: give one a name"):format(
    before.thing, view.name)
end

--- Fails, at the line of the view that is meant, where the files of several would not stand side by
--- side. A view: { thing = "table", "fit" or "plot", kind = of a plot, name =, line = }.
function names.check_views(views)
  local earlier = {}
  for _, view in ipairs(views) do
    local refusal = refusal_of(view, earlier)
    if refusal then error(("%s: %s: %s"):format(view.line, view.thing, refusal), 0) end
    earlier[key_of(view)] = view
  end
end

return names
