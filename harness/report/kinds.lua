-- The kinds of charts: every file of charts/ is one, called by its name, and nothing else knows
-- which there are. A kind is
--   says     what it shows, for documentation and editors
--   fields   { { name, types, meaning, needed = true } ... }: what a plot of this kind may say beside kinds.shared,
--            and, where it is needed, has to; `default` where there is one
--   check    function(plot): what is wrong with it, or nil (optional)
--   check_rows  function(plot, rows): the same of a plot and all its rows, once the script has
--            ended (optional)
-- draw     function(view, plot, dataset): a chart as gnuplot.new makes it; nil where the runs lack
-- what it shows
--   shows    function(plot): what such runs lack, in words (default: the axes)
--   metrics  function(plot): those behind its axes (default: the axes)
--   rows     function(plot): the labels of the rows that it shows (default: all); each must be that of one
--   sources  function(view, plot): { { rows =, results = } ... } whose runs are behind it (default: parts.sources)
--   weights  function(plot): the label of the row whose trained weights it reads (optional)
--   of_curve  true where the axis y is a column of the curves
--   of_all   true where one chart shows all data sets: `dataset` is "" then, unless the plot names one
-- What a view is, and what kinds share, is in chart_parts.lua; their templates are plots/*.gp.
local core = require "longhaul.core"
local lists = require "longhaul.run.lists"
local summary = require "longhaul.report.summary"

local kinds = {}

--- The fields of every plot, of whatever kind.
kinds.shared = {
  { "title", "string", "what stands above it, before data and scale", default = "experiment, data and axes" },
  { "name", "string", "of its files", default = "the kind" },
  { "dataset", "string", "the only data set to show", default = "all, mostly in a chart each" },
}

local folder = "longhaul.report.charts."

--- Their names, sorted.
function kinds.names() return lists.modules(folder) end

--- A kind by its name; nil where there is none.
function kinds.find(name)
  local module = folder .. tostring(name)
  return package.preload[module] and require(module) or nil
end

--- The fields that a plot of a kind may have.
function kinds.fields(kind)
  local fields = table.move(kind.fields, 1, #kind.fields, 1, {})
  return table.move(kinds.shared, 1, #kinds.shared, #fields + 1, fields)
end

-- What is wrong with labels of which no row of a plot's data set has one; nil where nothing is.
local function label_refusal(plot, labels, rows)
  local names, known = {}, {}
  for _, row in ipairs(summary.on_dataset(rows, plot.dataset)) do
    names[#names + 1], known[row.label] = row.label, true
  end
  for _, label in ipairs(labels) do
    if not known[label] then
      return ("no row is called '%s'%s"):format(label, core.did_you_mean(label, names))
    end
  end
  return nil
end

--- What is wrong with the names of a plot over all its rows, once the script has ended; nil where
--- nothing is.
function kinds.refusal(plot, rows)
  local kind = kinds.find(plot[1])
  if #rows == 0 then return nil end
  return kind.rows and label_refusal(plot, kind.rows(plot), rows)
    or kind.check_rows and kind.check_rows(plot, rows) or nil
end

return kinds
