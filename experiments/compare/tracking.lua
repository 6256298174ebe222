-- The comparison on state tracking: where an agent stands, what a program prints, whether a string
-- belongs to a regular language, also where it is longer than any of training.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compare-tracking"
bench:seeds(setting.seeds)

local span = lh.by_scale { smoke = 8, small = 16, medium = 32, gpu = 64 }
local length = 4 * span

local rows = lh.by_scale { smoke = 4, small = 32, gpu = 128 }
local episodes = { evaluate_episodes = lh.by_scale { smoke = 16, small = 256, gpu = 1000 }, episodes = 0 }
local walk = lh.by_scale {
  smoke = { grid = 2, steps = 12 }, small = { grid = 3, steps = 60 }, medium = { grid = 8, steps = 200 },
  paper = { grid = 8, steps = 400 },
}
local program = lh.by_scale {
  smoke = { variables = 1, statements = 5, largest = 3 },
  small = { variables = 1, statements = 30, largest = 5 },
  medium = { variables = 3, statements = 100, largest = 10 },
}

local function stream(task, options)
  return function(segment)
    return task(lh.merged(episodes, options, { segment = segment, batch = rows }))
  end
end

-- The strings that are evaluated go from lengths of training to twice as long.
local function strings(language)
  return function()
    return lh.tasks.regular_language {
      language = language, batch = lh.by_scale { smoke = 8, small = 32 },
      strings = lh.by_scale { smoke = 160, small = 0 },
      evaluate_strings = lh.by_scale { smoke = 32, small = 512 },
    }
  end
end

local streams = {
  random_walk = stream(lh.tasks.random_walk, walk), algorithm = stream(lh.tasks.algorithm, program),
}
-- Of 22 rows 17 and 16 chose the least of the rates that training of as few steps has elsewhere.
local rates = { algorithm = setting.lower_rates, parity = setting.lower_rates }

for _, name in ipairs { "random_walk", "algorithm" } do
  setting.add(bench, setting.rows { task = streams[name], span = span, length = length }, name,
    { by = "valid_error_percent", rates = rates[name] })
end

-- Strings of up to 200 letters, which lie in segments of 50, 100 or 200. Logits over the root of a
-- vocabulary of two letters are so large in a sliding window's first step that answers of yes or no
-- stand at 0 or 1 and learn nothing. Rates are chosen by the loss, since after a few steps no string
-- may be right as a whole, whatever the rate.
-- From `medium` on also the other languages of the same benchmark.
local languages = lh.by_scale {
  smoke = { "parity", "d2", "d4", "tomita3", "tomita5", "tomita6" },
  medium = { "parity", "d2", "d3", "d4", "d12", "tomita1", "tomita2", "tomita3", "tomita4", "tomita5", "tomita6",
    "tomita7", "aa", "aaaa", "abab" },
}
for _, language in ipairs(languages) do
  setting.add(bench, setting.rows {
    task = strings(language), span = 10, length = 200, whole = true, logit_divisor = "sqrt_width",
  }, language, { by = "valid_mse", rates = rates[language] })
end

bench:table {
  columns = { "error_percent", "accuracy_bin0", "accuracy_bin1", "relative_step_time", "parameters" },
  baseline = "Sliding window",
}
return bench
