-- Block-Recurrent Transformer, Table 1: one recurrent layer against longer windows, a 13th layer,
-- feedback and a nearest-neighbour memory.
-- At `study` 7.5 hours of two cores.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "brt-table1"
bench:seeds(setting.seeds)

local window, layers, long = setting.size.window, setting.size.layers, setting.long

local rows = {}
local function add(label, model, segment) rows[#rows + 1] = { label, model, segment } end

for _, row in ipairs(setting.windows) do add(table.unpack(row)) end
add("Slide:12L", lh.models.slide(setting.model()), long)
add("Slide:13L", lh.models.slide(setting.model { layers = layers + 1 }), long)
for _, gate in ipairs { "lstm", "fixed" } do
  for _, layout in ipairs { "dual", "single", "skip" } do
    local cell = gate .. ":" .. layout
    add("Rec:" .. cell, lh.models.brt(setting.model { recurrence = cell }), long)
  end
end
for _, cell in ipairs { "lstm:single", "fixed:skip" } do
  add("Feedback:" .. cell, lh.models.brt(setting.model { recurrence = cell, feedback = true }),
    long)
end
add("Memorizing Transformer 32k", setting.memorizing(), window)

-- At `study` three seeds left open on novels by bytes what six may decide.
local seeds_on = { pg19_bytes = lh.by_scale { smoke = 1, small = 2, study = 6, gpu = 1 } }

for _, dataset in ipairs(setting.datasets) do
  for _, row in ipairs(rows) do
    bench:row {
      row[1], model = row[2], task = setting.task(dataset, row[3]), train = setting.train(dataset),
      dataset = dataset.name, seeds = seeds_on[dataset.name],
    }
  end
end

bench:table {
  columns = { "relative_step_time", "bits_per_byte", "bits_per_token" }, baseline = "Slide:13L",
  published = "brt_table1",
}
bench:plot { "pareto", x = "step_time_ms", y = "bits_per_token", frontier = true }
return bench
