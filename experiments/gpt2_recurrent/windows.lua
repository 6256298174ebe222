-- The rows that Figures 4 and 5 draw: PG-19 validation by window, plain at several overlaps and
-- recurrent. Those of the window of Table 2 are its rows.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

return function(bench)
  for _, window in ipairs(setting.windows) do
    setting.tune_plain(bench, "pg19", window)
    for _, published in ipairs { 30, 50 } do
      setting.evaluate_plain(bench, "pg19", window, setting.overlap(published))
    end
    setting.tune_recurrent(bench, "pg19", window, 0)
  end
end
