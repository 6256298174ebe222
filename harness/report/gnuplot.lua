-- Writes gnuplot programs and runs them. The program beside a chart holds its data and its templates
-- (plots/*.gp), so that gnuplot alone draws it again, in another format or changed by hand.
local core = require "longhaul.core"
local fonts = require "longhaul.report.fonts"
local place = require "longhaul.report.place"
local quote = require "longhaul.run.quote"
local views = require "longhaul.report.views"

local gnuplot = {}

--- Text in double quotes as gnuplot reads it.
gnuplot.quoted = quote.gnuplot

--- "name = value" for numbers, texts and arrays of texts.
function gnuplot.assign(name, value)
  if type(value) == "table" then
    local texts = {}
    for i, text in ipairs(value) do texts[i] = gnuplot.quoted(text) end
    if #texts == 0 then texts[1] = '""' end
    return ("array %s[%d] = [%s]"):format(name, #texts, table.concat(texts, ", "))
  end
  if type(value) == "string" then return name .. " = " .. gnuplot.quoted(value) end
  return ("%s = %.10g"):format(name, value)
end

-- Templates name a label by the number of its column: the text of a stringcolumn() gnuplot would parse again, and
-- take quotes and backslashes in it as its own.
local function field(value)
  if type(value) == "string" then return gnuplot.quoted(value) end
  if value == nil or value ~= value then return "NaN" end
  return ("%.10g"):format(value)
end

--- A named block of data. `blocks` are arrays of rows of fields; two empty lines part them.
function gnuplot.block(name, blocks)
  local lines = { ("$%s << EOD"):format(name) }
  for i, rows in ipairs(blocks) do
    if i > 1 then
      lines[#lines + 1] = ""
      lines[#lines + 1] = ""
    end
    for _, row in ipairs(rows) do
      local fields = {}
      for c = 1, row.n or #row do fields[c] = field(row[c]) end
      lines[#lines + 1] = table.concat(fields, " ")
    end
  end
  lines[#lines + 1] = "EOD"
  return table.concat(lines, "\n")
end

local available

--- What to say where it cannot be run.
gnuplot.missing = "gnuplot is missing (apt-get install gnuplot-nox)"

--- Whether gnuplot can be run here.
function gnuplot.is_available()
  if available == nil then available = os.execute("gnuplot --version >/dev/null 2>&1") == true end
  return available
end

-- gnuplot calls every SVG "Gnuplot", which a browser shows over it.
local function named(svg, title)
  return (svg:gsub("<title>Gnuplot</title>",
    { ["<title>Gnuplot</title>"] = ("<title>%s</title>"):format(quote.html(title)) }, 1))
end

-- The program for a while without the characters that no font here has; nil where all are there. SVG is shown with
-- the fonts of whoever looks at it.
local function without_lacking(program, kind)
  local text = core.read_file(program)
  local drawable = kind == "svg" and text or fonts.drawable(text)
  if drawable == text then return nil end
  local file = core.begin_file(program)
  file:write(drawable)
  return file
end

local function draw(program, kind, output, title)
  local file <close> = core.begin_file(output)
  local other <close> = without_lacking(program, kind)
  local set = ("output_kind = %s; output_file = %s"):format(quote.gnuplot(kind), quote.gnuplot_path(file:name()))
  local pipe = assert(io.popen(("gnuplot -e %s %s 2>&1"):format(quote.shell(set),
    quote.shell(other and other:name() or program))))
  local message = pipe:read("a")
  if not pipe:close() then error(("%s: gnuplot: %s"):format(program, message), 0) end
  -- An SVG is read and written anew: another process may sweep the drawn one away once it was read here.
  if kind == "svg" then core.write_file(output, named(core.read_file(file:name()), title)) else file:commit() end
end

--- A chart as a value: data and settings are added to it, and `source`, the line below its title;
--- gnuplot.chart draws it.
function gnuplot.new(template, title, x_title, y_title)
  return { template = template, title = title, x_title = x_title, y_title = y_title, blocks = {},
    settings = {}, after = {} }
end

--- What is said of a chart: its data and what the template asks for.
function gnuplot.program(chart)
  local lines = {
    gnuplot.assign("chart_name", chart.name or "chart"),
    gnuplot.assign("chart_title", chart.title), gnuplot.assign("x_title", chart.x_title),
    gnuplot.assign("y_title", chart.y_title), gnuplot.assign("chart_source", chart.source or ""),
  }
  if chart.scale then table.insert(lines, 1, views.mark("#", chart.scale, chart.device)) end
  for _, block in ipairs(chart.blocks) do lines[#lines + 1] = gnuplot.block(block[1], block[2]) end
  for _, pair in ipairs(chart.settings) do lines[#lines + 1] = gnuplot.assign(pair[1], pair[2]) end
  lines[#lines + 1] = 'load "style.gp"'
  table.move(chart.after, 1, #chart.after, #lines + 1, lines)
  lines[#lines + 1] = ('load "%s.gp"'):format(chart.template)
  return table.concat(lines, "\n") .. "\n"
end

-- The text of a template, `name` of plots/ or a path.
local function template_text(name)
  local file = (name:find("/", 1, true) and name or "plots/" .. name) .. ".gp"
  local path = place.find(file)
  if not path then error(("charts: %s is not beside the program"):format(file), 0) end
  return core.read_file(path)
end

-- A program with the templates in place of the lines that load them. No line of data begins so: texts
-- stand in quotes there.
local function whole(program)
  local text = ("\n" .. program):gsub('\nload "([^"\n]+)%.gp"', function(name)
    return "\n" .. whole(template_text(name))
  end)
  return text:sub(2)
end

--- Formats that a chart can be drawn in.
gnuplot.formats = { "svg", "png", "pdf" }

-- The formats that are wanted (nil: SVG and PNG) and those that lie there, which would be of earlier runs.
local function kinds_of(base, format)
  local wanted, list = { svg = not format, png = not format }, {}
  if format then wanted[format] = true end
  for _, kind in ipairs(gnuplot.formats) do
    if wanted[kind] or core.exists(base .. "." .. kind) then list[#list + 1] = kind end
  end
  return list
end

--- Writes <base>.gp and draws <base>.svg and <base>.png from it, or the one `format` that is wanted,
--- whole or not at all, and again what else was drawn before; gives the paths of what was drawn.
function gnuplot.chart(base, chart, format)
  chart.name = base:match "[^/]*$"
  core.write_file(base .. ".gp", whole(gnuplot.program(chart)))
  local paths = {}
  for i, kind in ipairs(kinds_of(base, format)) do
    paths[i] = base .. "." .. kind
    draw(quote.path(base .. ".gp"), kind, paths[i], chart.title)
  end
  return paths
end

return gnuplot
