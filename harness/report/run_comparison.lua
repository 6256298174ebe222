-- Two runs side by side: which options differ, their metrics, their curves at the same steps, and the
-- difference of their configurations over the seeds that both have.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local finished = require "longhaul.run.finished"
local fold = require "longhaul.run.fold"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local option_text = require "longhaul.run.option_text"
local paired = require "longhaul.report.paired"
local query = require "longhaul.report.query"
local quote = require "longhaul.run.quote"
local statistics = require "longhaul.report.statistics"

local run_comparison = {}

-- The finds { run =, from = } of ids that begin so; a run that lies in several folders is that of the
-- first.
local function by_id(stores, beginning)
  local list, seen = {}, {}
  for _, from in ipairs(stores) do
    for _, run in ipairs(from:rows()) do
      if run.run_id:sub(1, #beginning) == beginning and not seen[run.run_id] then
        list[#list + 1], seen[run.run_id] = { run = run, from = from }, true
      end
    end
  end
  return list
end

-- The run of the least seed of those that are done, if any is.
local function least_done(runs)
  local least
  for _, run in ipairs(runs) do
    local is_less = not least or tonumber(run.seed) < tonumber(least.seed)
    if run.status == "done" and is_less then least = run end
  end
  return least
end

-- One find for each configuration with runs that meet all conditions, all of which it may be.
local function by_conditions(stores, conditions)
  local list, names = {}, lists.names(conditions)
  query.check(stores, names)
  for _, from in ipairs(stores) do
    local met = query.select({ from }, conditions, names)
    for _, alike in ipairs(csv.groups(met, { "configuration" })) do
      local runs = finished.of_seeds(alike)
      list[#list + 1] = { run = least_done(runs) or runs[1], from = from, choice = runs }
    end
  end
  return list
end

local most_named = 8

local function differs(found, name)
  for _, other in ipairs(found) do
    if other.run[name] ~= found[1].run[name] then return true end
  end
  return false
end

local function condition(name, value)
  return name .. "=" .. (value:find "[%s\"']" and ("%q"):format(value) or value)
end

-- What tells the first of several from the others: conditions on what is not the same of all, else its id.
local function way_apart(found)
  local first, conditions = found[1].run, {}
  for _, name in ipairs { "experiment", "scale", "dataset", "device", "row", "seed" } do
    if differs(found, name) then conditions[#conditions + 1] = condition(name, first[name] or "") end
  end
  if #conditions == 0 then return "the id, as " .. first.run_id .. "," end
  return "--where, as in --where " .. quote.shell(table.concat(conditions, " ")) .. ","
end

local function several(text, found)
  local names = {}
  for i = 1, math.min(#found, most_named) do
    local run = found[i].run
    names[i] = ("  %s  %s, %s, %s, seed %s: %s"):format(run.run_id, run.experiment, run.scale, run.dataset or "",
      run.seed, run.row)
  end
  if #found > most_named then names[#names + 1] = "  ..." end
  return ("'%s' may be one of %d, which %s tells apart:\n%s"):format(text, #found, quote.visible(way_apart(found)),
    quote.visible(table.concat(names, "\n")))
end

-- The rows' labels, each once.
local function labels_of(stores)
  local labels = lists.set()
  for _, from in ipairs(stores) do
    for _, run in ipairs(csv.distinct(from:rows(), { "row" })) do labels:add(run.row) end
  end
  return labels.list
end

-- The finds of a text: a label goes before the beginning of an id, as which a number may be read, and before
-- conditions, as which it may be written.
local function found_by(stores, text, where)
  local is_label = lists.has(labels_of(stores), text)
  local found = is_label and {} or by_id(stores, text)
  if #found > 0 then return found end
  local conditions = is_label and { { name = "row", operator = "=", value = text } } or query.read { text }
  return conditions and by_conditions(stores, table.move(where, 1, #where, #conditions + 1, conditions)) or {}
end

--- The run of a text, and its store: { run =, from = }. The text is the label of a row, the beginning of its id,
--- or conditions (query.lua) that only runs of one configuration meet; `where` are conditions for the first and
--- the last, where `choice` has all runs that it may be. Fails where it is none, or may be several.
function run_comparison.find(stores, text, where)
  local found = found_by(stores, text, where or {})
  if #found == 0 then
    error(("no run or row '%s'%s; `longhaul query` lists them"):format(text,
      core.did_you_mean(text, labels_of(stores))), 0)
  end
  if #found > 1 then error(several(text, found), 0) end
  return found[1]
end

-- ---- what differs ----

-- Which run it is, in the order of the text.
local facts = { "experiment", "row", "dataset", "class", "version", "data", "data_digest", "starts_from",
  "scale", "device", "precision", "seed", "ranks", "status", "step", "code_version", "machine" }

-- A line is a heading or the cells of one.
local function add_line(lines, name, a, b, more)
  lines[#lines + 1] = { "    " .. name, quote.line(a), quote.line(b), more or "" }
end

-- Headings between cells that stand below each other throughout.
local function text_of(lines)
  local cells = {}
  for _, line in ipairs(lines) do
    if type(line) == "table" then cells[#cells + 1] = line end
  end
  local next_line, texts = fold.table(cells):gmatch "[^\n]+", {}
  for i, line in ipairs(lines) do
    texts[i] = type(line) == "table" and fold.text(next_line(), fold.width()) or line
  end
  return table.concat(texts, "\n") .. "\n"
end

local function add_facts(lines, a, b)
  for _, name in ipairs(facts) do
    local x, y = a[name] or "", b[name] or ""
    if x ~= y then add_line(lines, name, x, y) end
  end
end

local function add_options(lines, a, b)
  local options = option_text.differences(a, b)
  lines[#lines + 1] = #options > 0 and "\nOPTIONS that differ" or "\nOPTIONS are the same"
  for _, option in ipairs(options) do add_line(lines, table.unpack(option)) end
end

-- ---- metrics ----

-- "+0.021 ± 0.004 (standard error) over 3 seeds, p 0.012": b less a, seed by seed; or why there is none.
local function said_of(a, b, name)
  if not paired.is_comparable(a, b, name) then return "other data" end
  local list, why = paired.differences(a, b, name)
  if why then return why end
  local text = paired.text(name, list)
  if #list == 1 then return text .. ", one seed" end
  local chance = #list < statistics.fewest_seeds and "too few to tell from chance"
    or statistics.p_text(statistics.paired_p_value(list))
  return ("%s (standard error) over %d seeds, %s"):format(text, #list, chance)
end

-- Of what each seed has of its own, where the two are of different configurations with seeds in common.
local function add_paired(lines, a, b, name)
  local x, y = paired.means(a, b, name)
  if not x or a.run.configuration == b.run.configuration then return false end
  add_line(lines, metrics.label(name), metrics.text(name, x), metrics.text(name, y), said_of(a, b, name))
  return true
end

local function add_single(lines, a, b, name)
  local x, x_text = query.shown(a, name)
  local y, y_text = query.shown(b, name)
  if not (x or y) then return end
  local difference = x and y and metrics.difference(name, y - x)
  if not paired.is_comparable(a, b, name) then difference = "other data" end
  add_line(lines, metrics.label(name), x_text, y_text, difference)
end

local function add_metrics(lines, a, b)
  for _, column in ipairs(metrics.all()) do
    local name = column.name
    local is_paired = metrics.is_by_seed(name) and add_paired(lines, a, b, name)
    if not is_paired then add_single(lines, a, b, name) end
  end
end

-- ---- curves ----

-- About so many points of what may be thousands.
local most_points = 12

local function curve_of(side) return side.from:read_curve(side.run.run_id, math.huge) end

-- The steps that both curves have, thinned, the last one kept.
local function common_steps(a, b)
  local all, steps = {}, {}
  for _, point in ipairs(a) do
    if b[point.step] then all[#all + 1] = point.step end
  end
  local stride = math.max(1, math.ceil(#all / most_points))
  for i, step in ipairs(all) do
    if (#all - i) % stride == 0 then steps[#steps + 1] = step end
  end
  return steps
end

-- Two infinite losses have no difference.
local function curve_difference(x, y)
  local difference = y - x
  return difference == difference and ("%+.4f"):format(difference) or ""
end

local function add_curves(lines, a, b)
  local has_same_data = paired.has_same_data(a, b)
  local of_a, of_b = curve_of(a), csv.by(curve_of(b), "step")
  local by_a = csv.by(of_a, "step")
  for _, name in ipairs(metrics.losses()) do
    local begun = false
    for _, step in ipairs(common_steps(of_a, of_b)) do
      local x, y = csv.number(by_a[step][name]), csv.number(of_b[step][name])
      if x and y then
        if not begun then lines[#lines + 1] = "\nCURVES, " .. metrics.curve_title(name) end
        begun = true
        add_line(lines, "step " .. step, ("%.4f"):format(x), ("%.4f"):format(y),
          has_same_data and curve_difference(x, y) or "other data")
      end
    end
  end
end

-- Those of `runs` in whose seed one of `others` is done.
local function with_seeds_of(others, runs)
  local list, is_done = {}, {}
  for _, run in ipairs(others) do is_done[run.seed] = is_done[run.seed] or run.status == "done" end
  for _, run in ipairs(runs) do
    if is_done[run.seed] then list[#list + 1] = run end
  end
  return list
end

-- Two finds, where their texts leave several seeds, in the least that is done in both.
local function in_common_seed(a, b)
  local of_a, of_b = a.choice or { a.run }, b.choice or { b.run }
  local run = least_done(with_seeds_of(of_b, of_a))
  if not run then return a, b end
  return { run = run, from = a.from }, { run = least_done(with_seeds_of({ run }, of_b)), from = b.from }
end

--- All of that for two finds as text.
function run_comparison.text(a, b)
  a, b = in_common_seed(a, b)
  local lines = { "RUNS" }
  add_line(lines, "run_id", a.run.run_id, b.run.run_id)
  add_facts(lines, a.run, b.run)
  add_options(lines, a.run, b.run)
  lines[#lines + 1] = "\nMETRICS (means over the seeds of both, where each has its own), and the second less the first"
  add_metrics(lines, a, b)
  add_curves(lines, a, b)
  return text_of(lines)
end

return run_comparison
