-- Rivals of the Block-Recurrent Transformer in the setting of its Table 1: what the paper quotes from
-- elsewhere (Compressive, Routing) or leaves out (Recurrent memory, Linear attention, Mamba-2, Gated
-- DeltaNet), each with the parameters of Slide:13L, on the same segments, tokens and training.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "brt-rivals"
bench:seeds(setting.seeds)

local size = setting.size
local width, heads, window = size.width, size.heads, size.window
local core = { layers = size.layers, width = width, heads = heads }
local segment = 8 * window

local function with(more) return lh.merged(core, { dropout = setting.dropout }, more) end

local slide = lh.models.slide(setting.model { layers = size.layers + 1 })

-- A layer of Mamba-2 has no feed-forward network beside it, hence twice as many; its states and heads are
-- no larger than the release's. Heads, memories and states else in the proportions of their papers.
local rivals = {
  { "Compressive", lh.models.compressive(with {
    block = window, memory = window, compressed_memory = window, initial_deviation = setting.deviation,
  }) },
  { "Recurrent memory", lh.models.rmt(with {
    block = window, memory_tokens = (window + 7) // 8, initial_deviation = setting.deviation,
  }) },
  { "Routing", lh.models.routing(with {
    window = window // 2, clusters = segment // window, longest_distance = window,
  }) },
  { "Linear attention", lh.models.linear_attention(core) },
  { "Mamba-2", lh.models.mamba2 {
    layers = 2 * size.layers, width = width, state = math.min(width, 128), head_width = math.min(width // heads, 64),
  } },
  { "Gated DeltaNet", lh.models.gated_deltanet(lh.merged(core, {
    head_width = 3 * width // (4 * heads), hidden = 8 * width // 3,
  })) },
}

local function add(dataset, label, model)
  bench:row {
    label, model = model, task = setting.task(dataset, segment), train = setting.train(dataset),
    dataset = dataset.name,
  }
end

for _, dataset in ipairs(setting.datasets) do
  add(dataset, "Slide:13L", slide)
  add(dataset, "Rec:fixed:skip", lh.models.brt(setting.model { recurrence = "fixed:skip" }))
  local task = setting.task(dataset, segment)
  local budget = lh.parameters(slide, task)
  for _, rival in ipairs(rivals) do
    add(dataset, rival[1], lh.match { rival[2], task = task, parameters = budget })
  end
end

bench:table {
  columns = { "relative_step_time", "bits_per_byte", "bits_per_token", "state_bytes", "parameters" },
  baseline = "Slide:13L", published = "brt_table1",
}
bench:plot { "pareto", x = "step_time_ms", y = "bits_per_token", frontier = true }
return bench
