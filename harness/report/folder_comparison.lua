-- Two folders of results side by side, as those before and after a change or of two machines: which rows
-- both have, what their qualities differ by from seed to seed, and how their costs compare.
local csv = require "longhaul.run.csv"
local finished = require "longhaul.run.finished"
local fold = require "longhaul.run.fold"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local option_text = require "longhaul.run.option_text"
local paired = require "longhaul.report.paired"
local query = require "longhaul.report.query"
local quote = require "longhaul.run.quote"
local results = require "longhaul.report.results"
local statistics = require "longhaul.report.statistics"
local summary = require "longhaul.report.summary"

local folder_comparison = {}

-- ---- the rows that both have ----

-- A row is called alike in both, whatever its options and its machine are.
local names_of_row = { "experiment", "scale", "dataset", "row" }

local function key_of(run)
  local texts = {}
  for i, name in ipairs(names_of_row) do texts[i] = run[name] or "" end
  return table.concat(texts, "\0")
end

local function finished_of(runs)
  local list = {}
  for _, run in ipairs(runs) do
    if finished.is_over(run.status) then list[#list + 1] = run end
  end
  return list
end

-- The side (paired.lua) of a row's runs in a store: of several configurations that which finished last,
-- by the date, and how many are left out; where none finished, it has failed.
local function side_of(from, runs)
  local over = finished_of(runs)
  local has_failed, configurations = #over == 0, csv.groups(runs, { "configuration" })
  local run = results.latest_of(has_failed and runs or over)
  local side = { run = run, from = from, has_failed = has_failed, left_out = #configurations - 1 }
  for _, alike in ipairs(configurations) do
    if alike[1].configuration == run.configuration then side.runs = alike end
  end
  return side
end

local function on_device(sides, device)
  for _, side in ipairs(sides) do
    if side.run.device == device then return side end
  end
end

-- Two stores of a folder, as of two machines, may have a row of one name: neither is the folder's.
local function refuse(side, from)
  error(("row '%s' of %s, %s lies in %s and in %s: compare one of them"):format(side.run.row, side.run.experiment,
    side.run.scale, side.from.path, from.path), 0)
end

-- The rows of a folder's stores by the runs that meet all conditions, each as a side for each of its
-- devices: all of them in their order, and those of a row by its key.
local function read(stores, conditions)
  local sides, by_key = {}, {}
  for _, from in ipairs(stores) do
    local met = query.select({ from }, conditions, lists.names(conditions))
    for _, runs in ipairs(csv.groups(met, { "device", table.unpack(names_of_row) })) do
      local side, key = side_of(from, runs), key_of(runs[1])
      local alike = by_key[key] or {}
      local there = on_device(alike, side.run.device)
      if there then refuse(there, from) end
      sides[#sides + 1], alike[#alike + 1], by_key[key], side.key = side, side, alike, key
    end
  end
  return sides, by_key
end

-- What a side is compared with: the row on the same device, on any where each folder has it on one alone.
local function counterpart(side, own, others)
  local alike = others[side.key] or {}
  local is_alone = #own[side.key] == 1 and #alike == 1
  return is_alone and alike[1] or on_device(alike, side.run.device)
end

-- Puts a row's sides in the two folders, of which either may lack it, where the group has its like.
local function put(group, sides)
  local a, b = sides[1], sides[2]
  if a and b and not a.has_failed and not b.has_failed then return table.insert(group.pairs, { a, b }) end
  for i = 1, 2 do
    local side, other = sides[i], sides[3 - i]
    if side and side.has_failed then
      table.insert(group.failed[i], side)
    elseif side and not other then
      table.insert(group.only[i], side)
    end
  end
end

-- The pairs of sides by experiment and scale, in the order of the first folder, the sides that failed, and
-- those that one of the two lacks: { title =, pairs = { { a, b } ... }, failed = { {}, {} }, only = { {}, {} } }.
local function groups_of(stores_a, stores_b, conditions)
  local groups, by_title = {}, {}
  local function group_of(side)
    local title = ("%s, %s"):format(side.run.experiment, side.run.scale)
    if not by_title[title] then
      by_title[title] = { title = title, pairs = {}, failed = { {}, {} }, only = { {}, {} } }
      groups[#groups + 1] = by_title[title]
    end
    return by_title[title]
  end
  local in_a, by_a = read(stores_a, conditions)
  local in_b, by_b = read(stores_b, conditions)
  for _, a in ipairs(in_a) do
    put(group_of(a), { a, counterpart(a, by_a, by_b) })
  end
  for _, b in ipairs(in_b) do
    if not counterpart(b, by_b, by_a) then put(group_of(b), { nil, b }) end
  end
  return groups
end

-- Processors are not named: most runs are theirs.
local function row_name(side)
  local run, device = side.run, side.run.device or "cpu"
  local name = (run.dataset or "") == "" and run.row or run.row .. "/" .. run.dataset
  return quote.line(device == "cpu" and name or ("%s on %s"):format(name, device))
end

-- ---- what a row says ----

local function runs_of(side) return csv.by(paired.runs_of(side), "seed") end

-- Whether all that was scored in the seeds of both is the same to the last digit; nil where neither has a
-- score of a common seed.
local function is_same(a, b)
  local same, scored, in_b, scores = true, false, runs_of(b), metrics.scores()
  for seed, x in pairs(runs_of(a)) do
    local y = in_b[seed]
    local have_finished = y and finished.is_over(x.status) and finished.is_over(y.status)
    for _, name in ipairs(have_finished and scores or {}) do
      local in_x, in_y = x[name] or "", y[name] or ""
      scored = scored or in_x ~= "" or in_y ~= ""
      same = same and x.status == y.status and in_x == in_y
    end
  end
  if scored then return same end
end

-- "train.rate 0.01 -> 0.003; seed 2 diverged in B": what a reader has to know of such a pair.
local function remarks(a, b)
  local list = {}
  local function add(...) list[#list + 1] = string.format(...) end
  for _, option in ipairs(option_text.differences(a.run, b.run)) do
    add("%s %s -> %s", option[1], quote.line(option[2]), quote.line(option[3]))
  end
  for _, name in ipairs { "class", "version", paired.data_column(a, b), "device", "precision" } do
    local x, y = a.run[name] or "", b.run[name] or ""
    if x ~= y then add("%s %s -> %s", name, quote.line(x), quote.line(y)) end
  end
  for i, side in ipairs { a, b } do
    local by_seed, name = runs_of(side), i == 1 and "A" or "B"
    for _, seed in ipairs(lists.keys(by_seed)) do
      local status = by_seed[seed].status
      if status ~= "done" then add("seed %s %s in %s", seed, status, name) end
    end
    if side.left_out > 0 then
      add("%d other configuration%s of %s left out", side.left_out, side.left_out == 1 and "" or "s", name)
    end
  end
  return table.concat(list, "; ")
end

-- ---- cells ----

local function has_values(columns, count)
  for _, column in ipairs(columns) do
    for i = 2, count + 1 do
      if column[i] ~= "" then return true end
    end
  end
  return false
end

-- Adds columns that belong together, unless they are empty in every row.
local function add_columns(columns, more, count)
  if has_values(more, count) then table.move(more, 1, #more, #columns + 1, columns) end
end

local function difference(name, list, why)
  if #list == 0 then return why or "" end
  local same = true
  for _, one in ipairs(list) do same = same and one == 0 end
  return ("%s (%d)"):format(same and "same" or paired.text(name, list), #list)
end

-- What each seed has of its own: the means over the seeds of both, and the difference, of which there
-- is none between qualities of other data.
local function add_seeds(columns, pairs_of_sides, name)
  local x_cells, y_cells, cells, all = { metrics.label(name) .. ": A" }, { "B" }, { "B less A" }, {}
  for i, pair in ipairs(pairs_of_sides) do
    local a, b = pair[1], pair[2]
    local x, y = paired.means(a, b, name)
    x_cells[i + 1], y_cells[i + 1] = metrics.text(name, x), metrics.text(name, y)
    local list, why = {}, nil
    if paired.is_comparable(a, b, name) then list, why = paired.differences(a, b, name) end
    all[i], cells[i + 1] = list, difference(name, list, why)
  end
  for i, apart in ipairs(statistics.told_apart(all)) do
    if apart then cells[i + 1] = cells[i + 1] .. " *" end
  end
  add_columns(columns, { x_cells, y_cells, cells }, #pairs_of_sides)
end

-- A cost that all seeds share of both, and their ratio; below them the ratios' geometric mean.
local function add_costs(columns, pairs_of_sides, name)
  local x_cells, y_cells, cells = { metrics.label(name) .. ": A" }, { "B" }, { "B / A" }
  local sum, count = 0, 0
  for i, pair in ipairs(pairs_of_sides) do
    local x, y
    x, x_cells[i + 1] = query.shown(pair[1], name)
    y, y_cells[i + 1] = query.shown(pair[2], name)
    local has_ratio = x and y and x > 0 and y > 0
    cells[i + 1] = has_ratio and ("%.3f"):format(y / x) or ""
    if has_ratio then sum, count = sum + math.log(y / x), count + 1 end
  end
  if count > 0 then cells.mean = ("%.3f"):format(math.exp(sum / count)) end
  add_columns(columns, { x_cells, y_cells, cells }, #pairs_of_sides)
end

-- Columns of cells as lines of them.
local function lines_of(columns, count)
  local lines, last, any_mean = {}, {}, false
  for i = 1, count + 1 do lines[i] = {} end
  for c, column in ipairs(columns) do
    for i = 1, count + 1 do lines[i][c] = column[i] end
    last[c] = column.mean or ""
    any_mean = any_mean or column.mean ~= nil
  end
  last[1] = "geometric mean"
  if any_mean and count > 1 then lines[#lines + 1] = last end
  return lines
end

local function table_of(group, names)
  local rows, said = { "row" }, { "what differs" }
  for i, pair in ipairs(group.pairs) do
    rows[i + 1], said[i + 1] = row_name(pair[1]), remarks(pair[1], pair[2])
  end
  local columns = { rows }
  for _, name in ipairs(names) do
    local add = metrics.is_by_seed(name) and add_seeds or add_costs
    add(columns, group.pairs, name)
  end
  add_columns(columns, { said }, #group.pairs)
  return fold.table(lines_of(columns, #group.pairs), fold.width())
end

-- ---- text ----

-- What is shown where nothing is asked for: the quality of these runs, and what they cost.
local function usual_columns(group)
  local runs = {}
  for _, pair in ipairs(group.pairs) do
    for _, side in ipairs(pair) do runs[#runs + 1] = side.run end
  end
  local names = { "step_time_ms", "peak_memory_bytes" }
  local quality = query.quality(runs)
  if quality then table.insert(names, 1, quality) end
  return names
end

local most_named = 8

-- "; 1 failed in B (LSTM/books)"
local function counted(what, sides)
  if #sides == 0 then return "" end
  local names = {}
  for i, side in ipairs(sides) do names[i] = row_name(side) end
  return ("; %d %s (%s)"):format(#sides, what, summary.first(names, most_named))
end

local function heading(group)
  local same, compared = 0, 0
  for _, pair in ipairs(group.pairs) do
    local said = is_same(pair[1], pair[2])
    if said ~= nil then compared = compared + 1 end
    if said then same = same + 1 end
  end
  local text = ("%s: %d rows in both, %d of %d with scores of a common seed have the same"):format(group.title,
    #group.pairs, same, compared)
  for i, name in ipairs { "A", "B" } do
    text = text .. counted("only in " .. name, group.only[i]) .. counted("failed in " .. name, group.failed[i])
  end
  return fold.text(text, fold.width())
end

local function distinct(stores, name)
  local texts = lists.set()
  for _, from in ipairs(stores) do
    for _, run in ipairs(csv.distinct(from:rows(), { name })) do
      if (run[name] or "") ~= "" then texts:add(quote.line(run[name])) end
    end
  end
  return summary.first(texts.list, most_named)
end

local function title_of(name, path, stores)
  return ("%s  %s: code %s; %s"):format(name, path, distinct(stores, "code_version"), distinct(stores, "machine"))
end

--- Two folders (of one experiment or of many) as text, with the columns `names`; nil: a quality, the
--- step time and the memory; by the runs alone that meet all `conditions` (query.lua).
function folder_comparison.text(path_a, path_b, names, conditions)
  local stores_a, stores_b = query.stores(path_a), query.stores(path_b)
  conditions = conditions or {}
  query.check(table.move(stores_b, 1, #stores_b, #stores_a + 1, { table.unpack(stores_a) }), lists.names(conditions))
  local lines = { title_of("A", path_a, stores_a), title_of("B", path_b, stores_b) }
  local groups = groups_of(stores_a, stores_b, conditions)
  for _, group in ipairs(groups) do
    lines[#lines + 1] = "\n" .. heading(group)
    if #group.pairs > 0 then lines[#lines + 1] = table_of(group, names or usual_columns(group)) end
  end
  lines[#lines + 1] = ("\nDifferences are means over the seeds of both (so many), ± the standard error; *: told from "
    .. "chance by a paired t test at a false discovery rate of %g over the rows that have one; ~: timed on a busy "
    .. "machine."):format(statistics.level)
  return table.concat(lines, "\n") .. "\n"
end

return folder_comparison
