-- Makes a static site of the documents, in the style of the report:
--   longhaul lua scripts/site.lua PROGRAM OUT
-- Pages are README.md, CHANGELOG.md and docs/ (Markdown through lowdown), what the program knows by
-- name (options, metrics, charts, commands), the figures and the report of the committed runs. A
-- link that leads nowhere is an error. The site is a tree of files: no server, no network.
local core = require "longhaul.core"
local kinds = require "longhaul.report.kinds"
local metrics = require "longhaul.run.metrics"
local option_text = require "longhaul.run.option_text"
local page = require "longhaul.report.page"
local quote = require "longhaul.run.quote"

local program, out = ...
local escape = quote.html

-- The pages by what they are for, { file, title }: a document, or what is made below.
local rooms = {
  { "Use", { "README.md", "longhaul" }, { "docs/tutorial.md", "Tutorial" },
    { "docs/howto.md", "How do I" }, { "docs/coming-from.md", "Coming from" },
    { "docs/lua.md", "Scripts and their API" }, { "docs/weights.md", "Weights" },
    { "docs/cluster.md", "Clusters" }, { "docs/building.md", "Building" } },
  { "Look up", { "reference/commands.html", "Commands" }, { "reference/models.html", "Models" },
    { "reference/tasks.html", "Tasks" }, { "reference/training.html", "Training" },
    { "reference/metrics.html", "Metrics" }, { "reference/charts.html", "Kinds of charts" } },
  { "Results", { "report.html", "Report" }, { "figures/index.html", "Figures" },
    { "docs/findings.md", "Findings" }, { "results/reference/README.md", "Committed runs" },
    { "docs/studies.md", "Studies" }, { "docs/claims.md", "Claims" },
    { "docs/fidelity.md", "Fidelity" } },
  { "Inside", { "docs/tour.md", "The source" }, { "docs/adding.md", "Adding" },
    { "docs/decisions.md", "Decisions" }, { "docs/performance.md", "Performance" },
    { "docs/robustness.md", "Robustness" }, { "CHANGELOG.md", "Changes" } },
}

local pages, is_document = {}, {}
for _, room in ipairs(rooms) do
  for i = 2, #room do
    pages[#pages + 1] = room[i]
    is_document[room[i][1]] = room[i][1]:find "%.md$" ~= nil
  end
end

-- ---- places ----

-- Where a document lies in the site.
local function place_of(path)
  return path == "README.md" and "index.html" or (path:gsub("%.md$", ".html"))
end

local function folder_of(path) return path:match "^(.*/)" or "" end

-- "docs/" and "../README.md" -> "README.md".
local function joined(folder, target)
  local parts = {}
  for part in (folder .. target):gmatch "[^/]+" do
    if part == ".." then
      table.remove(parts)
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, "/")
end

local function up_from(place) return ("../"):rep(select(2, place:gsub("/", ""))) end

local function write(place, text)
  core.make_folder(out .. "/" .. folder_of(place))
  core.write_file(out .. "/" .. place, text)
end

-- ---- the frame ----

local function link(target, title, here)
  return ('<a href="%s"%s>%s</a>'):format(target, here and ' aria-current="page"' or "", escape(title))
end

local function navigation(place)
  local lines = {}
  for i, room in ipairs(rooms) do
    local links = {}
    for k = 2, #room do
      local target = place_of(room[k][1])
      links[k - 1] = link(up_from(place) .. target, room[k][2], target == place)
    end
    lines[i] = ("<div>%s: %s</div>"):format(escape(room[1]), table.concat(links, " "))
  end
  return '<nav aria-label="Pages">\n' .. table.concat(lines, "\n") .. "\n</nav>\n"
end

-- Puts the list of pages into one that is written already.
local function adopt(place)
  local path = out .. "/" .. place
  local html = core.read_file(path):gsub("<body>\n", function(body)
    return body .. navigation(place)
  end, 1)
  core.write_file(path, html)
end

local function publish(place, title, body)
  write(place, page.whole(title, body))
  adopt(place)
end

-- ---- documents ----

local function output_of(command)
  local pipe = assert(io.popen(command, "r"))
  local text = pipe:read "a"
  if not pipe:close() then error(command .. ": failed", 0) end
  return text
end

-- A target of a document's link as the site has it; what is no page is copied.
local function address(document, target)
  if target:find "^%a+:" or target:find "^#" then return target end
  local path, anchor = target:match "^([^#]*)(.*)$"
  local file = joined(folder_of(document), path)
  if is_document[file] then
    return up_from(place_of(document)) .. place_of(file) .. anchor
  end
  if not core.exists(file) or core.is_folder(file) then
    error(("%s: links to %s, which is no file here"):format(document, target), 0)
  end
  write(file, core.read_file(file))
  return up_from(place_of(document)) .. file .. anchor
end

local function add_document(document)
  local path, title = document[1], document[2]
  local html = output_of("lowdown -thtml --html-no-skiphtml --html-no-escapehtml "
    .. quote.shell(path))
  html = html:gsub('(%s)(%a+)="([^"]*)"', function(blank, name, value)
    if name ~= "href" and name ~= "src" then return nil end
    return ('%s%s="%s"'):format(blank, name, address(path, value))
  end)
  html = html:gsub("<table>", '<div class="scroll" role="region" tabindex="0" aria-label="table">'
    .. '<table class="text">'):gsub("</table>", "</table></div>")
  html = html:gsub("<pre>", '<pre tabindex="0">')
  publish(place_of(path), title == "longhaul" and title or "longhaul: " .. title, html)
end

-- ---- what the program knows by name ----

local function heading(name, says)
  return ('<h2 id="%s">%s</h2>\n<p>%s</p>'):format(escape(name), escape(name), escape(says))
end

local function options_table(label, options)
  local rows = {}
  for i, option in ipairs(options) do
    rows[i] = { option.name, { option.meaning, class = "long" }, option_text.range(option),
      option.default == "" and "none" or option.default }
  end
  return page.table { caption = "Options of " .. label, class = "text", rows = rows,
    head = { { "option", "meaning", "values", "default" } } }
end

-- A page of things with options, each with its heading.
local function add_owners(place, title, owners, says)
  local parts, links = { "<h1>" .. title .. "</h1>", "" }, {}
  for i, owner in ipairs(owners) do
    links[i] = link("#" .. quote.url(owner.name), owner.name)
    parts[#parts + 1] = heading(owner.name, says(owner))
    parts[#parts + 1] = options_table(owner.name, owner.options)
  end
  if #owners > 1 then parts[2] = "<p>" .. table.concat(links, " · ") .. "</p>" end
  publish(place, "longhaul: " .. title, table.concat(parts, "\n"))
end

local function add_metrics()
  local rows = {}
  for i, column in ipairs(metrics.all()) do
    local metric = column.metric
    rows[i] = { column.name, { metric.says, class = "long" }, metric.unit or "", metric.better or "" }
  end
  publish("reference/metrics.html", "longhaul: Metrics", "<h1>Metrics</h1>\n" .. page.table {
    caption = "Metrics that tables, charts and claims can have", class = "text", rows = rows,
    head = { { "metric", "what it is", "unit", "better" } } })
end

local function add_charts()
  local parts = { "<h1>Kinds of charts</h1>\n"
    .. '<p>Examples, with the lines that made each: <a href="../figures/index.html">figures</a>.</p>' }
  for _, name in ipairs(kinds.names()) do
    local kind, rows = kinds.find(name), {}
    for i, field in ipairs(kinds.fields(kind)) do
      rows[i] = { field[1], { field[3], class = "long" }, field[2] }
    end
    parts[#parts + 1] = heading(name, kind.says) .. "\n" .. page.table { caption = "Fields of " .. name,
      class = "text", rows = rows, head = { { "field", "meaning", "type" } } }
  end
  publish("reference/charts.html", "longhaul: Kinds of charts", table.concat(parts, "\n"))
end

local function help_of(name)
  return output_of(("%s help %s"):format(quote.shell(program), name))
end

local function add_commands()
  local parts = { "<h1>Commands</h1>" }
  for name in help_of "":match "\nCOMMANDS\n(.-)\n\n":gmatch "    (%S+)[^\n]*" do
    parts[#parts + 1] = ('<h2 id="%s">%s</h2>\n<pre tabindex="0"><code>%s</code></pre>'):format(name,
      name, escape(help_of(name)))
  end
  publish("reference/commands.html", "longhaul: Commands", table.concat(parts, "\n"))
end

-- ---- pages that commands make ----

local function add_made()
  local whole = quote.shell(program)
  output_of(("%s figures --out %s/figures"):format(whole, quote.shell(out)))
  adopt "figures/index.html"
  for _, name in ipairs(core.list_folder "results/reference") do
    local folder = "results/reference/" .. name
    if core.exists(folder .. "/claims") and not core.exists(out .. "/report.html") then
      output_of(("%s report --results %s --charts %s/figures --out %s/report.html"):format(whole,
        quote.shell(folder), quote.shell(out), quote.shell(out)))
    end
  end
  adopt "report.html"
end

for _, entry in ipairs(pages) do
  if is_document[entry[1]] then add_document(entry) end
end
add_owners("reference/models.html", "Models", core.models(), function(model)
  return ("%s. %s"):format(model.summary, model.paper)
end)
add_owners("reference/tasks.html", "Tasks", core.tasks(), function(task) return task.summary end)
add_owners("reference/training.html", "Training", { { name = "training",
  options = core.train_options() } }, function() return "What lh.train and the command line take." end)
add_metrics()
add_charts()
add_commands()
add_made()
print(("%d pages: %s/index.html"):format(#pages, out))
