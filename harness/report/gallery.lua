-- The page over drawn figures: those that the papers print, with what is known of the runs behind
-- each, then the other charts of the experiments, then what was not drawn and why.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local figures = require "longhaul.report.figures"
local kinds = require "longhaul.report.kinds"
local page = require "longhaul.report.page"
local place = require "longhaul.report.place"
local provenance = require "longhaul.report.provenance"
local quote = require "longhaul.run.quote"
local summary = require "longhaul.report.summary"

local gallery = {}

local escape = quote.html

-- ---- the lines that asked for a chart ----

local most_lines = 20

-- The statement that begins at a line of a script: the fewest lines that are one.
local function statement_at(text, first)
  local at, taken = 0, {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    at = at + 1
    if at >= first then taken[#taken + 1] = line end
    local whole = table.concat(taken, "\n")
    if #taken > 0 and load(whole) then return whole end
    if #taken == most_lines then return nil end
  end
end

-- Without the blanks that all lines begin with.
local function unindented(text)
  local depth = #text:match "^ *"
  return (("\n" .. text):gsub("\n" .. (" "):rep(depth), "\n"):sub(2))
end

--- What declared a chart, as it stands in its script: { place = "experiments/x.lua:12", text = };
--- nil where the script is no longer there, or is another.
function gallery.declaration(made)
  local path, line = made.plot.line:match "^(.*):(%d+)$"
  if not path or not core.exists(path) then return nil end
  local text = statement_at(core.read_file(path), tonumber(line))
  return text and text:find ":plot" and { place = made.plot.line, text = unindented(text) } or nil
end

local function made_by(made)
  local declared = gallery.declaration(made)
  if not declared then return "" end
  return ("\n<details><summary>The lines that made it, %s</summary>\n<pre><code>%s</code></pre>\n"
    .. "</details>"):format(escape(declared.place), escape(declared.text))
end

-- ---- the page ----

--- What a chart shows, in one paragraph of plain text: the figure of the paper, data, scale, seeds,
--- machine, runs.
function gallery.caption(made)
  local words, runs = {}, made.runs
  if made.figure then
    words[1] = ("%s: %s."):format(figures.name(made.figure), made.figure.shows)
  end
  words[#words + 1] = provenance.sentence(runs)
  words[#words + 1] = ("Scale %s, %s, %s, %d run%s of %s."):format(made.scale, summary.seeds(runs),
    made.device, #runs,
    #runs == 1 and "" or "s", summary.different(runs, "experiment", 4))
  return table.concat(words, " ")
end

-- Links to the numbers: the runs, what gnuplot was given, the chart as PNG.
local function links(made)
  local list = { table.unpack(made.tables) }
  for _, ending in ipairs { ".gp", ".png" } do
    list[#list + 1] = ("%s/%s%s"):format(made.folder, made.name, ending)
  end
  for i, file in ipairs(list) do
    list[i] = ('<a href="%s">%s</a>'):format(quote.url(file),
      escape(i > #made.tables and file:match "[^/]+$" or file:match "[^/]+/[^/]+$"))
  end
  return table.concat(list, " · ")
end

-- The place of a chart on the page.
local function anchor(made) return (("%s/%s"):format(made.folder, made.name):gsub("%s", "-")) end

local function drawing(made)
  return ('<figure id="%s"><img src="%s/%s.svg" alt="%s" width="960" height="600" '
    .. 'loading="lazy">\n<figcaption class="note">%s %s%s</figcaption></figure>')
    :format(escape(anchor(made)), quote.url(made.folder), quote.url(made.name), escape(made.title),
      escape(gallery.caption(made)), links(made), made_by(made))
end

-- The first chart of each kind, for who looks for a kind rather than a figure.
local function list_of_kinds(state)
  local first, list = {}, {}
  for _, made in ipairs(state.charts) do
    local kind = made.plot[1]
    if made.paths then first[kind] = first[kind] or made end
  end
  for _, name in ipairs(kinds.names()) do
    local shows = escape(kinds.find(name).says)
    local example = first[name] and (' (<a href="#%s">an example</a>)'):format(quote.url(anchor(first[name])))
    list[#list + 1] = ("<code>%s</code>: %s%s"):format(name, shows, example or "")
  end
  return list
end

local function command_of(entry) return ("longhaul run %s"):format(entry.script) end

local function printed_figure(figure, scripts)
  local parts = { ("<h3>%s</h3>"):format(escape(figures.name(figure))) }
  if figure.experiment == "" then
    parts[2] = ('<p class="note">%s: not redrawn.</p>'):format(escape(figure.shows))
  elseif #figure.drawn == 0 then
    parts[2] = ('<p class="note">%s: no runs here; <code>%s</code> makes them.</p>'):format(
      escape(figure.shows),
      escape(command_of(scripts[figure.experiment] or { script = figure.experiment })))
  end
  for _, made in ipairs(figure.drawn) do parts[#parts + 1] = drawing(made) end
  return table.concat(parts, "\n")
end

local function paper_titles()
  local titles = {}
  for _, paper in ipairs((csv.read(place.find "results/published/papers.csv"))) do
    titles[paper.paper] = ("%s (%s %s)"):format(paper.title, paper.authors, paper.year)
  end
  return titles
end

local function add_printed(parts, state, printed)
  local titles, scripts, paper = paper_titles(), {}, nil
  for _, entry in ipairs(state.experiments) do scripts[entry.name] = entry end
  for _, figure in ipairs(printed) do
    if figure.paper ~= paper then
      parts[#parts + 1] = ('<h2 id="%s">%s</h2>'):format(figure.paper, escape(titles[figure.paper]))
    end
    paper = figure.paper
    parts[#parts + 1] = printed_figure(figure, scripts)
  end
end

local function add_others(parts, state)
  local experiment
  for _, made in ipairs(state.charts) do
    if made.paths and not made.figure then
      if not experiment then parts[#parts + 1] = '<h2 id="others">Other charts</h2>' end
      if made.experiment ~= experiment then
        parts[#parts + 1] = ("<h3>%s</h3>"):format(escape(made.experiment))
      end
      experiment = made.experiment
      parts[#parts + 1] = drawing(made)
    end
  end
end

local function add_list(parts, title, lines)
  if #lines == 0 then return end
  parts[#parts + 1] = ("<h2>%s</h2>\n<ul><li>%s</li></ul>"):format(title,
    table.concat(lines, "</li>\n<li>"))
end

local function escaped(texts)
  local list = {}
  for i, text in ipairs(texts) do list[i] = escape(text) end
  return list
end

--- Writes <out>/index.html over a drawn state of `figures`; gives its path.
function gallery.write(state, printed, lacking, out)
  local lines = {}
  local parts = {
    "<h1>Figures, measured here</h1>",
    ('<p class="note">Drawn %s by longhaul %s from the runs in %s. A figure shows the data, scale '
      .. 'and machine that stand below it, '
      .. "not those of its paper.</p>"):format(os.date "!%Y-%m-%d", escape(core.machine().version),
      escape(table.concat(state.folders, ", "))),
  }
  add_printed(parts, state, printed)
  add_others(parts, state)
  for i, entry in ipairs(lacking) do
    lines[i] = ("%s: <code>%s</code>%s"):format(escape(entry.name), escape(command_of(entry)),
      entry.begun and " (" .. escape(entry.begun) .. ")" or "")
  end
  add_list(parts, "Kinds of charts", list_of_kinds(state))
  add_list(parts, "Without runs", lines)
  add_list(parts, "With runs that lack something", escaped(state.incomplete))
  add_list(parts, "Not drawn", escaped(state.failures))
  local path = out .. "/index.html"
  core.write_file(path, page.whole("longhaul: figures", table.concat(parts, "\n")))
  return path
end

return gallery
