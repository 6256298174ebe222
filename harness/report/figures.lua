-- The figures of the papers, and every other chart that an experiment declares, drawn from recorded
-- runs into one folder with a page. What is shown is what was run: data and options are the runs'
-- own, not what a script would run today.
local begun = require "longhaul.run.begun"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local chart = require "longhaul.report.chart"
local place = require "longhaul.report.place"
local results = require "longhaul.report.results"
local store = require "longhaul.run.store"

local figures = {}

-- ---- where runs and experiments lie ----

local function has_runs(folder) return #store.experiments(folder) > 0 end

--- The results folders meant by `from`: the folder itself where experiments lie in it, else those
--- in it (one a machine).
function figures.folders(from)
  if has_runs(from) then return { from } end
  local list = {}
  for _, name in ipairs(core.list_folder(from)) do
    if has_runs(from .. "/" .. name) then list[#list + 1] = from .. "/" .. name end
  end
  return list
end

--- The Lua files of the experiments' folders that come with the program.
function figures.scripts()
  local root, list = place.find "experiments" or "experiments", {}
  for _, paper in ipairs(core.list_folder(root)) do
    for _, name in ipairs(core.list_folder(root .. "/" .. paper)) do
      if name:match "%.lua$" then list[#list + 1] = ("%s/%s/%s"):format(root, paper, name) end
    end
  end
  return list
end

-- The experiments whose runs its charts show: its own, and those whose rows it names.
local function shown_by(experiment)
  local names = { experiment.runs }
  for _, source in ipairs(experiment.sources) do names[#names + 1] = source.runs end
  return names
end

-- Scales and devices at which there are runs of an experiment, or of those whose rows its charts
-- show.
local function recorded(folder, experiment)
  local stores = {}
  for i, name in ipairs(shown_by(experiment)) do stores[i] = store.at(folder, name) end
  return store.measured_at(stores)
end

-- ---- charts ----

local function base_name(path) return path:match "([^/]+)/*$" end

-- The charts that a script declares, from the runs at one scale and device in one folder.
local function charts_of(load, path, folder, at)
  local settings = { results = folder, scale = at.scale, device = at.device, recorded = true }
  local experiment = load(path, settings)
  local list = chart.values(experiment, settings, results.of(experiment, settings), true)
  for _, made in ipairs(list) do
    made.scale, made.device, made.experiment, made.results = at.scale, at.device, experiment.name,
      folder
    made.folder = ("%s/%s/%s%s"):format(base_name(folder), experiment.name, at.scale,
      at.device == "cpu" and "" or "-" .. at.device)
  end
  return list
end

-- "amd/paper-table1, scale small, chart 'pareto-books': ..."
local function told_of(made, what)
  return ("%s/%s, scale %s, chart '%s': %s"):format(base_name(made.results), made.experiment,
    made.scale, made.name, what)
end

-- One script's charts from all folders; `state` gathers experiments, charts and failures.
local function add_script(state, load, path)
  local experiment = load(path, { scale = "small" })
  if not experiment or #experiment.plots == 0 then return end
  local entry = { name = experiment.name, script = path, runs = 0, shows = shown_by(experiment) }
  state.experiments[#state.experiments + 1] = entry
  for _, folder in ipairs(state.folders) do
    for _, at in ipairs(recorded(folder, experiment)) do
      for _, made in ipairs(charts_of(load, path, folder, at)) do
        entry.runs = entry.runs + #made.runs
        if made.lacks then
          table.insert(state.incomplete, told_of(made, "the runs have no " .. made.lacks))
        else
          state.charts[#state.charts + 1] = made
        end
      end
    end
  end
end

--- The charts of all experiments among `scripts` that have runs under `from`: { folders =,
--- experiments = { { name =, script =, runs = how many } ... }, charts = as chart.values gives
--- them, incomplete = texts on charts whose runs lack what they show, failures = texts }. Nothing
--- is drawn. `load(path, settings)` gives the experiment of a script, nil where it has none.
function figures.gather(from, scripts, load)
  local state = { folders = figures.folders(from), experiments = {}, charts = {}, incomplete = {},
    failures = {} }
  for _, path in ipairs(scripts) do
    local good, message = pcall(add_script, state, load, path)
    if not good then state.failures[#state.failures + 1] = ("%s: %s"):format(path, message) end
  end
  return state
end

-- Copies the tables behind a chart to <out>/<results folder>/<experiment>; sets `tables`, their
-- paths from `out`.
local function copy_tables(made, out)
  local seen = {}
  made.tables = {}
  for _, run in ipairs(made.runs) do
    for _, name in ipairs(seen[run.experiment] and {} or { "runs.csv", "timings.csv" }) do
      local from, to = ("%s/%s/%s"):format(made.results, run.experiment, name),
        base_name(made.results) .. "/" .. run.experiment
      if core.exists(from) then
        core.make_folder(out .. "/" .. to)
        core.write_file(("%s/%s/%s"):format(out, to, name), core.read_file(from))
        made.tables[#made.tables + 1] = to .. "/" .. name
      end
    end
    seen[run.experiment] = true
  end
end

--- Draws what was gathered below `out`, each chart with the runs that it shows; sets `paths` or
--- `failure` of each.
function figures.draw(state, out)
  for _, made in ipairs(state.charts) do
    local folder = out .. "/" .. made.folder
    core.make_folder(folder)
    copy_tables(made, out)
    chart.draw({ made }, folder)
    if made.failure then table.insert(state.failures, told_of(made, made.failure)) end
  end
end

-- ---- which figure of which paper ----

-- "steps-*" as a Lua pattern.
local function pattern_of(glob)
  return "^" .. glob:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".") .. "$"
end

--- The figures that the papers print, in their order: the lines of results/published/figures.csv,
--- each with the `drawn` charts that show it. `experiment` is empty where the figure is a drawing.
function figures.printed(state)
  local list = csv.read(place.find "results/published/figures.csv"
    or error("results/published/figures.csv is not beside the program", 0))
  for _, figure in ipairs(list) do
    figure.drawn = {}
    for _, made in ipairs(state.charts) do
      if made.experiment == figure.experiment and made.name:match(pattern_of(figure.charts)) then
        made.figure = made.figure or figure
        if made.paths then table.insert(figure.drawn, made) end
      end
    end
  end
  return list
end

-- What has only begun of what an experiment shows; nil where nothing has.
local function begun_of(state, entry)
  for _, folder in ipairs(state.folders) do
    for _, name in ipairs(entry.shows) do
      local text = begun.text(("%s/%s"):format(folder, name))
      if text then return text end
    end
  end
  return nil
end

--- What lacks runs: { { name =, script =, begun = what has only begun, in words, or nil }, ... } of figures not
--- drawn and of other experiments with charts.
function figures.lacking(state, printed)
  local by_name, list, told = {}, {}, {}
  local function add(name, entry)
    list[#list + 1] = { name = name, script = entry.script, begun = begun_of(state, entry) }
  end
  for _, entry in ipairs(state.experiments) do by_name[entry.name] = entry end
  for _, figure in ipairs(printed) do
    local entry = by_name[figure.experiment]
    if entry and #figure.drawn == 0 then
      add(figures.name(figure), entry)
      told[entry.name] = true
    end
  end
  for _, entry in ipairs(state.experiments) do
    if entry.runs == 0 and not told[entry.name] then
      add(entry.name, entry)
    end
  end
  return list
end

--- "paper, Figure 4, left".
function figures.name(figure)
  return ("%s, Figure %s%s"):format(figure.paper, figure.figure, figure.part ~= ""
    and ", " .. figure.part or "")
end


return figures
