-- The rows that Figures 4 and 5 draw: PG-19 validation by window, plain at several overlaps and
-- recurrent. Those of the window of Table 2 are its rows.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

-- What Table 2 calls a model with this overlap, where it has the window.
local function slug(window, model, overlap)
  return window == setting.window and ("%s:w300:o%d"):format(model, overlap) or nil
end

return function(bench)
  for _, window in ipairs(setting.windows) do
    setting.tune_plain(bench, "pg19", window, slug(window, "gpt2_small", 0))
    for _, published in ipairs { 30, 50 } do
      setting.evaluate_plain(bench, "pg19", window, setting.overlap(published), slug(window, "gpt2_small", published))
    end
    setting.tune_recurrent(bench, "pg19", window, 0, slug(window, "gpt2_recurrent", 0))
  end
end
