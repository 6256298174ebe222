-- Block-Recurrent Transformer, section 4.5: where the recurrent layers stand, the window, the
-- number of states.
-- At `study` 1.2 hours of two cores.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "brt-ablations"
bench:seeds(setting.seeds)

local size, dataset = setting.size, setting.datasets[1]
local train = setting.train(dataset)

local task = setting.task(dataset, 8 * size.window)

local function add(label, class, options)
  bench:row {
    label, model = lh.models[class](setting.model(options)), train = train, task = task,
    dataset = dataset.name,
  }
end

-- Two recurrent layers next to each other (9 and 10 of 12) and apart (4 and 10), beside one and
-- beside a 13th layer. Of three or four layers the fourth and the tenth are next to each other: there
-- is no row of two apart.
local tenth = size.layers - 2
add("one layer", "brt", { recurrent_layers = { tenth } })
local ninth = math.max(1, tenth - 1)
add("two adjacent", "brt", { recurrent_layers = { ninth, ninth + 1 } })
local fourth = math.max(1, size.layers // 3)
if tenth - fourth > 1 then add("two apart", "brt", { recurrent_layers = { fourth, tenth } }) end
add("13th layer", "slide", { layers = size.layers + 1 })

-- The window, with and without recurrence; segments and states stay what they are.
for _, window in ipairs { size.window // 4, size.window // 2 } do
  add(("window %d slide"):format(window), "slide", { window = window, layers = size.layers + 1 })
  add(("window %d rec"):format(window), "brt", { window = window, states = size.window })
end

-- The number of states.
for _, states in ipairs { size.window // 4, size.window // 2, 2 * size.window, 4 * size.window } do
  add(("states %d"):format(states), "brt", { states = states })
end

bench:table { columns = { "bits_per_token", "relative_step_time", "parameters" },
  baseline = "13th layer" }
bench:plot { "pareto", x = "flops_per_token", y = "bits_per_token" }
return bench
