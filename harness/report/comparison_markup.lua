-- The comparison (comparison.lua) as tables: HTML for the report, Markdown for docs/findings.md
-- and, shorter, for README.md.
local best = require "longhaul.report.best"
local comparison = require "longhaul.report.comparison"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local page = require "longhaul.report.page"
local paired = require "longhaul.report.paired"
local pipe_table = require "longhaul.report.pipe_table"
local statistics = require "longhaul.report.statistics"
local provenance = require "longhaul.report.provenance"
local quote = require "longhaul.run.quote"

local comparison_markup = {}

-- What seeds a mean lacks: " (2 of 3 seeds; seed 3 diverged)"; "" for none.
local function lacking_text(column, cell)
  local list = {}
  if cell.seeds < column.seeds and not cell.constant then
    list[1] = ("%d of %d seeds"):format(cell.seeds, column.seeds)
  end
  list[#list + 1] = cell.why
  return #list > 0 and (" (%s)"):format(table.concat(list, "; ")) or ""
end

-- "1.932 ±0.004", what ties with the best with "≈" before it; what became of a row without a value.
local function quality_text(column, cell)
  if not cell.value then return cell.status end
  local text = metrics.text(column.metric, cell.value)
  if cell.spread then text = ("%s ±%s"):format(text, metrics.spread(column.metric, cell.spread)) end
  text = text .. lacking_text(column, cell)
  return best.text(cell, text)
end

-- "+0.021 ± 0.004": how far a row is from the best of its column, as a mean over seeds with its standard error, a tie
-- with "≈" before it; "best"; "" where nothing is to be compared.
local function behind_text(column, cell)
  if cell.best then return "best" end
  return #(cell.behind or {}) > 0 and best.text(cell, paired.text(column.metric, cell.behind)) or ""
end

local function all_columns(made)
  local list = {}
  for c in ipairs(made.columns) do list[c] = c end
  return list
end

-- The columns that have a best.
local function judged_columns(made)
  local list = {}
  for c, column in ipairs(made.columns) do
    if metrics.better(column.metric) then list[#list + 1] = c end
  end
  return list
end

-- Three digits, so that a fast step has some too.
local function time_text(cell)
  if not cell.step_time_ms then return "" end
  local text = cell.step_time_ms < 100 and ("%.3g"):format(cell.step_time_ms)
    or ("%.0f"):format(cell.step_time_ms)
  return cell.busy and text .. "~" or text
end

-- "bits/byte, mean of 4 data sets", or the data set; and how many the embedded generator made.
local function column_title(column)
  local count, generated = #column.datasets, column.generated
  local mark = generated == 0 and "" or generated == count and " (generated)" or (" (%d generated)"):format(generated)
  return ("%s, %s%s"):format(metrics.title(column.metric), count == 1 and column.datasets[1]
    or ("mean of %d data sets"):format(count), mark)
end

-- ---- what a reader must know ----

local function seeds_of(made)
  local least, most = math.huge, 0
  for _, column in ipairs(made.columns) do
    least, most = math.min(least, column.seeds), math.max(most, column.seeds)
  end
  return least, most
end

local function any(made, name)
  for _, row in ipairs(made.rows) do
    for _, cell in ipairs(row.cells) do
      if cell[name] then return true end
    end
  end
  return false
end

-- "3 seeds", or "1 to 3 seeds".
local function seeds_text(made)
  local least, most = seeds_of(made)
  return ("%s seed%s"):format(least == most and tostring(most) or ("%d to %d"):format(least, most),
    most == 1 and "" or "s")
end

local function rounds_note(made)
  local list = {}
  for _, column in ipairs(made.columns) do
    if column.apart then list[#list + 1] = ("%s (%s)"):format(column.title, column_title(column)) end
  end
  return #list > 0 and ("Step times are of several rounds, between which the machine may have changed: %s."):format(
    table.concat(list, "; ")) or nil
end

-- What is amiss with times, and what has not been run.
local function add_gaps(notes, made)
  notes[#notes + 1] = rounds_note(made)
  if any(made, "busy") then notes[#notes + 1] = "~: timed while others used the machine." end
  local lacking = comparison.lacking(made)
  for i, entry in ipairs(lacking) do lacking[i] = entry[2] end
  if #lacking > 0 then
    notes[#notes + 1] = ("Not run yet: %s."):format(table.concat(lacking, ", "))
  end
  return notes
end

--- Sentences for below the table: scale, seeds, what the marks mean, data and machine, what has not
--- been run.
function comparison_markup.notes(made)
  local least, most = seeds_of(made)
  local notes = { ("Scale %s on %s, %s%s; beside each quality the time of a training step."):format(
    made.scale, made.device, seeds_text(made), most > 1 and ", mean ± standard deviation" or "") }
  notes[2] = "Bold: the best mean."
  if most >= statistics.fewest_seeds then
    notes[#notes + 1] = ("≈: %s."):format(best.meaning)
  end
  if least < statistics.fewest_seeds then notes[#notes + 1] = statistics.too_few end
  notes[#notes + 1] = provenance.sentence(comparison.runs(made))
  return add_gaps(notes, made)
end

--- One paragraph for above the table: how much was compared, at which scale, with what data, on what machine, of
--- what commits.
function comparison_markup.lead(made)
  local titles = lists.set()
  for _, column in ipairs(made.columns) do titles:add(column.title) end
  local kinds = #titles.list
  return ("Compared are %d row%s on %d kind%s of task, at scale %s on %s with %s. %s"):format(#made.rows,
    #made.rows == 1 and "" or "s", kinds, kinds == 1 and "" or "s", made.scale, made.device, seeds_text(made),
    provenance.sentence(comparison.runs(made)) or "")
end

-- Who takes part in one kind of task alone, by which most of a row says "not run".
local function alone_text(made)
  local texts = {}
  for i, alone in ipairs(comparison.alone(made)) do
    texts[i] = ("in %s alone: %s"):format(alone.title, table.concat(alone, ", "))
  end
  return #texts > 0 and (" Some rows take part %s."):format(table.concat(texts, "; ")) or ""
end

-- "the greatest accuracy; the least bits/byte, MSE": which end of its columns is the best.
local function best_ends(made)
  local ends = { max = lists.set(), min = lists.set() }
  for _, column in ipairs(made.columns) do
    local set = ends[metrics.better(column.metric)]
    if set then set:add(metrics.title(column.metric)) end
  end
  local texts = {}
  for _, pair in ipairs { { "max", "greatest" }, { "min", "least" } } do
    local titles = ends[pair[1]].list
    if #titles > 0 then texts[#texts + 1] = ("the %s %s"):format(pair[2], table.concat(titles, ", ")) end
  end
  return table.concat(texts, "; ")
end

--- Sentences for the reader of the page on what stands in the cells: means, marks, why one is empty, what is amiss.
function comparison_markup.legend(made)
  local least, most = seeds_of(made)
  local list = { ("A number is the mean%s; bold is the best mean of a column: %s."):format(
    most > 1 and " ± the standard deviation over seeds" or "", best_ends(made)) }
  if most >= statistics.fewest_seeds then list[#list + 1] = best.explained end
  if least < statistics.fewest_seeds then list[#list + 1] = statistics.too_few end
  if any(made, "absent") then
    list[#list + 1] = "\"not run\": no run of the row on that task lies here; \"a value in 1 of 3 seeds\": a mean "
      .. "takes one in each." .. alone_text(made)
  end
  return add_gaps(list, made)
end

--- What stands where nothing has been compared yet.
comparison_markup.nothing = "Nothing has been compared yet: the scripts of experiments/compare/ do."

-- ---- HTML ----

local function page_heading(column) return ("%s: %s"):format(column.title, column_title(column)) end

-- What says nothing by which it could be sorted stands last.
local function add_quality(fields, column, cell)
  if cell.absent then
    fields[#fields + 1] = { cell.absent, class = "group absent", value = "" }
    return
  end
  local class = cell.best and "group best" or "group"
  fields[#fields + 1] = { quality_text(column, cell), class = class, value = cell.value }
end

local function cost_heads(made)
  local top, below = { "" }, { "architecture" }
  for _, column in ipairs(made.columns) do
    top[#top + 1] = { page_heading(column), class = "group", span = 3 }
    table.move({ { "quality", class = "group" }, { "ms a step", class = "cost" },
      { "MiB", class = "cost" } }, 1, 3, #below + 1, below)
  end
  return { top, below }
end

local function add_with_costs(fields, column, cell)
  add_quality(fields, column, cell)
  fields[#fields + 1] = { time_text(cell), class = "cost", value = cell.step_time_ms }
  fields[#fields + 1] = { metrics.text("peak_memory_bytes", cell.peak_memory_bytes), class = "cost",
    value = cell.peak_memory_bytes }
end

--- What the differences of a table of them are.
comparison_markup.behind_meaning = "Differences from the best mean of a column, at the same seeds: their mean ± its "
  .. "standard error"

local function add_behind(fields, column, cell)
  if not metrics.better(column.metric) then return end
  local text, value = behind_text(column, cell), ""
  if cell.best then value = 0 elseif text ~= "" then value = statistics.mean_error(cell.behind) end
  fields[#fields + 1] = { text, class = cell.best and "group best" or "group", value = value }
end

local function rows_by(made, add)
  local rows = {}
  for i, row in ipairs(made.rows) do
    rows[i] = { row.label }
    for c, column in ipairs(made.columns) do add(rows[i], column, row.cells[c]) end
  end
  return rows
end

-- A column for each of `list`.
local function matrix(made, caption, list, add)
  local head = { "architecture" }
  for _, c in ipairs(list) do head[#head + 1] = { page_heading(made.columns[c]), class = "group" } end
  return page.table { caption = caption, class = "matrix", head = { head }, rows = rows_by(made, add) }
end

--- The qualities, under a caption: a column for each, so that a screen shows the most of them.
function comparison_markup.html(made, caption)
  return matrix(made, caption, all_columns(made), add_quality)
end

--- How far each row is from the best of a column, seed by seed; nil where rows have too few seeds.
function comparison_markup.html_behind(made, caption)
  if not any(made, "behind") then return nil end
  return matrix(made, caption, judged_columns(made), add_behind)
end

--- The same with what each costs.
function comparison_markup.html_with_costs(made, caption)
  return page.table { caption = caption, head = cost_heads(made), rows = rows_by(made, add_with_costs) }
end

-- ---- Markdown ----

local function markdown_cell(column, cell)
  local text, time = quote.markdown(quality_text(column, cell)), time_text(cell)
  if cell.best then text = "**" .. text .. "**" end
  if time == "" then return text end
  return ("%s<br>%s ms"):format(text, (time:gsub("~", "\\~")))
end

-- A table of the columns `list` of a comparison; what heads a column, and what stands in a cell.
local function table_of(made, list, head_of, cell_of_column)
  local head, rows = { "" }, {}
  for i, c in ipairs(list) do
    head[i + 1] = ("%s<br>%s"):format(quote.markdown(made.columns[c].title), quote.markdown(head_of(made.columns[c])))
  end
  for r, row in ipairs(made.rows) do
    rows[r] = { quote.markdown(row.label) }
    for i, c in ipairs(list) do rows[r][i + 1] = cell_of_column(made.columns[c], row.cells[c]) end
  end
  return pipe_table.text(head, "l" .. ("r"):rep(#list), rows)
end

--- A pipe table with its notes; a sentence where nothing was compared (nil).
function comparison_markup.markdown(made)
  if not made then return comparison_markup.nothing .. "\n" end
  local notes = quote.markdown(table.concat(comparison_markup.notes(made), " "))
  return ("%s\n\n%s\n"):format(table_of(made, all_columns(made), column_title, markdown_cell), notes)
end

-- The mean with its mark alone; what became of a row without one.
local function short_cell(column, cell)
  if not cell.value then return quote.markdown(cell.status) end
  local text = quote.markdown(best.text(cell, metrics.text(column.metric, cell.value)))
  if cell.best then text = "**" .. text .. "**" end
  return text
end

local function title_of(column) return metrics.title(column.metric) end

--- The means alone, of the columns that have a best, as a pipe table that is no wider than a page.
function comparison_markup.short(made)
  if not made then return comparison_markup.nothing .. "\n" end
  return table_of(made, judged_columns(made), title_of, short_cell) .. "\n"
end

--- How far each row is from the best of a column, seed by seed, as a pipe table.
function comparison_markup.behind(made)
  if not made then return comparison_markup.nothing .. "\n" end
  local function cell_text(column, cell) return quote.markdown(behind_text(column, cell)) end
  return table_of(made, judged_columns(made), title_of, cell_text) .. "\n"
end

return comparison_markup
