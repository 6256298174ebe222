-- What Tables 3 and 4 show: the recurrent model, disjoint windows, reads one window of a PG-19
-- validation book and goes on in the next, so that only the inserted vector links the two. The runs
-- are those of Table 2.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

return function(name, temperature)
  local bench = lh.experiment(name, { runs = "gpt2_recurrent-table2" })
  setting.tune_recurrent(bench, "pg19", setting.window, 0, "gpt2_recurrent:w300:o0")
  bench:sample {
    row = setting.recurrent_label(setting.window, 0), tokens = setting.tokens, count = 4,
    context = setting.window, temperature = temperature,
    length = lh.by_scale { smoke = 20, small = 160, gpu = 80 },
  }
  return bench
end
