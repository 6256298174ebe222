-- "Encoding Recurrence into Transformers", Table 6: which recurrence encodings RSA-Informer needs
-- on ETTh1, by the number of cosine and of sine heads (s), and of dilated ones (none at all, or of
-- each kind q beside 4 - 2 q regular).
-- At `study` 0.7 hours of two cores.
local lh = require "longhaul"
local series = lh.include "series.lua"

local bench = lh.experiment "rsa-table6"
bench:seeds(series.seeds)

-- k1 .. k6 of a cell, and how many of its heads are dilated (appendix E.1).
local function kinds_of(s, dilated)
  if dilated == "-" then return { 8 - 2 * s, s, s, 0, 0, 0 }, {} end
  return { 4 - 2 * s, s, s, 4 - 2 * dilated, dilated, dilated }, { 24, 24, 24, 24 }
end

for _, pred_len in ipairs(series.horizons.ETTh1) do
  local setting = series.setting("ETTh1", pred_len)
  for point in lh.grid { { "s", 0, 1, 2 }, { "dilated", "-", 0, 1, 2 } } do
    local kinds, dilation = kinds_of(point.s, point.dilated)
    bench:row { point, label = ("s %d, dilated %s"):format(point.s, point.dilated),
      slug = ("rsa_informer:s%d:sbar%s"):format(point.s, point.dilated), dataset = setting.dataset,
      model = series.rsa_informer(setting, { kinds = kinds, dilation = dilation, gate = 1 }),
      task = series.task(setting), train = series.train(setting) }
  end
end

bench:table { columns = { "mse" }, published = "rsa_table6" }

return bench
