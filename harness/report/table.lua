-- Tables: published values beside measured ones. A table is built once as a value (rows of cells)
-- and then written as CSV, Markdown, HTML and LaTeX, and printed.
local best = require "longhaul.report.best"
local csv = require "longhaul.run.csv"
local metrics = require "longhaul.run.metrics"
local notes = require "longhaul.report.table_notes"
local plugins = require "longhaul.run.plugins"
local provenance = require "longhaul.report.provenance"
local published = require "longhaul.report.published"
local results_of = require "longhaul.report.results"
local statuses = require "longhaul.report.cell_status"
local summary = require "longhaul.report.summary"
local tuning = require "longhaul.run.tuning"

local tables = {}

tables.csv_columns = {
  "row", "model", "dataset", "metric", "published", "measured", "deviation", "seeds", "scale",
    "status", "mean", "spread", "device", "note", "rounds", "best",
}

--- What a file has besides, where it has something to say: options that `--set` changed; in its first
--- line how rows were tuned, and columns that no row has a value of; whether a value is told from the best; whether
--- it is of data that the embedded generator made; the spread that a paper prints.
tables.more_columns = { "changed", "tuning", "empty", "tie", "generated", "published_spread" }

-- ---- building ----

local function nothing_published()
  return {
    rows = {}, slug = {}, datasets = {},
    value = function() return nil end, spread = function() return nil end,
    prints = function() return true end,
  }
end

-- Whether one column says it for all datasets: a model can be another for each of them.
local function serves_all(experiment, results, metric)
  if not metrics.is_shared(metric) then return false end
  for _, row in ipairs(experiment.rows) do
    local own = results:value(row.label, metric, row.dataset)
    if own and not results:value(row.label, metric) then return false end
  end
  return true
end

local function is_measured(experiment, results, metric, dataset)
  for _, row in ipairs(experiment.rows) do
    if results:value(row.label, metric, dataset) then return true end
  end
  return false
end

-- The data sets that a column for all of them is the mean over: those on which some row was measured.
-- None where it is what they agree on.
local function averaged_over(experiment, results, metric)
  local list = {}
  for _, dataset in ipairs(metrics.pooled(metric) ~= "same" and results.datasets or {}) do
    if is_measured(experiment, results, metric, dataset) then list[#list + 1] = dataset end
  end
  return list
end

-- The column of a dataset, where the paper prints it or it was measured; nil else.
local function column_of(experiment, options, paper, results, metric, dataset)
  local name = (options.datasets or {})[dataset] or dataset
  local printed = name ~= "" and paper.prints(metric, name)
  local left_out = name ~= "" and paper.datasets[name] and not metrics.is_shared(metric)
  if not printed and (left_out or not is_measured(experiment, results, metric, dataset)) then
    return nil
  end
  local shared = metrics.is_shared(metric) and not printed
  return { metric = metric, dataset = dataset, paper = shared and "" or name, averaged = {} }
end

-- A cost has one column, whose dataset is nil; a quality one per dataset, and so has what a model is made
-- of where it is not the same for all. The dataset "" is one as any: that of tasks without a name.
local function columns_of(experiment, options, paper, results)
  local columns, datasets = {}, summary.datasets(results:shown(experiment.rows))
  for _, metric in ipairs(options.columns) do
    if serves_all(experiment, results, metric) then
      columns[#columns + 1] = { metric = metric, paper = "",
        averaged = averaged_over(experiment, results, metric) }
    else
      for _, dataset in ipairs(datasets) do
        columns[#columns + 1] = column_of(experiment, options, paper, results, metric, dataset)
      end
    end
  end
  return columns
end

-- The titles of requested columns that no row has a value of.
local function empty_columns(experiment, options, results)
  local list = {}
  for _, metric in ipairs(options.columns) do
    local any = is_measured(experiment, results, metric)
    for _, dataset in ipairs(results.datasets) do
      any = any or is_measured(experiment, results, metric, dataset)
    end
    if not any then list[#list + 1] = metrics.title(metric) end
  end
  return list
end

-- Of two names what they agree on.
local function agreed(a, b)
  return { paper = a.paper == b.paper and a.paper or "", model = a.model == b.model and a.model or "" }
end

-- What rows are called, by label: in the published table (`paper`) and in the column `model`, on a
-- data set, and what all of the label's data sets agree on.
local function names_of(experiment, paper)
  local names = {}
  for _, row in ipairs(experiment.rows) do
    local name = published.row_name(paper, row)
    local own = { paper = name, model = paper.slug[name] or row.slug or row.model.name }
    local known = names[row.label] or { on = {}, all = own }
    known.on[row.dataset], known.all = own, agreed(known.all, own)
    names[row.label] = known
  end
  return names
end

-- The names of a cell: a row that only the paper has goes by its label there.
local function name_on(names, paper, label, column)
  local known = names[label]
  if not known then return { paper = label, model = paper.slug[label] } end
  return column.dataset and known.on[column.dataset] or known.all
end

-- Rows that only the paper has stand in a table of all rows, those that are called as one of ours by their slug.
local function labels_of(experiment, paper, columns, results)
  local labels, seen, covered = {}, {}, {}
  for _, row in ipairs(results:shown(experiment.rows)) do
    local slug = paper.slug[published.row_name(paper, row)]
    if slug then covered[slug] = true end
    if not seen[row.label] then
      seen[row.label] = true
      labels[#labels + 1] = row.label
    end
  end
  for _, label in ipairs(results.only and {} or paper.rows) do
    local prints = false
    for _, column in ipairs(columns) do
      prints = prints or paper.value(label, column.metric, column.paper) ~= nil
    end
    local slug = paper.slug[label]
    if prints and not covered[slug] then labels[#labels + 1] = seen[label] and slug or label end
  end
  return labels
end

-- The status of a cost is that of the first dataset where something is amiss. Then why.
local function status_of(results, label, column)
  if column.dataset then return results:status(label, column.dataset) end
  local status, why = "missing", nil
  for _, dataset in ipairs(results.datasets) do
    local own, reason = results:status(label, dataset)
    if own ~= "missing" then status, why = own, reason end
    if own ~= "missing" and own ~= "done" then break end
  end
  return status, why
end

-- Why values were not measured although there are runs, with the data sets of each reason: { text =,
-- busy = whether those of a busy machine are shown for them } ...; then whether some are shown.
local function reasons_of(results, label, column)
  local list, by_reason, any_busy = {}, {}, false
  for _, dataset in ipairs(column.dataset and { column.dataset } or results.datasets) do
    local reason, busy = results:reason(label, column.metric, dataset)
    local known = by_reason[reason]
    if reason and not known then
      known = { text = reason, busy = busy, datasets = {} }
      by_reason[reason], list[#list + 1] = known, known
    end
    if known then table.insert(known.datasets, dataset) end
    any_busy = any_busy or busy == true
  end
  for _, known in ipairs(not column.dataset and #results.datasets > 1 and list or {}) do
    known.text = ("%s (%s)"):format(known.text, table.concat(known.datasets, ", "))
  end
  return list, any_busy
end

-- The data sets that a mean over them lacks although other rows have them, as a text; nil for none.
local function lacking_of(results, label, column)
  local list = {}
  for _, dataset in ipairs(column.averaged) do
    if not results:value(label, column.metric, dataset) then list[#list + 1] = dataset end
  end
  return #list > 0 and table.concat(list, ", ") or nil
end

-- How many seeds a row has; on several data sets the fewest.
local function seeds_of(results, label, datasets)
  local least
  for _, dataset in ipairs(datasets) do
    local group = results:group(label, dataset)
    least = math.min(least or math.huge, group and #group.done or 0)
  end
  return least or 0
end

-- Whether the embedded generator made the data of a row's runs on a data set.
local function is_generated(results, label, dataset)
  local group = dataset and results:group(label, dataset)
  return group ~= nil and provenance.is_generated(group.latest)
end

-- The measured value is the mean over seeds or, with `select = "best_valid"`, a quality's at the
-- seed with the best validation result, where runs kept that; mean and spread are kept beside it.
local function cell_of(results, paper, label, name, column, select)
  local dataset = column.dataset
  local mean, spread, count = results:value(label, column.metric, dataset)
  local chosen = select and dataset and results:best(label, column.metric, dataset)
  local value = chosen or mean
  local printed = paper.value(name.paper, column.metric, column.paper)
  local status, why = status_of(results, label, column)
  local reasons, busy = reasons_of(results, label, column)
  local lacking = value and lacking_of(results, label, column)
  status = statuses.of_cell(status, value, busy, lacking)
  if statuses.is_of_fewer(status) then why = "not on " .. lacking end
  return {
    model = name.model,
    published = printed, published_spread = paper.spread(name.paper, column.metric, column.paper),
    measured = value,
    mean = mean, spread = spread, selected = chosen ~= nil,
    unselected = select and mean and not chosen and metrics.kind(column.metric) == "quality",
    deviation = value and printed and value - printed,
    seeds = dataset and count
      or seeds_of(results, label, dataset and { dataset } or results:datasets_of(label)),
    status = status, why = why, reasons = reasons, busy = value ~= nil and busy,
    by_seed = dataset and (results:values(label, column.metric, dataset)),
    constant = results:learns_nothing(label, dataset) and value or nil,
    generated = value ~= nil and is_generated(results, label, dataset),
  }
end

-- Data that the embedded generator made never look like the corpus whose name they have: the heading of a column
-- says so where all its values are of such data, else each of these values.
local function tell_generated(made)
  for c, column in ipairs(made.columns) do
    local any, all = false, true
    for _, row in ipairs(made.rows) do
      local cell = row.cells[c]
      any = any or cell.generated
      all = all and (cell.generated or cell.measured == nil)
    end
    column.generated = any and all
  end
end

-- The most seeds of a column where each has a value of its own; nil where they share it.
local function most_seeds(rows, index, metric)
  if not metrics.is_by_seed(metric) then return nil end
  local cells = {}
  for i, row in ipairs(rows) do cells[i] = row.cells[index] end
  return statuses.most_seeds(cells)
end

-- Marks the best of every column: as `better_of` says by metric, else the metric's own; of times of
-- several rounds there is none. The value of a chosen seed is no mean, and has no ties. What a file tells from
-- the best, or calls a tie, is not the best.
local function mark_all(made, better_of)
  for c, column in ipairs(made.columns) do
    local better = better_of[column.metric] or metrics.better(column.metric)
    local most, candidates, tested = most_seeds(made.rows, c, column.metric), {}, true
    for _, row in ipairs(made.rows) do
      local cell = row.cells[c]
      local value = statuses.candidate(cell, most)
      cell.best = false
      if value and cell.tie == nil then
        candidates[#candidates + 1] = { cell = cell, value = value, by_seed = cell.by_seed, constant = cell.constant }
        tested = tested and cell.by_seed ~= nil and not cell.selected
      end
    end
    if better and not column.apart then best.mark(candidates, better, tested and most or nil) end
  end
end

-- The cells of a column as Results:apart takes them: those of today's runs, which alone can be the best.
local function cells_of(results, labels, column)
  local cells = {}
  for _, dataset in ipairs(column.dataset and { column.dataset } or results.datasets) do
    for _, label in ipairs(labels) do
      local doubt = results_of.doubt(results:status(label, dataset))
      if not doubt then cells[#cells + 1] = { row = { label = label, dataset = dataset } } end
    end
  end
  return cells
end

-- That runs which are shown as the script's are by another build of a plug-in.
local function rebuilt(results)
  local runs = {}
  for _, group in ipairs(results.order) do
    if not group.other then table.move(group.done, 1, #group.done, #runs + 1, runs) end
  end
  return plugins.sentence(runs)
end

--- Builds a table declared by bench:table from what has been measured.
function tables.build(experiment, options, results)
  results = results:relative_to(experiment:baseline(options))
  local paper = options.published and published.table(options.published) or nothing_published()
  local columns = columns_of(experiment, options, paper, results)
  local made = {
    name = options.name or "table", title = options.title or experiment.name, scale = results.scale,
    device = results.device, left_out = results:left_out(),
    tuned = tuning.sentence(experiment.rows), changed = experiment.changed, rebuilt = rebuilt(results),
    source = provenance.sentence(provenance.runs_of(results)),
    several = #results.datasets > 1, columns = columns, rows = {}, paper = options.published,
    empty = empty_columns(experiment, options, results),
  }
  local names, labels = names_of(experiment, paper), labels_of(experiment, paper, columns, results)
  for i, label in ipairs(labels) do
    local row = { label = label, cells = {} }
    for c, column in ipairs(columns) do
      local name = name_on(names, paper, label, column)
      row.cells[c] = cell_of(results, paper, label, name, column, options.select)
    end
    made.rows[i] = row
  end
  for c, column in ipairs(columns) do
    for _, row in ipairs(made.rows) do column.printed = column.printed or row.cells[c].published end
    column.apart = results:apart({ column.metric }, cells_of(results, labels, column))
  end
  mark_all(made, options.best or {})
  tell_generated(made)
  return made
end

-- ---- text shared by the formats ----

local function data_mark(of) return of.generated and " (generated)" or "" end

--- "books, bits/byte"; "books (generated), bits/byte".
function tables.heading(column)
  local title = metrics.title(column.metric)
  if (column.dataset or "") == "" then return title .. data_mark(column) end
  return ("%s%s, %s"):format(column.dataset, data_mark(column), title)
end

-- Beside more columns than this no reader finds the row.
local most_columns = 7

-- The rows that say anything in some columns.
local function speaking(made, columns)
  local rows = {}
  for _, row in ipairs(made.rows) do
    local says = false
    for _, c in ipairs(columns) do
      for _, text in ipairs { tables.texts(made.columns[c], row.cells[c]) } do
        says = says or text ~= ""
      end
    end
    if says then rows[#rows + 1] = row end
  end
  return rows
end

--- How Markdown and HTML cut a table: an array of { title = nil, rows =, 1, 2, 3 }, indices of
--- columns and the rows that they are shown for. One with all; or one for each dataset, which is
--- its title, and one for columns of the model.
function tables.blocks(made)
  local whole, list, by_title, datasets = { rows = made.rows }, {}, {}, 0
  for c, column in ipairs(made.columns) do
    local title = column.dataset == "" and "without a name" or column.dataset or "of the model"
    title = title .. data_mark(column)
    whole[c] = c
    if not by_title[title] then
      by_title[title] = { title = title }
      list[#list + 1] = by_title[title]
      if column.dataset then datasets = datasets + 1 end
    end
    table.insert(by_title[title], c)
  end
  if #whole <= most_columns or datasets < 2 then return { whole } end
  for _, block in ipairs(list) do block.rows = speaking(made, block) end
  return list
end

--- A column's heading within its block.
function tables.block_heading(block, column)
  return block.title and metrics.title(column.metric) or tables.heading(column)
end

--- What a column shows: "paper", "here", "diff", or only "here" where the paper prints nothing.
function tables.parts(column)
  return column.printed and { "paper", "here", "diff" } or { "here" }
end

--- Whether the paper prints anything of these columns, so that paper and here are to be told apart.
function tables.any_printed(made, columns)
  for _, c in ipairs(columns) do
    if made.columns[c].printed then return true end
  end
  return false
end

--- The three texts of a cell: published, measured with spread, deviation.
function tables.texts(column, cell)
  local measured = metrics.text(column.metric, cell.measured)
  if cell.selected and cell.spread then
    measured = ("%s (%s ±%s)"):format(measured, metrics.text(column.metric, cell.mean),
      metrics.spread(column.metric, cell.spread))
  elseif cell.spread then
    measured = measured .. " ±" .. metrics.spread(column.metric, cell.spread)
  end
  if cell.measured == nil and cell.status ~= "missing" then measured = cell.status end
  if cell.busy then measured = measured .. "~" end
  if statuses.is_of_fewer(cell.status) then measured = measured .. " (part)" end
  local is_doubtful = results_of.doubt(cell.status) ~= nil
  if cell.measured ~= nil and is_doubtful then measured = ("%s (%s)"):format(measured, cell.status) end
  if not column.generated then measured = measured .. data_mark(cell) end
  measured = best.text(cell, measured)
  local printed = metrics.text(column.metric, cell.published)
  if cell.published_spread then
    printed = ("%s ±%s"):format(printed, metrics.spread(column.metric, cell.published_spread))
  end
  return printed, measured,
    metrics.difference(column.metric, cell.deviation)
end

--- What a reader must know beside the numbers: one sentence each.
tables.notes = notes.of

-- ---- CSV ----

-- The texts of reasons, "; " between them; nil for none.
local function told(reasons)
  local texts = {}
  for i, reason in ipairs(reasons) do texts[i] = reason.text end
  return #texts > 0 and table.concat(texts, "; ") or nil
end

-- A note has one subject: why there is no value, or else what is amiss with the row's runs; of a
-- busy machine's mean of fewer data sets it has both.
local function note_of(cell)
  local reasons, untimed = told(cell.reasons), cell.status == "busy" or cell.measured == nil
  if cell.status == statuses.busy_of_fewer then return ("%s; %s"):format(cell.why, reasons) end
  if cell.status == "missing" then return reasons end
  return untimed and reasons or cell.why or reasons
end

local ties = { [true] = "yes", [false] = "no" }

--- Every cell as one tidy row.
function tables.records(made)
  local records = {}
  for _, row in ipairs(made.rows) do
    for c, column in ipairs(made.columns) do
      local cell = row.cells[c]
      if cell.measured or cell.published or cell.status ~= "missing" or #cell.reasons > 0 then
        records[#records + 1] = {
          row = row.label, model = cell.model, dataset = column.dataset or "", metric = column.metric,
          published = cell.published, measured = cell.measured, deviation = cell.deviation,
          seeds = cell.seeds, scale = made.scale, status = cell.status, mean = cell.mean,
          spread = cell.spread, device = made.device, note = note_of(cell),
          rounds = column.apart and "several" or nil, changed = made.changed,
          best = cell.best and "yes" or nil, tie = cell.tie ~= nil and ties[cell.tie] or nil,
          generated = cell.generated and "yes" or nil, published_spread = cell.published_spread,
        }
      end
    end
  end
  if records[1] then
    records[1].tuning = made.tuned
    records[1].empty = #made.empty > 0 and table.concat(made.empty, ", ") or nil
  end
  return records
end

local timed = {}
for _, from in ipairs { "timing", "ratio" } do
  for _, name in ipairs(metrics.columns_from(from)) do timed[name] = true end
end

-- What the note of a record is about: its row's runs, or else the value that runs that ended well have
-- not. One of the two is nil, unless the status is of both.
local function note_of_record(record)
  local note = record.note ~= "" and record.note or nil
  if record.status == statuses.busy_of_fewer then return record.note:match "^(.-); (.*)$" end
  local untimed = record.status == "busy" or record.status == "partial" and record.measured == ""
  if record.status == "missing" or timed[record.metric] and untimed then return nil, note end
  return note, nil
end

local is_tie = { yes = true, no = false }

-- A cell as a record of the file says; a value that is not the mean is that of a chosen seed.
local function cell_of_record(record)
  local function number(name) return tonumber(record[name]) end
  local why, reason = note_of_record(record)
  local busy = record.status == "busy" or record.status == statuses.busy_of_fewer
  return {
    model = record.model, published = number "published", published_spread = number "published_spread",
    measured = number "measured", deviation = number "deviation", seeds = number "seeds" or 0,
    mean = number "mean", spread = number "spread", status = record.status, why = why,
    reasons = reason and { { text = reason, busy = busy } } or {},
    selected = number "measured" ~= number "mean", busy = busy, best = record.best == "yes",
    tie = is_tie[record.tie or ""], generated = record.generated == "yes",
  }
end

-- The dataset of a record's column; nil where one column serves all.
local function dataset_of(record)
  local serves_all = record.dataset == "" and metrics.is_shared(record.metric)
  return not serves_all and record.dataset or nil
end

-- The entry of a list that a key stands for, and its place; `new` where it is the first of the key.
local function entry_of(list, places, key, new)
  if not places[key] then list[#list + 1], places[key] = new, #list + 1 end
  return list[places[key]], places[key]
end

-- Gives a table the columns and rows of its records, in their order; what no record tells of is missing.
local function fill(made, records)
  local columns, rows = {}, {}
  for _, record in ipairs(records) do
    local cell, name = cell_of_record(record), record.metric .. "\n" .. record.dataset
    local column, c = entry_of(made.columns, columns, name,
      { metric = record.metric, dataset = dataset_of(record), paper = record.dataset })
    local row = entry_of(made.rows, rows, record.row, { label = record.row, cells = {} })
    row.cells[c] = cell
    column.printed = column.printed or cell.published
    column.apart = column.apart or record.rounds == "several"
  end
  for c in ipairs(made.columns) do
    for _, row in ipairs(made.rows) do
      row.cells[c] = row.cells[c] or { seeds = 0, status = "missing", reasons = {} }
    end
  end
end

--- The table that a file of table_files.write holds, or nil where the file is none. Its title, which only the
--- script knows, is the file's name.
function tables.read(path)
  local records, names = csv.read(path)
  local begins = table.concat(names, ",", 1, math.min(#names, 10))
  if begins ~= table.concat(tables.csv_columns, ",", 1, 10) or #records == 0 then return nil end
  local first, name = records[1], path:match "([^/]+)%.csv$"
  local made = { name = name, title = name, columns = {}, rows = {}, scale = first.scale, device = first.device,
    changed = first.changed, tuned = first.tuning ~= "" and first.tuning or nil, empty = { first.empty } }
  fill(made, records)
  local named = {}
  for _, column in ipairs(made.columns) do
    if column.dataset then named[#named + 1] = column end
  end
  made.several = #summary.datasets(named) > 1
  if not first.best then mark_all(made, {}) end -- a file of before it said so
  tell_generated(made)
  return made
end

return tables
