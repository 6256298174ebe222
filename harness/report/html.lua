-- The report: one HTML file over everything under a results folder, which needs nothing beside it.
-- First the comparison and what it was made of, then the claims, then each experiment with its
-- tables and charts. It reads what the experiments wrote, in working folders and packed ones.
local begun = require "longhaul.run.begun"
local claims_markup = require "longhaul.report.claims_markup"
local comparison = require "longhaul.report.comparison"
local comparison_markup = require "longhaul.report.comparison_markup"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local markup = require "longhaul.report.markup"
local page = require "longhaul.report.page"
local provenance = require "longhaul.report.provenance"
local quantity = require "longhaul.run.quantity"
local quote = require "longhaul.run.quote"
local summary = require "longhaul.report.summary"
local tables = require "longhaul.report.table"
local titles = require "longhaul.report.titles"

local html = {}

local escape = quote.html

-- Folders beside the experiments' that have a place of their own.
local elsewhere = { claims = true, published = true, reference = true, figures = true }

-- Files of a folder that are shown otherwise, or are too long to be.
local not_shown = { ["runs.csv"] = true, ["timings.csv"] = true, ["curves.csv"] = true,
  ["probes.csv"] = true }

local function note(text) return ('<p class="note">%s</p>'):format(escape(text)) end

-- ---- what lies there ----

-- The drawings in a folder, each as SVG where there is one.
local function drawings_in(path)
  local list, is_svg, files = {}, {}, core.list_folder(path)
  for _, file in ipairs(files) do is_svg[file:match "^(.+)%.svg$" or ""] = true end
  for _, file in ipairs(files) do
    local drawn = file:match "^(.+)%.png$"
    if file:match "%.svg$" or drawn and not is_svg[drawn] then list[#list + 1] = path .. "/" .. file end
  end
  return list
end

-- The charts of an experiment: those that `longhaul figures` drew below `charts`, a folder for each scale, or else
-- those beside its runs.
local function charts_of(folder, name, charts)
  local list, drawn = {}, charts and ("%s/%s/%s"):format(charts, folder:match "([^/]+)/*$", name)
  for _, scale in ipairs(drawn and core.list_folder(drawn) or {}) do
    local made = drawings_in(drawn .. "/" .. scale)
    table.move(made, 1, #made, #list + 1, list)
  end
  return #list > 0 and list or drawings_in(folder .. "/" .. name)
end

-- The CSV files of a folder that are shown, its charts and its runs.
local function contents_of(folder, name, charts)
  local made = { name = name, tables = {}, charts = charts_of(folder, name, charts) }
  local path = folder .. "/" .. name
  for _, file in ipairs(core.list_folder(path)) do
    if file:match "%.csv$" and not not_shown[file] then
      made.tables[#made.tables + 1] = path .. "/" .. file
    end
  end
  made.runs = core.exists(path .. "/runs.csv") and csv.read(path .. "/runs.csv") or nil
  made.empty = not made.runs and #made.tables == 0 and #made.charts == 0
  made.begun = made.empty and begun.text(path)
  return made
end

local function experiments_in(folder, charts)
  local list = {}
  for _, name in ipairs(core.list_folder(folder)) do
    if not elsewhere[name] and core.is_folder(folder .. "/" .. name) then
      list[#list + 1] = contents_of(folder, name, charts)
    end
  end
  return list
end

-- What a chart is called in the file that gnuplot drew it from; beside a bare drawing what its name tells.
local function title_of(chart, experiment, runs)
  local drawn = chart:gsub("%.%w+$", ".gp")
  local title = core.exists(drawn) and core.read_file(drawn):match '\nchart_title = "([^\n]*)"\n'
  if title then
    return (title:gsub("\\(%d%d%d)", function(octal) return string.char(tonumber(octal, 8)) end))
  end
  local datasets = csv.texts(csv.distinct(runs or {}, { "dataset" }), "dataset")
  return titles.chart(experiment, chart:match "([^/]+)%.%w+$", datasets)
end

local function charts_section(charts, made)
  if #charts == 0 then return "" end
  local parts = {}
  for i, chart in ipairs(charts) do parts[i] = page.chart(chart, title_of(chart, made.name, made.runs)) end
  return '<div class="charts">' .. table.concat(parts, "\n") .. "</div>"
end

-- ---- the comparison ----

local function is_pareto(chart) return chart:match "([^/]+)$":find "^pareto" ~= nil end

-- Time and state are what architectures differ by most; a script may have charts of more costs.
local function is_of_further_cost(chart)
  local name = chart:match "([^/]+)$"
  return name:find "flops" ~= nil or name:find "memory" ~= nil
end

-- The Pareto charts of an experiment, those of further costs folded.
local function pareto_section(made)
  local open, further = {}, {}
  for _, chart in ipairs(made.charts) do
    local list = is_of_further_cost(chart) and further or open
    list[#list + 1] = is_pareto(chart) and chart or nil
  end
  made.pareto_above = #open + #further > 0
  if #further == 0 then return charts_section(open, made) end
  return ("%s\n%s"):format(charts_section(open, made), page.folded(
    titles.experiment(made.name) .. " against memory and FLOPs", charts_section(further, made)))
end

local function pareto_charts(experiments)
  local parts, compared = {}, {}
  for _, entry in ipairs(comparison.experiments) do compared[entry[1]] = true end
  for _, made in ipairs(experiments) do
    parts[#parts + 1] = compared[made.name] and pareto_section(made) or nil
  end
  return parts
end

local function matrix(made, is_first)
  local title = ("Every architecture on every task, scale %s on %s"):format(made.scale, made.device)
  local parts = { ("<p>%s</p>"):format(escape(comparison_markup.lead(made))), comparison_markup.html(made, title) }
  for _, text in ipairs(comparison_markup.legend(made)) do parts[#parts + 1] = note(text) end
  parts[#parts + 1] = page.folded("With the time of a training step and the memory",
    comparison_markup.html_with_costs(made, title .. ", with costs"))
  local behind = comparison_markup.html_behind(made, title .. ", differences from the best")
  parts[#parts + 1] = behind and page.folded("How far each is from the best, seed by seed",
    note(comparison_markup.behind_meaning .. ".") .. "\n" .. behind)
  parts[#parts + 1] = page.folded("By data set",
    comparison_markup.html(comparison.by_dataset(made), title .. ", by data set"))
  if is_first then return table.concat(parts, "\n") end
  return page.folded(("Scale %s on %s"):format(made.scale, made.device), table.concat(parts, "\n"))
end

-- "100K and 50K".
local function amounts(list)
  local texts = {}
  for i, value in ipairs(list) do texts[i] = quantity.amount(value) end
  return table.concat(texts, " and ")
end

-- " (about 100K parameters; 400 steps)" of an experiment, as far as its runs say.
local function size_text(made, experiment)
  local sizes, texts = comparison.sizes(made, experiment), {}
  if #sizes.parameters > 0 then texts[1] = ("about %s parameters"):format(amounts(sizes.parameters)) end
  if #sizes.steps > 0 then texts[#texts + 1] = ("%s steps"):format(table.concat(sizes.steps, " and ")) end
  return #texts > 0 and (" (%s)"):format(table.concat(texts, "; ")) or ""
end

-- What was compared, how large, and who took part.
local function questions(made)
  local lines, lacking = {}, {}
  for _, entry in ipairs(comparison.lacking(made)) do lacking[entry[1]] = true end
  for i, entry in ipairs(comparison.experiments) do
    lines[i] = ("<li>%s: %s%s</li>"):format(lacking[entry[1]] and escape(entry[2])
      or ('<a href="#%s">%s</a>'):format(entry[1], escape(entry[2])), escape(entry[3]),
      lacking[entry[1]] and " (not run yet)" or escape(size_text(made, entry[1])))
  end
  return "<ul>" .. table.concat(lines, "\n") .. "</ul>"
end

-- `all`: what comparison.read gives of the folder.
local function comparison_section(all, experiments)
  local parts = { '<h2 id="comparison">The comparison</h2>' }
  if not all[1] then
    return parts[1] .. "\n" .. note(comparison_markup.nothing) .. "\n" .. questions()
  end
  parts[2] = "<p>Rows are architectures with the same number of parameters, the same tokens a step and "
    .. "a learning rate that each chose by the same trials; among forecasts also linear maps and the last "
    .. "season, which have fewer parameters. What is asked:</p>"
  parts[3] = questions(all[1])
  for i, made in ipairs(all) do parts[#parts + 1] = matrix(made, i == 1) end
  local charts = pareto_charts(experiments)
  if table.concat(charts) ~= "" then
    parts[#parts + 1] = "<h3>Quality against cost</h3>\n" .. table.concat(charts, "\n")
  end
  return table.concat(parts, "\n")
end

-- ---- the experiments ----

local function counts_of(runs)
  local done, failures = {}, {}
  for _, run in ipairs(runs) do table.insert(run.status == "done" and done or failures, run) end
  return done, failures
end

-- What was run: a line for each experiment.
local function overview(experiments)
  local records = {}
  for _, made in ipairs(experiments) do
    local runs = made.runs or {}
    local done, failures = counts_of(runs)
    if not made.empty then
      records[#records + 1] = { experiment = made.name, done = #done, failed = #failures,
        scale = summary.different(runs, "scale", 5), seeds = summary.seeds(done):match "^(.-) seed",
        machine = summary.different(runs, "machine", 2), day = summary.days(runs),
        data = summary.different(done, "data", 3) }
    end
  end
  if #records == 0 then return "" end
  return '<h2 id="runs">What was run</h2>\n' .. page.text_table("Experiments, machines and data",
    { "experiment", "done", "failed", "scale", "seeds", "machine", "day", "data" }, records)
end

-- Where the runs of an experiment come from, in one paragraph, and a list of those that ended
-- badly.
local function origin(name, runs)
  if not runs then return note "No runs of its own." end
  local done, failures = counts_of(runs)
  local text = note(("%d runs done, %d failed or diverged. Scale %s, %s. %s"):format(#done, #failures,
    summary.different(runs, "scale", 5), summary.seeds(done), provenance.sentence(done) or ""))
  if #failures == 0 then return text end
  return text .. "\n" .. page.text_table(name .. ": runs that ended badly",
    { "row", "dataset", "seed", "error" }, failures)
end

-- A table of more rows is opened by who wants it.
local most_rows = 60

local function folded_if_long(title, file, rows, text)
  return rows > most_rows and page.folded(("%s, %d rows (%s)"):format(title, rows, file), text) or text
end

-- A CSV file: a table with published and measured values, or as it is.
local function shown_table(experiment, path)
  local file = path:match "[^/]+$"
  local title = titles.table(experiment, file:gsub("%.csv$", ""))
  local made = tables.read(path)
  if made then
    made.title = title
    return folded_if_long(title, file, #made.rows, markup.html(made, "h3"))
  end
  local records, columns = csv.read(path)
  return folded_if_long(title, file, #records,
    ("<h3>%s</h3>\n%s"):format(escape(title), page.text_table(title, columns, records)))
end

local function section(made)
  local parts = { ('<h2 id="%s">%s</h2>'):format(escape(made.name), escape(titles.heading(made.name))),
    origin(made.name, made.runs) }
  for _, path in ipairs(made.tables) do parts[#parts + 1] = shown_table(made.name, path) end
  local charts = {}
  for _, chart in ipairs(made.charts) do
    if not (made.pareto_above and is_pareto(chart)) then charts[#charts + 1] = chart end
  end
  parts[#parts + 1] = charts_section(charts, made)
  return table.concat(parts, "\n")
end

-- ---- the page ----

local function links(experiments, claims, is_compared)
  local list, compared = {}, '<a href="#comparison">comparison</a>'
  if is_compared then list[1] = compared end
  if claims ~= "" then list[#list + 1] = '<a href="#claims">claims</a>' end
  for _, made in ipairs(experiments) do
    local is_bare = #made.tables == 0 and #made.charts == 0 -- trials, say: a line of what was run
    if not is_bare then
      list[#list + 1] = ('<a href="#%s">%s</a>'):format(escape(made.name), escape(made.name))
    end
  end
  if not is_compared then list[#list + 1] = compared end
  return '<nav aria-label="sections">' .. table.concat(list, " · ") .. "</nav>"
end

local function head()
  local machine = core.machine()
  return "<h1>Architectures for long contexts, compared and reproduced</h1>\n"
    .. note(("longhaul %s, %s. Every number is a row of a runs.csv; where it was measured stands with it."):format(
      machine.version .. (machine.dirty == "yes" and ", with changes" or ""), os.date("!%Y-%m-%d")))
end

-- Folders in which there is nothing to show, or nothing yet.
local function empty_folders(experiments)
  local names, notes = {}, {}
  for _, made in ipairs(experiments) do
    if made.begun then notes[#notes + 1] = note(("%s: %s."):format(made.name, made.begun)) end
    if made.empty and not made.begun then names[#names + 1] = made.name end
  end
  return table.concat(notes) .. (#names > 0 and note(("Folders without runs, tables or charts: %s."):format(
    table.concat(names, ", "))) or "")
end

--- Writes the page over a folder of results to `path` (default: report.html in it), and gives it. It begins with the
--- comparison; where nothing was compared, with what was run. `charts`: where `longhaul figures` drew these results.
function html.write(folder, path, charts)
  path = path or folder .. "/report.html"
  local experiments, claims = experiments_in(folder, charts), claims_markup.html(folder)
  local compared = comparison.read(folder)
  local is_compared = #compared > 0
  local comparison_part = comparison_section(compared, experiments)
  local parts = { head(), links(experiments, claims, is_compared), is_compared and comparison_part or "", claims,
    overview(experiments) }
  for _, made in ipairs(experiments) do
    if not made.empty then parts[#parts + 1] = section(made) end
  end
  parts[#parts + 1] = empty_folders(experiments)
  if not is_compared then parts[#parts + 1] = comparison_part end
  if #experiments == 0 then
    parts[#parts + 1] = "<p>Nothing has been run yet: <code>longhaul run SCRIPT.lua</code>.</p>"
  end
  core.write_file(path, page.whole("longhaul report", table.concat(parts, "\n")))
  return path
end

return html
