-- Block-Recurrent Transformer, Table 2: twice the heads and twice the feed-forward network.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "brt-table2"
bench:seeds(setting.seeds)

local size = setting.size
local large = { heads = 2 * size.heads, head_width = size.width // size.heads,
  hidden = 8 * size.width }

local function with(more) return setting.model(lh.merged(large, more)) end

-- Four times the replicas at full size (section 4.5).
local times = lh.by_scale { smoke = 1, paper = 4 }
local steps = lh.by_scale { smoke = false, paper = 200e3 } -- false: those of setting.train
-- The paper's tokens where the scale has them, else the first corpus.
local dataset = setting.datasets[1]
for _, other in ipairs(setting.datasets) do
  if other.name == "pg19_tokens" then dataset = other end
end

for _, row in ipairs {
  { "Slide:13L:large", lh.models.slide(with { layers = size.layers + 1 }) },
  { "Rec:lstm:single:large", lh.models.brt(with { recurrence = "lstm:single" }) },
  { "Rec:fixed:skip:large", lh.models.brt(with { recurrence = "fixed:skip" }) },
} do
  bench:row {
    row[1], model = row[2], task = setting.task(dataset, 8 * size.window, times),
    train = setting.train(dataset, steps), dataset = dataset.name,
  }
end

-- Quoted by the paper: three times the layers, block, memory and compressed memory of the window
-- (Rae et al. 2019, section 5.1).
bench:row {
  "Compressive Trans. (36 layer)",
  model = lh.models.compressive {
    layers = 3 * size.layers, width = size.width, heads = size.heads,
    block = size.window, memory = size.window, compressed_memory = size.window,
    dropout = setting.dropout, initial_deviation = setting.deviation,
  },
  task = setting.task(dataset, size.window, times), train = setting.train(dataset, steps),
  dataset = dataset.name,
}

-- Quoted, too: the released configuration for PG-19, with blocks of half a window and 16 clusters of a
-- window's tokens, a quarter of the last layer's heads routed.
bench:row {
  "Routing Trans. (22 layer)",
  model = lh.models.routing {
    layers = 22 * size.layers // 12, width = lh.by_scale { smoke = size.width, paper = 1032 },
    heads = size.heads, hidden = lh.by_scale { smoke = 4 * size.width, paper = 4096 },
    window = size.window // 2, clusters = 16, longest_distance = size.window,
    routing_layers = 1, routing_heads = math.max(1, size.heads // 4), dropout = setting.dropout,
  },
  task = setting.task(dataset, 16 * size.window, times), train = setting.train(dataset, steps),
  dataset = dataset.name,
}

bench:table {
  columns = { "parameters", "relative_step_time", "bits_per_token", "word_perplexity" },
  baseline = "Slide:13L:large",
  published = "brt_table2", datasets = { pg19_bytes = "" },
}
return bench
