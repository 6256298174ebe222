-- The files of a table: CSV, Markdown, HTML and LaTeX.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local markup = require "longhaul.report.markup"
local page = require "longhaul.report.page"
local tables = require "longhaul.report.table"
local views = require "longhaul.report.views"

local files = {}

--- Writes <folder>/<name>.{csv,md,html,tex}; gives the paths.
function files.write(made, folder)
  local base = folder .. "/" .. made.name
  views.make_room(base, { "csv", "md", "html", "tex" }, views.owner(made.scale, made.device))
  local records = tables.records(made)
  csv.write(base .. ".csv", views.columns(tables.csv_columns, tables.more_columns, records), records)
  core.write_file(base .. ".md", markup.markdown(made))
  core.write_file(base .. ".html", page.whole(made.title, markup.html(made)))
  core.write_file(base .. ".tex", markup.latex(made))
  return { base .. ".csv", base .. ".md", base .. ".html", base .. ".tex" }
end

return files
