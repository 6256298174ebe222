-- The claims of the papers on the report's page: how many hold where something was decided, each that
-- was decided with what was measured, then the others, which a reader opens. Each claim stands there once, with the
-- verdict of the scale that says most; the same claims at other scales fold out.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local metrics = require "longhaul.run.metrics"
local page = require "longhaul.report.page"
local place = require "longhaul.report.place"
local quote = require "longhaul.run.quote"
local scales = require "longhaul.run.scales"
local titles = require "longhaul.report.titles"
local totals = require "longhaul.report.totals"

local claims_markup = {}

local escape = quote.html

local columns = { "claim", "verdict", "sentence", "measured", "expected", "published", "experiment",
  "scale", "device", "seeds", "note", "scale_changes" }

local decides = { holds = true, ["in direction"] = true, fails = true }

-- ---- what the functions in a claim mean ----

-- The functions of each paper's claims: { words =, means = } by paper and name.
local function known_functions()
  local by_paper, path = {}, place.find "results/published/functions.csv"
  for _, line in ipairs(path and csv.read(path) or {}) do
    by_paper[line.paper] = by_paper[line.paper] or {}
    by_paper[line.paper][line["function"]] = line
  end
  return by_paper
end

-- What a function of a paper's claims means; a metric is called by its name, and has its unit of the CSV files.
local function meaning_of(functions, name)
  if functions[name] then return functions[name] end
  if not metrics.is_known(name) then return nil end
  local words, unit = metrics.quantity(name), metrics.unit(name)
  return { words = words, means = ("%s(row, ...)%s: %s"):format(words, unit and ", in " .. unit or "",
    metrics.says(name)) }
end

-- A text with the functions in it in words; `used` takes what they mean.
local function in_words(text, functions, used)
  local said = text:gsub("%f[%w_]([%a_][%w_]*)%(", function(name)
    local meaning = meaning_of(functions, name)
    if not meaning then return nil end
    if not used[meaning.means] then table.insert(used, meaning.means) end
    used[meaning.means] = true
    return meaning.words .. "("
  end)
  return (said:gsub("<=", "≤"):gsub(">=", "≥"))
end

-- Records as they are shown, and by paper what the functions in them mean.
local function shown(records)
  local by_paper, legend, list = known_functions(), {}, {}
  for i, record in ipairs(records) do
    local paper = record.paper or ""
    legend[paper] = legend[paper] or {}
    local copy = {}
    for name, field in pairs(record) do copy[name] = field end
    for _, name in ipairs { "measured", "expected", "note" } do
      copy[name] = record[name] and in_words(record[name], by_paper[paper] or {}, legend[paper])
    end
    list[i] = copy
  end
  return list, legend
end

local how_to_read = "A claim is one or several comparisons. \"measured\" is the one that the verdict hangs on: its "
  .. "two sides as measured here, the margin by which it holds (below 0: by which it fails) ± its standard error over "
  .. "seeds, and how many of all hold. min, max and mean are of what stands in brackets, |x| is the size of x without "
  .. "its sign, round(x, 1) is x to one decimal. \"in direction\": a weaker form holds, with the signs as printed. "
  .. "Models and data are called as in the papers' tables."

-- What the functions in the claims of each paper mean, in the order of the records.
local function legend_html(records, legend)
  local items, seen = {}, {}
  for _, record in ipairs(records) do
    local paper = record.paper or ""
    local means = legend[paper]
    if not seen[paper] and #means > 0 then
      for i, text in ipairs(means) do means[i] = escape(text) end
      items[#items + 1] = ("<li>%s<ul><li>%s</li></ul></li>"):format(escape(titles.paper(paper)),
        table.concat(means, "</li>\n<li>"))
    end
    seen[paper] = true
  end
  local list = #items > 0 and ("\n<ul>%s</ul>"):format(table.concat(items, "\n")) or ""
  return page.folded("How to read them: what the functions in claims mean",
    ("<p>%s</p>%s"):format(escape(how_to_read), list))
end

-- ---- how many hold ----

local means_note = "; \"means\" counts what the means alone say, of undecided claims too; \"ours\" are sentences of a "
  .. "paper without printed numbers, with a comparison of ours"

local function total_cells(total)
  local cells = totals.cells(total)
  cells[1] = cells[1]:gsub("^[%w_-]+", titles.paper)
  for i = 2, #cells do cells[i] = { cells[i], class = "short" } end
  return cells
end

-- A table for each scale and device at which something was decided.
local function totals_tables(list)
  local groups, parts = {}, {}
  for _, total in ipairs(list) do
    local title = ("%s on %s"):format(total.scale, total.device)
    local group = groups[title]
    if not group then
      group = { title = title, rows = {}, decided = 0 }
      groups[title], groups[#groups + 1] = group, group
    end
    table.insert(group.rows, total_cells(total))
    group.decided = group.decided + total.holds + total.in_direction + total.fails
  end
  for _, group in ipairs(groups) do
    if group.decided > 0 then
      parts[#parts + 1] = page.table { class = "text", head = { totals.titles }, rows = group.rows,
        caption = "Verdicts by paper, " .. group.title .. means_note }
    end
  end
  return table.concat(parts, "\n")
end

-- ---- the section ----

local function by_verdict(records)
  local decided, open = {}, {}
  for _, record in ipairs(records) do
    table.insert(decides[record.verdict] and decided or open, record)
  end
  return decided, open
end

-- The scales, the largest first.
local function from_largest()
  local list = {}
  for i, scale in ipairs(scales) do list[#scales + 1 - i] = scale end
  return list
end

-- The verdict of each claim that says most, and the verdicts of other scales.
local function one_each(records)
  local best, others, is_best = totals.best(records, from_largest()), {}, {}
  local function key(record) return totals.key(record, record.scale, record.script) end
  for _, record in ipairs(best) do is_best[key(record)] = true end
  for _, record in ipairs(records) do
    if not is_best[key(record)] then others[#others + 1] = record end
  end
  return best, others
end

--- The section of <folder>/claims; "" where nothing was judged.
function claims_markup.html(folder)
  local path = folder .. "/claims/claims.csv"
  if not core.exists(path) then return "" end
  local all = csv.read(path)
  local records, legend = shown(all)
  local best, others = one_each(records)
  local decided, open = by_verdict(best)
  local parts = { '<h2 id="claims">What the papers claim</h2>',
    totals_tables(totals.of(totals.best(records, from_largest(), "each claim at the scale that says most"))),
    legend_html(records, legend) }
  if #decided > 0 then
    parts[#parts + 1] = page.text_table("Claims that runs decide, with what was measured", columns,
      decided)
  end
  if #open > 0 then
    parts[#parts + 1] = page.folded(("Claims that runs do not decide, or nobody tested: %d"):format(#open),
      page.text_table("Claims left open, and why", columns, open))
  end
  if #others > 0 then
    parts[#parts + 1] = page.folded(("The same claims at other scales, verdicts: %d"):format(#others),
      totals_tables(totals.of(all)) .. "\n" .. page.text_table("Verdicts of other scales", columns, others))
  end
  return table.concat(parts, "\n")
end

return claims_markup
