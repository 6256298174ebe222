-- Staircase, Figure 2: every task by the number of recurrent steps at equal parameters, mean and
-- deviation over seeds. One recurrent step is the cached staircase, which computes once and still
-- carries its states through time.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "staircase-figure2"

-- Models are a label, a model, its recurrent steps and what Table 1 or, with dialogue, Table 2 calls it, where it does.
local function add(dataset, task, train, seeds, models)
  for _, row in ipairs(models) do
    for point in lh.grid { { "steps", row[3] } } do
      bench:row {
        point, label = row[1], published_row = row[4], model = row[2], task = task, train = train, seeds = seeds,
        dataset = dataset,
      }
    end
  end
end

local tracking = setting.tracking
for _, task in ipairs(tracking.tasks) do
  local models = {
    { "Cached Staircase",
      setting.tracker("cached_staircase", { forward_size = task.cached, step_size = task.step }),
      1 },
  }
  for _, steps in ipairs { 2, 4 } do
    models[#models + 1] = {
      ("Staircase, N = %d"):format(steps),
      setting.tracking_staircase(task, steps), steps, steps == 2 and "staircase" or nil,
    }
  end
  add(task.name, task.task, task.train, tracking.seeds, models)
end

local language = setting.language
for i = 1, 2 do
  local corpus = language.corpora[i]
  local models = { { "Cached Staircase", setting.cached(language.step_size // 2), 1 } }
  for _, steps in ipairs { 2, 4, 8 } do
    local called = corpus.name == setting.reddit.name and "staircase:r" .. steps
      or steps == 8 and "staircase" or nil
    models[#models + 1] = { ("Staircase, N = %d"):format(steps), setting.staircase(steps), steps, called }
  end
  add(corpus.name, corpus.task, language.train, language.seeds, models)
end

local class_names = { cached_staircase = "Cached Staircase", staircase = "Staircase" }
for _, dataset in ipairs(tracking.tasks) do
  bench:plot {
    "lines", x = { "steps", log = true }, x_title = "recurrent steps", y = "error_percent", group = "class",
    group_names = class_names, band = "seeds",
    dataset = dataset.name, name = "steps-" .. dataset.name, published = "staircase_table1",
  }
end
for i, metric in ipairs { "bits_per_byte", "valid_perplexity" } do
  bench:plot {
    "lines", x = { "steps", log = true }, x_title = "recurrent steps", y = metric, group = "class",
    group_names = class_names, band = "seeds",
    dataset = language.corpora[i].name, name = "steps-" .. language.corpora[i].name,
    published = "staircase_table" .. i,
  }
end
return bench
