-- The committed tables of the comparison are what today's program makes of the committed runs: tables and exponents,
-- each column, value, mark and tie. The runs are read as they were run, without their data.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local exponents = require "longhaul.report.exponents"
local results = require "longhaul.report.results"
local script = require "longhaul.script"
local tables = require "longhaul.report.table"
local views = require "longhaul.report.views"

local machine = "results/reference/amd-epyc-2-cores"

local function key_of(record)
  return ("%s, %s, %s"):format(record.row, record.metric or record.measure, record.dataset or record.over)
end

-- The records that the program makes of the runs, and the columns that it writes. What trials chose it knows where the
-- data are.
local function remade_table(experiment, measured)
  local shown = chart.as_recorded(experiment, measured)
  local records = tables.records(tables.build(shown, experiment.tables[1], measured))
  records[1].tuning = experiment.trials and "of the script's data" or nil
  return records, views.columns(tables.csv_columns, tables.more_columns, records)
end

-- A field as a file has it, numbers by their value.
local function value_of(field) return tonumber(field) or field or "" end

-- Names the first field of a record that is another.
local function check_record(record, committed, columns)
  t.check(committed, key_of(record) .. ": not committed")
  for _, column in ipairs(columns) do
    local now, before = value_of(record[column]), value_of(committed[column])
    local is_there = column == "tuning" and (now == "") == (before == "")
    t.check(is_there or now == before,
      ("%s, %s: %s, but %s is committed"):format(key_of(record), column, now, before))
  end
end

local function check_file(file, records, columns)
  local committed, names = csv.read(file)
  local by_key = {}
  for _, record in ipairs(committed) do by_key[key_of(record)] = record end
  t.equal(table.concat(names, " "), table.concat(columns, " "))
  t.equal(#committed, #records)
  for _, record in ipairs(records) do check_record(record, by_key[key_of(record)], columns) end
end

local function check_files(experiment, settings)
  local folder, measured = ("%s/%s/"):format(machine, experiment.name), results.of(experiment, settings)
  check_file(folder .. "table.csv", remade_table(experiment, measured))
  for _, options in ipairs(experiment.fits) do
    local records = exponents.records(experiment, options, measured)
    check_file(folder .. "exponents.csv", records, views.columns(exponents.columns, exponents.more_columns, records))
  end
end

for _, name in ipairs(core.list_folder "experiments/compare") do
  local settings = { results = machine, scale = "small", device = "cpu", recorded = true }
  local experiment = script.value("experiments/compare/" .. name, settings)
  if experiment then -- none in what the scripts include
    t.test(name .. ": its tables are those of its runs", function() check_files(experiment, settings) end)
  end
end

t.finish()
