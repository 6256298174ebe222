-- The recurrence encodings that experiments/rsa runs are those of Huang et al. 2023, Table 5.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local plan = require "longhaul.run.plan"
local scales = require "longhaul.run.scales"
local script = require "longhaul.script"

-- A cell of RSA-XL is printed twice, differently (rsa_xl:alt: not run). Two cells print five counts
-- of six; they add up to the eight dilations beside them, so what is lost is a zero.
local misprint = { ["(0,0,0,4,4)"] = "(0,0,0,0,4,4)" }

local function numbers(text)
  local list = {}
  for number in text:gmatch "%d+" do list[#list + 1] = number end
  return table.concat(list, ",")
end

t.test("heads and dilations of every cell", function()
  local bench, rows = script.load("experiments/rsa/table5.lua", { scale = "paper" }), {}
  for _, row in ipairs(bench.rows) do rows[row.slug .. " " .. row.dataset] = row.model end
  local option = { rem_head_counts = "rsa_kinds", dilation_factors = "rsa_dilation" }
  local seen = { rsa_kinds = 0, rsa_dilation = 0 }
  for _, record in ipairs((csv.read "results/published/rsa_table5.csv")) do
    local name, model = option[record.metric], rows[record.model .. " " .. record.row]
    if name and model then
      t.equal(numbers(model:spelled(name) or ""), numbers(misprint[record.value] or record.value))
      seen[name] = seen[name] + 1
    end
  end
  t.equal(#bench.rows, 48)
  t.equal(seen.rsa_kinds, 48)
  t.equal(seen.rsa_dilation, 44) -- four cells have no dilated heads
end)

t.test("rows that are only timed read few windows at every scale, at `small` those of kept runs", function()
  for _, scale in ipairs(scales) do
    for _, row in ipairs(script.load("experiments/rsa/figure7.lua", { scale = scale }).rows) do
      t.equal(row.task:option "evaluate_windows", scale == "smoke" and 16 or 1024)
    end
  end
end)

-- A memory needs windows that move on by no more than they observe, at every horizon.
t.test("XL forecasts every horizon at every scale", function()
  for _, scale in ipairs(scales) do
    local settings = { scale = scale, device = "cpu", results = "none", seeds = 1 }
    local runs, declared = plan.of(script.load("experiments/rsa/table1.lua", settings), settings), 0
    for _, run in ipairs(runs) do
      if run.row.model.name == "series_xl" then
        local info = identity.task_info(run.row.task)
        t.check(core.describe(run.row.model.options, info, info.length).total > 0)
        declared = declared + 1
      end
    end
    t.equal(declared, #runs // 3, scale) -- Informer, LogSparse and this
  end
end)

-- ---- Readings of the regular languages --------------------------------------------------------

local function rows_of(experiment, scale)
  return script.load(("experiments/rsa/%s.lua"):format(experiment), { scale = scale }).rows
end

-- What makes a run what it is, without the place that it has in a script.
local function setting_of(row)
  return table.concat({ row.model.text, row.task.text, row.train.text }, " ")
end

t.test("every reading is tried on all languages in the same cases, over three seeds from `study` on", function()
  for scale, expected in pairs { smoke = { 16, 12, 1 }, study = { 8, 12, 3 }, medium = { 36, 24, 3 } } do
    local bench, cells, readings = script.load("experiments/rsa/readings.lua", { scale = scale }), {}, 0
    for _, row in ipairs(bench.rows) do
      if not cells[row.label] then readings = readings + 1 end
      cells[row.label] = (cells[row.label] or 0) + 1
      t.equal(row.seeds or bench.default_seeds, expected[3])
    end
    t.equal(readings, expected[1])
    for _, count in pairs(cells) do t.equal(count, expected[2]) end
  end
end)

-- Table 2's reading of RSA-Transformer in words of readings.lua, and how many of its rows are rows
-- there.
local function reading_of_table2(scale)
  local tried, found, count = {}, nil, 0
  for _, row in ipairs(rows_of("readings", scale)) do tried[setting_of(row)] = row.label end
  for _, row in ipairs(rows_of("table2", scale)) do
    local label = tried[setting_of(row)]
    if label then
      t.equal(label, found or label)
      found, count = label, count + 1
    end
  end
  return found, count
end

t.test("Table 2 has one of the readings that are tried, for clipping and rate in all of its rows", function()
  for scale, cells in pairs { study = 12, medium = 24 } do
    local _, count = reading_of_table2(scale)
    t.equal(count, cells)
    local trainings = {}
    for _, row in ipairs(rows_of("table2", scale)) do
      trainings[row.dataset] = trainings[row.dataset] or row.train.text
      t.equal(row.train.text, trainings[row.dataset])
    end
  end
end)

-- The reading with the least mean error of validation strings, whatever those of the test say.
local function best_reading(records)
  local sums, counts, best = {}, {}, nil
  for _, record in ipairs(records) do
    local error_percent = tonumber(record.valid_error_percent) or 100 -- diverged: no string is right
    sums[record.row] = (sums[record.row] or 0) + error_percent
    counts[record.row] = (counts[record.row] or 0) + 1
  end
  for label, sum in pairs(sums) do
    if not best or sum / counts[label] < sums[best] / counts[best] then best = label end
  end
  return best
end

t.test("the best reading is that of the least validation error", function()
  t.equal(best_reading {
    { row = "a", valid_error_percent = "10", accuracy_bin0 = "1" },
    { row = "a", valid_error_percent = "50", accuracy_bin0 = "1" },
    { row = "b", valid_error_percent = "20", accuracy_bin0 = "0" },
    { row = "b", valid_error_percent = "30", accuracy_bin0 = "0" },
    { row = "c", valid_error_percent = "0" }, { row = "c", valid_error_percent = "" },
  }, "b")
end)

t.test("where all readings have been run, Table 2 has the best of them", function()
  local planned = 3 * #rows_of("readings", "study")
  local found = io.popen "ls results/reference/*/rsa-readings/runs.csv 2>/dev/null"
  for path in found:lines() do
    local runs = {}
    for _, record in ipairs((csv.read(path))) do
      if record.scale == "study" then runs[#runs + 1] = record end
    end
    if #runs >= planned then
      t.equal((reading_of_table2 "study"), best_reading(runs),
        path .. ": set `chosen` in experiments/rsa/regular_languages.lua")
    end
  end
  found:close()
  t.check((reading_of_table2 "study"), "Table 2 has a reading")
end)

t.finish()
