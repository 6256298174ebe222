-- The rows that Figures 4 and 5 draw: PG-19 validation by window, plain at several overlaps and recurrent.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

return function(bench)
  for _, window in ipairs(setting.windows) do
    local plain = ("GPT-2, window %d"):format(window)
    setting.tune_plain(bench, plain, "pg19", window, nil, "GPT-2, overlap 0")
    for _, published in ipairs { 30, 50 } do
      local overlap = setting.overlap(published)
      setting.evaluate_plain(bench, ("%s, overlap %d"):format(plain, overlap), "pg19", window, overlap, plain, nil,
        ("GPT-2, overlap %d"):format(overlap))
    end
    setting.tune_recurrent(bench, ("Recurrent, window %d"):format(window), "pg19", window, 0, nil, "Recurrent")
  end
end
