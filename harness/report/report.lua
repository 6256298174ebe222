-- What an experiment shows: tables, charts and claims as views of runs.csv. Nothing here trains.
local begun = require "longhaul.run.begun"
local best_at = require "longhaul.report.best_at"
local chart = require "longhaul.report.chart"
local claims = require "longhaul.report.claims"
local comparison = require "longhaul.report.comparison"
local comparison_markup = require "longhaul.report.comparison_markup"
local core = require "longhaul.core"
local exponents = require "longhaul.report.exponents"
local files = require "longhaul.report.table_files"
local gnuplot = require "longhaul.report.gnuplot"
local html = require "longhaul.report.html"
local results = require "longhaul.report.results"
local samples = require "longhaul.report.samples"
local store = require "longhaul.run.store"
local tables = require "longhaul.report.table"
local terminal = require "longhaul.report.terminal"
local views = require "longhaul.report.views"

local report = {}

-- Where the views go; an experiment that shares another's runs has a folder of its own for them.
local function folder_of(experiment, settings)
  local folder = settings.results .. "/" .. experiment.name
  core.make_folder(folder)
  return folder
end

-- That an experiment has nothing to show at this scale, and where there is something.
local function nothing_of(experiment, settings, measured)
  local from, here = store.under(settings, experiment.runs), ("%s on %s"):format(settings.scale, settings.device)
  local others, is_here = {}, false
  for _, at in ipairs(store.measured_at { from }) do
    local other = ("%s on %s"):format(at.scale, at.device)
    if other == here then is_here = true else others[#others + 1] = other end
  end
  local unfinished = #from:rows() == 0 and begun.text(from.path)
  local whose = measured.only and views.selected_text(measured.only) or "this script's rows"
  return ("no runs of %s at scale %s in %s%s: nothing is written%s"):format(experiment.runs, here, settings.results,
    is_here and " are of " .. whose or "",
    #others > 0 and "; there are runs at " .. table.concat(others, ", ") or unfinished and "; " .. unfinished or "")
end

--- Prints that of an experiment or, where it has no rows of its own, of those whose rows its charts show; where
--- there are runs, that nothing was declared of them.
function report.print_nothing(experiment, settings, measured)
  if #measured.order > 0 then
    return print "no chart to draw: the script declares none (bench:plot), and curves of a single point have none"
  end
  for _, whose in ipairs(#experiment.rows > 0 and { experiment } or experiment.sources) do
    print(nothing_of(whose, settings, measured))
  end
end

--- Writes and prints the tables of what was measured (nil: results.of reads it); gives the paths.
--- Where there are no runs at this scale the views stay as they are, and where these are of chosen rows.
function report.tables(experiment, settings, measured)
  local paths = {}
  measured = measured or results.of(experiment, settings)
  if #experiment.tables > 0 and #measured.order == 0 then
    report.print_nothing(experiment, settings, measured)
    return paths
  end
  for _, options in ipairs(experiment.tables) do
    local made = tables.build(experiment, options, measured)
    print(terminal.format(made))
    local written = measured.only and {} or files.write(made, folder_of(experiment, settings))
    table.move(written, 1, #written, #paths + 1, paths)
  end
  if measured.only then print(("\n%s: printed, not written"):format(views.selected_text(measured.only))) end
  return paths
end

--- Writes and prints exponents fitted to what was measured; gives the paths.
function report.fits(experiment, settings, measured)
  local paths = {}
  for _, options in ipairs(experiment.fits) do
    local folder = folder_of(experiment, settings)
    for _, path in ipairs(exponents.write(experiment, options, measured, folder)) do
      paths[#paths + 1] = path
    end
  end
  return paths
end

--- Writes and prints who is best at the moments that the script names; gives the paths.
function report.moments(experiment, settings, measured)
  if not experiment.moments then return {} end
  return best_at.write(experiment, experiment.moments, measured,
    store.under(settings, experiment.runs), folder_of(experiment, settings))
end

--- Draws the charts of what was measured (nil: results.of reads it), in one `format` if it is given; gives
--- the paths, sentences on what was not drawn, and how many charts failed.
function report.charts(experiment, settings, measured, format)
  measured = measured or results.of(experiment, settings)
  local charts, paths, excuses = chart.values(experiment, settings, measured), {}, {}
  if #charts == 0 then return paths, excuses, 0 end
  if not gnuplot.is_available() then
    return paths, { "No charts: " .. gnuplot.missing .. "; `longhaul plot` draws later." }, 0
  end
  chart.draw(charts, folder_of(experiment, settings), format)
  local failed = 0
  for _, made in ipairs(charts) do
    for _, path in ipairs(made.paths or {}) do paths[#paths + 1] = path end
    local reason = made.failure or made.lacks and ("the runs have no %s%s"):format(made.lacks,
      made.removed and "; the chart of earlier ones was removed" or "")
    if reason then
      excuses[#excuses + 1] = ("chart '%s' was not drawn: %s"):format(made.name, reason)
    end
    if made.failure then failed = failed + 1 end
  end
  return paths, excuses, failed
end

--- Continues the passages that the script asks for; gives the paths.
function report.samples(experiment, settings)
  if #experiment.samples == 0 then return {} end
  return samples.write(experiment, settings, folder_of(experiment, settings))
end

--- Holds the claims against the results; prints and records the verdicts; gives the paths.
function report.claims(experiment, settings)
  if #experiment.claims == 0 then return {} end
  return claims.check(experiment, settings)
end

--- Prints paths below a heading; nothing when there are none.
function report.print_paths(heading, paths)
  if #paths > 0 then print("\n" .. heading) end
  for _, path in ipairs(paths) do print("  " .. path) end
end

--- Makes all views of an experiment and prints its tables and the paths of the files; gives how many charts failed.
function report.all(experiment, settings)
  local measured = results.of(experiment, settings)
  local runs_file = store.under(settings, experiment.runs).file
  local paths = #experiment.rows > 0 and core.exists(runs_file) and { runs_file } or {}
  for _, path in ipairs(report.tables(experiment, settings, measured)) do paths[#paths + 1] = path end
  for _, path in ipairs(report.fits(experiment, settings, measured)) do paths[#paths + 1] = path end
  for _, path in ipairs(report.moments(experiment, settings, measured)) do paths[#paths + 1] = path end
  local charts, excuses, failed = report.charts(experiment, settings, measured)
  for _, path in ipairs(report.claims(experiment, settings)) do paths[#paths + 1] = path end
  report.print_paths("Files", paths)
  report.print_paths("Charts", charts)
  for _, excuse in ipairs(excuses) do print(excuse) end
  report.print_paths("Samples", report.samples(experiment, settings)) -- last: where they fail, the rest is there
  return failed
end

--- One HTML page over everything under `folder`, at `path` (default: report.html in it), with the `charts` that were
--- drawn elsewhere; gives it.
function report.page(folder, path, charts) return html.write(folder, path, charts) end

--- The comparison at its largest scale under `folder` as a table in Markdown.
function report.comparison(folder)
  return comparison_markup.markdown(comparison.read(folder)[1])
end

--- The means of that comparison alone, in Markdown too.
function report.short_comparison(folder)
  return comparison_markup.short(comparison.read(folder)[1])
end

--- How far each of its rows is from the best, seed by seed, in Markdown too.
function report.behind(folder)
  return comparison_markup.behind(comparison.read(folder)[1])
end

return report
