-- Block-Recurrent Transformer, Table 1: one recurrent layer against longer windows, a 13th layer,
-- feedback and a nearest-neighbour memory.
-- At `study` 6 hours of two cores.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "brt-table1"
bench:seeds(setting.seeds)

local window, layers = setting.size.window, setting.size.layers
local long = 8 * window -- the paper's segment: 4096 tokens at a window of 512

local rows = {}
local function add(label, model, segment) rows[#rows + 1] = { label, model, segment } end

-- Transformer-XL with one, two and four times the window: the segment is the window.
for i, name in ipairs { "XL:512", "XL:1024", "XL:2048" } do
  local wide = window * 2 ^ (i - 1) // 1 | 0
  add(name, lh.models.xl(setting.model { window = wide }), wide)
end
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
add("Memorizing Transformer 32k", lh.models.memorizing(setting.model {
  memory = 64 * window, top = lh.by_scale { smoke = 8, small = 32, gpu = 128 },
  memory_layer = layers >= 4 and -4 or 1,
}), window)

for _, dataset in ipairs(setting.datasets) do
  for _, row in ipairs(rows) do
    bench:row {
      row[1], model = row[2], task = setting.task(dataset, row[3]), train = setting.train(dataset),
      dataset = dataset.name,
    }
  end
end

bench:table {
  columns = { "relative_step_time", "bits_per_byte", "bits_per_token" }, baseline = "Slide:13L",
  published = "brt_table1",
}
bench:plot { "pareto", x = "step_time_ms", y = "bits_per_token", frontier = true }
return bench
