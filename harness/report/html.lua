-- One page over everything under a results folder: each experiment's tables, charts and runs, and
-- the claims. It reads the CSV files that the experiments wrote, in working folders and packed
-- ones.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local markup = require "longhaul.report.markup"
local provenance = require "longhaul.report.provenance"
local quote = require "longhaul.run.quote"
local summary = require "longhaul.report.summary"
local tables = require "longhaul.report.table"
local totals = require "longhaul.report.totals"

local html = {}

local escape = markup.escape

-- Folders beside the experiments' that have a place of their own.
local elsewhere = { claims = true, published = true, reference = true, figures = true }

-- Files of a folder that are shown otherwise, or are too long to be.
local not_shown = { ["runs.csv"] = true, ["timings.csv"] = true, ["curves.csv"] = true,
  ["probes.csv"] = true }

-- The folders with runs, tables or charts; those of figures that draw others' runs have none of
-- their own.
local function experiments_in(folder)
  local names = {}
  for _, name in ipairs(core.list_folder(folder)) do
    local shows = false
    for _, file in ipairs(core.list_folder(folder .. "/" .. name)) do
      shows = shows or file:match "%.csv$" or file:match "%.svg$"
    end
    if shows and not elsewhere[name] then names[#names + 1] = name end
  end
  return names
end

-- `class_of(column, value)` is the class of a cell, or nil.
local function text_table(columns, records, class_of)
  local lines = { '<table class="text"><thead><tr>' }
  for _, name in ipairs(columns) do lines[#lines + 1] = ("<th>%s</th>"):format(escape(name)) end
  lines[#lines + 1] = "</tr></thead><tbody>"
  for _, record in ipairs(records) do
    local fields = {}
    for i, name in ipairs(columns) do
      local value = tostring(record[name] or "")
      local class = class_of and class_of(name, value)
      fields[i] = ("<td%s>%s</td>"):format(class and (' class="%s"'):format(class)
        or "", escape(value))
    end
    lines[#lines + 1] = "<tr>" .. table.concat(fields) .. "</tr>"
  end
  lines[#lines + 1] = "</tbody></table>"
  return table.concat(lines, "\n")
end

-- Verdicts have colours.
local function claim_class(column, value)
  return column == "verdict" and (value:gsub(" ", "-")) or nil
end

-- Totals by paper, then every claim.
local function claims_section(folder)
  local path = folder .. "/claims/claims.csv"
  if not core.exists(path) then return "" end
  local columns = { "paper", "claim", "verdict", "sentence", "measured", "expected", "published",
    "experiment", "scale",
    "device", "seeds", "note", "scale_changes" }
  return table.concat({
    '<h2 id="claims">Claims</h2>', text_table(totals.columns, totals.read(folder .. "/claims")),
    text_table(columns, (csv.read(path)), claim_class),
  }, "\n")
end

-- Where the runs of an experiment come from, in one paragraph, and a list of those that ended
-- badly.
local function origin(runs)
  local done, failures = {}, {}
  for _, run in ipairs(runs) do table.insert(run.status == "done" and done or failures, run) end
  local lines = { ('<p class="note">%d runs done, %d failed or diverged. Scale %s, %s. %s</p>'):format(#done, #failures,
    escape(summary.different(runs, "scale", 5)), summary.seeds(runs),
      escape(provenance.sentence(done) or "")) }
  if #failures > 0 then lines[2] = text_table({ "row", "dataset", "seed", "error" }, failures) end
  return table.concat(lines, "\n")
end

-- A CSV file: a table with published and measured values, or as it is.
local function shown_table(path)
  local made = tables.read(path)
  if made then return markup.html(made, "h3") end
  local records, columns = csv.read(path)
  return ("<h3>%s</h3>\n%s"):format(escape(path:match "([^/]+)%.csv$"),
    text_table(columns, records))
end

local function section(folder, name)
  local path = folder .. "/" .. name
  local runs = core.exists(path .. "/runs.csv") and csv.read(path .. "/runs.csv")
  local parts = { ('<h2 id="%s">%s</h2>'):format(escape(name), escape(name)),
    runs and origin(runs) or '<p class="note">No runs of its own.</p>' }
  for _, file in ipairs(core.list_folder(path)) do
    if file:match "%.csv$" and not not_shown[file] then
      parts[#parts + 1] = shown_table(path .. "/" .. file)
    end
  end
  for _, file in ipairs(core.list_folder(path)) do
    if file:match("%.svg$") then
      parts[#parts + 1] = ('<img src="%s" alt="%s" width="960" height="600">'):format(
        quote.url(name .. "/" .. file), escape(file))
    end
  end
  return table.concat(parts, "\n")
end

--- Writes <folder>/report.html and gives its path.
function html.write(folder)
  local names = experiments_in(folder)
  local machine = core.machine()
  local parts = { "<h1>longhaul: published and measured</h1>",
    ('<p class="note">Version %s, %s. Every number is a row of a runs.csv here.</p>'):format(
      escape(machine.version .. (machine.dirty == "yes" and ", with changes" or "")),
        os.date("!%Y-%m-%d")) }
  local links = {}
  for _, name in ipairs(names) do
    links[#links + 1] = ('<a href="#%s">%s</a>'):format(escape(name), escape(name))
  end
  local claims = claims_section(folder)
  if claims ~= "" then table.insert(links, 1, '<a href="#claims">claims</a>') end
  parts[#parts + 1] = "<p>" .. table.concat(links, " · ") .. "</p>"
  parts[#parts + 1] = claims
  for _, name in ipairs(names) do parts[#parts + 1] = section(folder, name) end
  if #names == 0 then
    parts[#parts + 1] = "<p>Nothing has been run yet: <code>longhaul run SCRIPT.lua</code>.</p>"
  end
  local path = folder .. "/report.html"
  core.make_folder(folder)
  core.write_file(path, markup.page("longhaul report", table.concat(parts, "\n")))
  return path
end

return html
