-- Two runs side by side: which options differ, their metrics, their curves at the same steps, and the
-- difference of their configurations over the seeds that both have.
local csv = require "longhaul.run.csv"
local fold = require "longhaul.run.fold"
local metrics = require "longhaul.run.metrics"
local option_text = require "longhaul.run.option_text"
local paired = require "longhaul.report.paired"
local quote = require "longhaul.run.quote"

local run_comparison = {}

--- The run whose id begins so, and its store: { run =, from = }. Fails where there is none, or where
--- several do. A run that lies in several folders is that of the first.
function run_comparison.find(stores, beginning)
  local found, ids = nil, {}
  for _, from in ipairs(stores) do
    for _, run in ipairs(from:rows()) do
      if run.run_id:sub(1, #beginning) == beginning and not ids[run.run_id] then
        found = found or { run = run, from = from }
        ids[run.run_id], ids[#ids + 1] = true, run.run_id
      end
    end
  end
  if not found then
    error(("no run '%s'; `longhaul query` lists them"):format(beginning), 0)
  end
  if #ids > 1 then
    error(("'%s' begins the ids of %d runs: %s"):format(beginning, #ids,
      table.concat(ids, ", ", 1, math.min(#ids, 8))), 0)
  end
  return found
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

local function add_options(lines, kind, a, b)
  local column = kind .. "_options"
  for _, pair in ipairs(option_text.differences(a[column] or "", b[column] or "")) do
    add_line(lines, kind .. "." .. pair[1], pair[2], pair[3])
  end
end

-- ---- metrics ----

-- "+0.021 ± 0.004 (standard error) over 3 seeds": b less a, seed by seed; nil for none.
local function difference(a, b, name)
  local list = paired.differences(a, b, name)
  if #list == 0 then return nil end
  local text = paired.text(name, list)
  return #list == 1 and text .. ", one seed" or ("%s (standard error) over %d seeds"):format(text, #list)
end

local function add_metrics(lines, a, b)
  for _, column in ipairs(metrics.all()) do
    local name = column.name
    local x, y = tonumber(a.run[name]), tonumber(b.run[name])
    if x or y then
      local pairs_say = metrics.is_by_seed(name)
        and a.run.configuration ~= b.run.configuration and difference(a, b, name)
      add_line(lines, metrics.label(name), metrics.text(name, x), metrics.text(name, y),
        pairs_say or x and y and metrics.difference(name, y - x))
    end
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

local function add_curves(lines, a, b)
  local of_a, of_b = curve_of(a), csv.by(curve_of(b), "step")
  local by_a = csv.by(of_a, "step")
  for _, name in ipairs(metrics.losses()) do
    local begun = false
    for _, step in ipairs(common_steps(of_a, of_b)) do
      local x, y = tonumber(by_a[step][name]), tonumber(of_b[step][name])
      if x and y then
        if not begun then lines[#lines + 1] = "\nCURVES, " .. metrics.curve_title(name) end
        begun = true
        add_line(lines, "step " .. step, ("%.4f"):format(x), ("%.4f"):format(y),
          ("%+.4f"):format(y - x))
      end
    end
  end
end

--- All of that for two finds as text.
function run_comparison.text(a, b)
  local lines = { "RUNS" }
  add_line(lines, "run_id", a.run.run_id, b.run.run_id)
  add_facts(lines, a.run, b.run)
  local options = {}
  for _, kind in ipairs { "model", "task", "train" } do add_options(options, kind, a.run, b.run) end
  lines[#lines + 1] = #options > 0 and "\nOPTIONS that differ" or "\nOPTIONS are the same"
  table.move(options, 1, #options, #lines + 1, lines)
  lines[#lines + 1] = "\nMETRICS, and the second less the first"
  add_metrics(lines, a, b)
  add_curves(lines, a, b)
  return text_of(lines)
end

return run_comparison
