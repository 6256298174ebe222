-- query, compare: runs found by what is known of them, and two of them, or two folders, side by side.
local command = require "longhaul.command"
local core = require "longhaul.core"
local folder_comparison = require "longhaul.report.folder_comparison"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local query = require "longhaul.report.query"
local run_comparison = require "longhaul.report.run_comparison"

-- The names in a text, each once.
local function names_of(text)
  local names = lists.set()
  for name in text:gmatch "[^%s,]+" do names:add(name) end
  return names.list
end

-- Those of --columns; nil where it is not given.
local function columns_of(values)
  if not values.columns then return nil end
  local names = names_of(values.columns)
  if #names == 0 then command.misuse "--columns takes NAME,..., not nothing" end
  return names
end

local function format_of(values)
  local chosen
  for _, kind in ipairs { "csv", "json", "markdown" } do
    if values[kind] and chosen then
      command.misuse(("--%s and --%s are two formats"):format(chosen, kind))
    end
    chosen = values[kind] and kind or chosen
  end
  return chosen or "text"
end

local function stores_of(values) return query.stores(values.results or "results") end

-- Times of a busy machine are marked: beside numbers that programs read, by a column.
local function with_mark(format, runs, columns)
  if not query.shows_busy(runs, columns) then return columns end
  if format == "text" or format == "markdown" then
    io.stderr:write "~: timed while others used the machine\n"
    return columns
  end
  if lists.has(columns, "busy") then return columns end
  local marked = { table.unpack(columns) }
  marked[#marked + 1] = "busy"
  return marked
end

-- What groups show: the metrics among the columns that are asked for, or a quality.
local function measured_of(names, by, runs)
  local measured = {}
  for _, name in ipairs(names or { query.quality(runs) }) do
    local is_shared = lists.has(by, name)
    if not is_shared and not metrics.is_known(name) then
      command.misuse(("--columns: groups have no '%s', which is neither a metric nor in --by"):format(name))
    end
    measured[#measured + 1] = not is_shared and name or nil
  end
  return measured
end

-- A mean over seeds is of one setting; whoever groups by less than what differs is told.
local function tell_mixed(mixed, groups)
  if mixed.count == 0 then return end
  io.stderr:write(("note: %d of %d groups hold runs of one row, data set and seed that differ in %s: name it in --by, "
    .. "or in a condition\n"):format(mixed.count, groups, table.concat(mixed.names, ", ")))
end

local function run_groups(format, stores, conditions, values)
  local by, names = names_of(values.by), columns_of(values)
  local asked = lists.names(conditions)
  for _, list in ipairs { by, names or {} } do table.move(list, 1, #list, #asked + 1, asked) end
  query.check(stores, asked)
  table.insert(asked, "wall_time_s")
  local runs, store_of = query.select(stores, conditions, asked)
  local groups, columns, mixed = query.grouped(runs, by, measured_of(names, by, runs), store_of)
  local falling, key = (values.sort or ""):match "^(-?)(.+)"
  if key then
    command.one_of("sort", key, columns)
    query.sort(groups, key, falling == "-")
  end
  io.write(query.format(format, groups, with_mark(format, groups, columns)))
  tell_mixed(mixed, #groups)
end

local function conditions_of(values, rest)
  local conditions, wrong = query.read(rest)
  if not conditions then command.misuse("query: " .. wrong) end
  if not values.since then return conditions end
  local since, no_date = query.since(values.since)
  if not since then command.misuse("--since: " .. no_date) end
  conditions[#conditions + 1] = since
  return conditions
end

local function run_query(values, rest)
  local conditions = conditions_of(values, rest)
  if values.all and values.columns then command.misuse "--all and --columns are two choices of columns" end
  if values.all and values.by then command.misuse "--all shows runs, --by groups of them" end
  local format, stores, names = format_of(values), stores_of(values), lists.names(conditions)
  if values.by then return run_groups(format, stores, conditions, values) end
  local columns = columns_of(values) or values.all and query.plain_columns(stores)
  table.move(columns or {}, 1, #(columns or {}), #names + 1, names)
  local falling, by = (values.sort or ""):match "^(-?)(.+)"
  names[#names + 1] = by
  query.check(stores, names)
  local runs = query.select(stores, conditions, names)
  if by then query.sort(runs, by, falling == "-") end
  columns = columns or query.columns(runs, conditions)
  if values.all then
    local more = query.option_columns(runs)
    table.move(more, 1, #more, #columns + 1, columns)
  end
  io.write(query.format(format, runs, with_mark(format, runs, columns)))
  if #runs == 0 then io.stderr:write(query.none(stores, conditions), "\n") end
end

local function compare_folders(values, rest, conditions)
  if values.results then command.misuse "--results is for two runs" end
  local names = columns_of(values)
  for _, name in ipairs(names or {}) do
    if metrics.refusal(name) then command.misuse("--columns: " .. metrics.refusal(name)) end
  end
  io.write(folder_comparison.text(rest[1], rest[2], names, conditions))
end

-- A row may be called as a folder is; one that is no run is meant as a folder, and the other is missing.
local function check_pair(stores, conditions, folder, other)
  if not core.is_folder(folder) or core.is_folder(other) then return end
  if pcall(run_comparison.find, stores, folder, conditions) then return end
  error(("'%s' is a folder, and there is no folder '%s' to compare it with"):format(folder, other), 0)
end

local function compare(values, rest)
  if #rest ~= 2 then command.misuse "compare takes two RUNs (ids, rows or conditions) or two folders" end
  local conditions, wrong = query.read { values.where or "" }
  if not conditions then command.misuse("--where: " .. wrong) end
  if core.is_folder(rest[1]) and core.is_folder(rest[2]) then return compare_folders(values, rest, conditions) end
  if values.columns then command.misuse "--columns is for two folders" end
  local stores = stores_of(values)
  check_pair(stores, conditions, rest[1], rest[2])
  check_pair(stores, conditions, rest[2], rest[1])
  io.write(run_comparison.text(run_comparison.find(stores, rest[1], conditions),
    run_comparison.find(stores, rest[2], conditions)))
end

local where = { "results=", "folder with results, of one experiment or of many (default results)", "FOLDER" }

return {
  {
    name = "query", summary = "list the runs that meet conditions", run = run_query, most = math.huge,
    usage = "query ['CONDITION ...'] [--since DATE] [--columns NAME,... | --all] [--by NAME,...] "
      .. "[--sort [-]NAME] [--csv | --json | --markdown]",
    description = "A condition is NAME=VALUE, or with != < <= > >= or ~ (contains) between them; NAME is a column of "
      .. "runs.csv, tokens_per_step or busy of timings.csv, or an option, as model.window, train.rate. A "
      .. "time of a busy machine, where there is no other, has a ~, in CSV and JSON a column busy. Dates are compared "
      .. "as far as they are given: date~2026-11 is a month, code_version~0123 a commit; what runs, rows and commits "
      .. "are called is text, digits too:\n"
      .. "    longhaul query 'class=brt scale=small bits_per_byte<1.2 train.rate>=0.1' --sort bits_per_byte",
    options = {
      where,
      { "since=", "runs of this day (2026-11-30, of UTC) or later, as date>=2026-11-30; today: of today", "DATE" },
      { "columns=", "what is shown, instead of what conditions name and a quality", "NAME,..." },
      { "all", "show every column, and every option as one: for other programs, with --csv or --json" },
      { "by=", "groups of runs that have these in common: how many, mean, deviation and count of a quality (or the "
        .. "metrics of --columns), and the seconds that all took", "NAME,..." },
      { "sort=", "by this column, the least first; -NAME: the greatest first", "NAME" },
      { "csv", "as CSV" },
      { "json", "as JSON" },
      { "markdown", "as a Markdown table" },
    },
  },
  {
    name = "compare", summary = "two runs, or two folders of results, side by side", run = compare, most = 2,
    usage = "compare RUN RUN [--where 'CONDITION ...'] | compare FOLDER FOLDER [--where 'CONDITION ...'] "
      .. "[--columns NAME,...]",
    description = "RUN is the label of a row, a run's id or its beginning, as `longhaul query` shows it, or conditions "
      .. "as `query` takes them, the first of these that it can be: options, metrics and curves, the difference of "
      .. "their configurations over the seeds that both have, and the p-value of a paired t test:\n"
      .. "    longhaul compare LSTM 'Gated DeltaNet' --where 'experiment=mine dataset=books'\n"
      .. "FOLDER is results, or results/EXPERIMENT, as from before and after a change or of two machines: the rows "
      .. "that both have by their labels, which of them have the same scores to the last digit, the difference of "
      .. "the others seed by seed and whether it is told from chance, and the ratio of their step times and memory.",
    options = {
      where,
      { "where=", "of two runs that are labels: conditions that both meet; of two folders: of the runs compared",
        "'CONDITION ...'" },
      { "columns=", "of two folders: metrics that are shown, instead of a quality, step time and memory", "NAME,..." },
    },
  },
}
