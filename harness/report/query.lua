-- Runs found by what their rows of runs.csv, and the rounds of timings.csv, say, over one or many
-- folders of results: conditions, the columns that are shown, and the list as text, CSV, JSON or
-- Markdown.
local begun = require "longhaul.run.begun"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local factors = require "longhaul.run.factors"
local fold = require "longhaul.run.fold"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local option_text = require "longhaul.run.option_text"
local pipe_table = require "longhaul.report.pipe_table"
local quote = require "longhaul.run.quote"
local statistics = require "longhaul.report.statistics"
local step_times = require "longhaul.run.step_times"
local store = require "longhaul.run.store"

local query = {}

-- ---- what is a number ----

-- The number that a cell of a column holds, if any: what the program calls a run, its commit or a row may be
-- digits, with an "e" among them, too, and is none. Options and factors are what their texts are.
local function number_in(name, text)
  return not store.is_text_column(name) and csv.number(text) or nil
end

-- ---- conditions ----

-- Whether a cell meets a condition. Numbers are compared as such; "<" and the like want two, or dates.
local compare = {
  ["<"] = function(a, b) return a < b end,
  [">"] = function(a, b) return a > b end,
  ["<="] = function(a, b) return a <= b end,
  [">="] = function(a, b) return a >= b end,
}

local function is_equal(name, text, value)
  local a, b = number_in(name, text), number_in(name, value)
  if a and b then return a == b end
  return text == value
end

local function has_day(text) return text:find "^%d%d%d%d%-%d%d%-%d%d" ~= nil end

-- Whether there is such a day, and behind it nothing but a time of it, as far as it goes: "2026-11-30T10:15".
local function is_date(text)
  local year, month, day, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$"
  if not year or rest:gsub("%d", "0") ~= ("T00:00:00Z"):sub(1, #rest) then return false end
  return os.date("%Y-%m-%d", os.time { year = year, month = month, day = day }) == text:sub(1, 10)
end

local function meets(text, condition)
  local operator, value = condition.operator, condition.value
  if operator == "=" then return is_equal(condition.name, text, value) end
  if operator == "!=" then return not is_equal(condition.name, text, value) end
  if operator == "~" then return text:find(value, 1, true) ~= nil end
  -- as far as the condition's goes: a day has all its hours
  if has_day(value) then return has_day(text) and compare[operator](text:sub(1, #value), value) end
  local number = csv.number(text)
  return number ~= nil and compare[operator](number, csv.number(value))
end

-- One condition of `text` at position `at`, and what is behind it; nil and what is wrong.
local function read(text, at)
  local name, operator, from = text:match("^([%w_.]+)([<>!=~]=?)()", at)
  if operator ~= "=" and operator ~= "!=" and operator ~= "~" and not compare[operator] then
    return nil, ("'%s' is no condition, as in class=brt, bits_per_byte<1.2 or row~Rec; there are "
      .. "= != < <= > >= and ~ (contains)"):format(text:sub(at))
  end
  local value, after = option_text.value(text, from)
  if compare[operator] and not csv.number(value) and not is_date(value) then
    return nil, ("%s%s takes a number or a date such as 2026-11-30, not '%s'"):format(name, operator, value)
  end
  return { name = name, operator = operator, value = value }, after
end

--- Reads texts such as "class=brt bits_per_byte<1.2": { { name =, operator =, value = } ... }; nil and
--- what is wrong.
function query.read(texts) return option_text.list(texts, read) end

--- The condition that a run was made on a day or later, "2026-11-30" or "today", both of UTC as in runs.csv; nil
--- and what is wrong.
function query.since(day)
  if day == "today" then day = os.date "!%Y-%m-%d" end
  if not is_date(day) then return nil, ("'%s' is no date: 2026-11-30, or today"):format(day) end
  return { name = "date", operator = ">=", value = day }
end

-- ---- runs ----

--- The stores at `folder` and below it; fails where there are none.
function query.stores(folder)
  if not core.is_folder(folder) then error(folder .. ": no such folder of results", 0) end
  local list = {}
  for _, path in ipairs(store.folders(folder)) do
    if core.exists(path .. "/runs.csv") then list[#list + 1] = store.of(path) end
  end
  if #list == 0 then error(begun.nothing(folder), 0) end
  return list
end

-- "model.window" -> the column of its text, and its name there.
local function option_of(name)
  local kind, option = name:match "^(%w+)%.([%w_]+)$"
  if lists.has(option_text.kinds, kind) then return kind .. "_options", option end
end

local values_of = {} -- by text: many runs have the same

-- The values of options by their names, of their text.
local function options(text)
  values_of[text] = values_of[text] or option_text.values(text)
  return values_of[text]
end

--- What a run says of a column, or of an option ("train.rate"); "" where it says nothing.
function query.cell(run, name)
  local column, option = option_of(name)
  if run[name] or not column then return run[name] or "" end
  return options(run[column] or "")[option] or ""
end

-- What only timings.csv has: of the round that counts.
local of_round = { tokens_per_step = true, busy = true }

local function is_of_round(name) return of_round[name] or step_times.is_time(name) end

-- A run with what the rounds of its configuration say, as tables show it: what it says itself may be
-- older, as where rounds were merged, or training's; times of a busy machine where there are no others.
local function with_rounds(from, run)
  local idle, _, busy = step_times.of(from):latest(run.configuration)
  local record = idle or busy or {}
  return setmetatable({}, { __index = function(_, name)
    if is_of_round(name) then return record[name] end
    return run[name]
  end })
end

--- Of a side (paired.lua) the number of a metric, as rounds have it, and its text, marked as tables mark what was
--- timed on a busy machine; nil and "" where there is none.
function query.shown(side, name)
  local run = with_rounds(side.from, side.run)
  local value = csv.number(run[name])
  return value, value and metrics.text(name, value) .. step_times.busy_mark(run, name) or ""
end

local function any(list, holds)
  for _, one in ipairs(list) do
    if holds(one) then return true end
  end
  return false
end

-- All names that a condition or --columns may use, by the name.
local function known_names(stores)
  local known = {}
  for name in pairs(of_round) do known[name] = true end
  for _, from in ipairs(stores) do
    for _, column in ipairs(from:columns()) do known[column] = true end
    for _, name in ipairs(query.option_columns(from:rows())) do known[name] = true end
  end
  return known
end

--- Fails unless every one of `names` is a column or an option of some run.
function query.check(stores, names)
  local known = known_names(stores)
  for _, name in ipairs(names) do
    if not known[name] then
      error(("no run has a column or option '%s'%s"):format(name,
        core.did_you_mean(name, lists.keys(known))), 0)
    end
  end
end

--- The runs that meet all conditions, in the order of folders and files, and the store of each; `names` are
--- all columns that are asked for.
---@return table[]
---@return table<table, longhaul.store>
function query.select(stores, conditions, names)
  local found, store_of, wants_rounds = {}, {}, any(names, is_of_round)
  for _, from in ipairs(stores) do
    for _, run in ipairs(from:rows()) do
      local good = true
      if wants_rounds then run = with_rounds(from, run) end
      for _, condition in ipairs(conditions) do
        good = good and meets(query.cell(run, condition.name), condition)
      end
      if good then found[#found + 1], store_of[run] = run, from end
    end
  end
  return found, store_of
end

-- What all runs say of a column, each once.
local function values_of_column(stores, name)
  local values = lists.set()
  for _, from in ipairs(stores) do
    for _, run in ipairs(from:rows()) do
      local text = query.cell(run, name)
      if text ~= "" then values:add(text) end
    end
  end
  table.sort(values.list)
  return values.list
end

--- Why no run meets all conditions: the first that none meets, and what was meant by a text that no run has.
function query.none(stores, conditions)
  if #query.select(stores, {}, {}) == 0 then return "no runs there" end
  for _, condition in ipairs(conditions) do
    if #query.select(stores, { condition }, { condition.name }) == 0 then
      local meant = condition.operator == "="
        and core.did_you_mean(condition.value, values_of_column(stores, condition.name)) or ""
      return ("no run has %s%s%s%s"):format(condition.name, condition.operator, condition.value, meant)
    end
  end
  return "no run meets all conditions; each alone is met by some"
end

--- Sorts runs by a column: numbers by size and before texts, empty ones last; the greatest first where
--- `falling`.
function query.sort(runs, name, falling)
  local keys = {}
  for i, run in ipairs(runs) do
    local text = query.cell(run, name)
    local number = csv.number(text)
    keys[run] = { text == "" and 3 or number and 1 or 2, number or 0, text, i }
  end
  table.sort(runs, function(a, b)
    for i = 1, 4 do
      local x, y = keys[a][i], keys[b][i]
      local by_value = i == 2 or i == 3
      if x ~= y then return (x < y) ~= (falling and by_value or false) end
    end
    return false
  end)
end

-- ---- groups ----

-- The finished runs' values of a metric; where one is infinite, as a perplexity that no number holds, so
-- is their mean. What the seeds of a configuration share was measured once in its store, and counts once.
local function values_in(runs, name, store_of)
  local values, seen = {}, {}
  for _, run in ipairs(runs) do
    local value = run.status == "done" and csv.number(query.cell(run, name)) or nil
    local known = seen[store_of[run]] or {}
    local is_counted = metrics.is_by_seed(name) or not known[run.configuration]
    if value and is_counted then
      values[#values + 1] = value
      seen[store_of[run]], known[run.configuration] = known, true
    end
  end
  return values
end

-- What all runs took, those that failed or diverged as well.
local function seconds_of(runs)
  local sum = 0
  for _, run in ipairs(runs) do sum = sum + (tonumber(run.wall_time_s) or 0) end
  return sum
end

-- What stands for the runs of a group in a list.
local function group_of(runs, by, measured, store_of)
  local made = { runs = tostring(#runs), wall_time_s_sum = csv.text(seconds_of(runs)) }
  for _, name in ipairs(by) do made[name] = query.cell(runs[1], name) end
  for _, name in ipairs(measured) do
    local values = values_in(runs, name, store_of)
    local mean, deviation = statistics.of(values)
    made[name], made[name .. "_deviation"] = csv.text(mean), csv.text(deviation)
    made[name .. "_count"] = tostring(#values)
  end
  for _, run in ipairs(runs) do made.busy = made.busy or (run.busy == "yes" and "yes" or nil) end
  return made
end

-- What may differ, beside options, between runs of one row, data set and seed.
local settings = { "scale", "device", "precision", "data_digest", "starts_from", "class", "version" }

-- Adds what two runs say otherwise, and both say: the older may be of before there was the column or the option.
local function add_differences(names, a, b)
  local columns, options_of_both = { table.unpack(settings) }, query.option_columns { a, b }
  table.move(options_of_both, 1, #options_of_both, #columns + 1, columns)
  for _, name in ipairs(columns) do
    local x, y = query.cell(a, name), query.cell(b, name)
    if x ~= "" and y ~= "" and x ~= y then names:add(name) end
  end
end

-- Whether runs of one row, data set and seed are of several configurations; adds to `names` what differs.
local function is_mixed(runs, names)
  local first, mixed = {}, false
  for _, run in ipairs(runs) do
    local key = table.concat({ run.experiment or "", run.row or "", run.dataset or "", run.seed or "" }, "\0")
    local before = first[key]
    first[key] = before or run
    if before and before.configuration ~= run.configuration then
      add_differences(names, before, run)
      mixed = true
    end
  end
  return mixed
end

--- Runs in groups that say the same of the columns `by`, as a list of what may stand for runs, and its
--- columns: those, `runs` (how many), of each metric of `measured` mean, deviation and count of the finished
--- ones that have it (of configurations, where their seeds share it), and the sum of the time that all took.
--- Then { count =, names = } of groups whose means are of one row's runs under several settings, and which.
--- `store_of`: of query.select.
function query.grouped(runs, by, measured, store_of)
  local groups, list, columns = {}, {}, { table.unpack(by) }
  for _, run in ipairs(runs) do
    local cells = {}
    for i, name in ipairs(by) do cells[i] = query.cell(run, name) end
    local key = table.concat(cells, "\0")
    if not groups[key] then
      groups[key] = {}
      list[#list + 1] = groups[key]
    end
    table.insert(groups[key], run)
  end
  local mixed, names = 0, lists.set()
  for i, group in ipairs(list) do
    if is_mixed(group, names) then mixed = mixed + 1 end
    list[i] = group_of(group, by, measured, store_of)
  end
  columns[#columns + 1] = "runs"
  for _, name in ipairs(measured) do
    table.move({ name, name .. "_deviation", name .. "_count" }, 1, 3, #columns + 1, columns)
  end
  columns[#columns + 1] = "wall_time_s_sum"
  return list, columns, { count = mixed, names = names.list }
end

-- ---- what is shown ----

local always = { "run_id", "experiment", "row", "dataset", "model", "scale", "seed", "status" }

--- The first quality that some run has, in the order of the registry; nil where there is none.
function query.quality(runs)
  for _, column in ipairs(metrics.all()) do
    if column.metric.kind == "quality" or column.metric.kind == nil then
      for _, run in ipairs(runs) do
        if (run[column.name] or "") ~= "" then return column.name end
      end
    end
  end
end

--- The columns of a list where none are asked for: which run it is, what conditions name, and the
--- first quality that some run has.
function query.columns(runs, conditions)
  local columns = lists.set()
  for _, name in ipairs(always) do columns:add(name) end
  for _, condition in ipairs(conditions) do columns:add(condition.name) end
  local quality = query.quality(runs)
  if quality then columns:add(quality) end
  return columns.list
end

--- Every column of these stores but the texts of options.
function query.plain_columns(stores)
  local columns, texts = lists.set(), {}
  for _, kind in ipairs(option_text.kinds) do texts[kind .. "_options"] = true end
  for _, from in ipairs(stores) do
    for _, name in ipairs(from:columns()) do
      if not texts[name] then columns:add(name) end
    end
  end
  return columns.list
end

--- Every option that some run has, as "model.window", those of models first.
function query.option_columns(runs)
  local columns = lists.set()
  for _, kind in ipairs(option_text.kinds) do
    for _, run in ipairs(csv.distinct(runs, { kind .. "_options" })) do
      for _, pair in ipairs(option_text.pairs(run[kind .. "_options"] or "")) do
        columns:add(kind .. "." .. pair[1])
      end
    end
  end
  return columns.list
end

--- Whether one of the columns shows a time of a busy machine.
function query.shows_busy(runs, columns)
  return any(columns, step_times.is_time) and any(runs, function(run) return run.busy == "yes" end)
end

local function cells_of(runs, columns, text_of)
  local lines = {}
  for i, run in ipairs(runs) do
    lines[i] = {}
    for c, name in ipairs(columns) do lines[i][c] = text_of(query.cell(run, name), name, run) end
  end
  return lines
end

-- The metric that a column of groups is of.
local function metric_of(name) return name:match "^(.+)_deviation$" or name:match "^(.+)_sum$" or name end

-- 0.1 of a factor that the file has with all its digits, 0.10000000000000001; ids may look like numbers.
local function short(text, name)
  local number = not store.is_text_column(name) and tonumber(text)
  local rounded = math.type(number) == "float" and factors.text(number)
  return rounded and tonumber(rounded) == number and rounded or text
end

-- A number as a reader wants it where the column is a metric; with a ~ one of a busy machine.
local function readable(text, name, run)
  local metric = metric_of(name)
  if not metrics.is_known(metric) then return quote.line(short(text, name)) end
  local number = tonumber(text)
  local shown = quote.line(number and metrics.text(metric, number) or text)
  return number and shown .. step_times.busy_mark(run, name) or shown
end

local formats = {}

function formats.csv(runs, columns)
  local records = cells_of(runs, columns, function(text) return text end)
  for i, cells in ipairs(records) do
    local record = {}
    for c, name in ipairs(columns) do record[name] = cells[c] end
    records[i] = record
  end
  return csv.format(columns, records)
end

-- What is a number in JSON, too: no hexadecimal one, no "inf", nor what other programs read as such.
local function is_json_number(text)
  local is_written = text:match "^%-?%d+%.?%d*[eE]?[+-]?%d*$" and not text:match "^%-?0%d"
  local has_digits = not text:match "%.$" and not text:match "%.%D"
  return is_written and has_digits and math.abs(tonumber(text) or math.huge) < math.huge
end

local function json_of(text, name)
  if text == "" then return "null" end
  return number_in(name, text) and is_json_number(text) and text or quote.json(text)
end

function formats.json(runs, columns)
  local lines = {}
  for i, cells in ipairs(cells_of(runs, columns, json_of)) do
    for c, name in ipairs(columns) do cells[c] = quote.json(name) .. ": " .. cells[c] end
    lines[i] = "  { " .. table.concat(cells, ", ") .. " }"
  end
  return "[\n" .. table.concat(lines, ",\n") .. "\n]\n"
end

function formats.markdown(runs, columns)
  local head, rows = {}, cells_of(runs, columns, function(...) return quote.markdown(readable(...)) end)
  for c, name in ipairs(columns) do head[c] = quote.markdown(metrics.label(name)) end
  return pipe_table.text(head, ("l"):rep(#head), rows) .. "\n"
end

function formats.text(runs, columns)
  local lines, head = cells_of(runs, columns, readable), {}
  for c, name in ipairs(columns) do head[c] = metrics.label(name) end
  table.insert(lines, 1, head)
  return fold.table(lines, fold.width()) .. "\n"
end

--- The runs as "text", "csv", "json" or "markdown". CSV and JSON have values as they stand in
--- the files.
function query.format(kind, runs, columns) return formats[kind](runs, columns) end

return query
