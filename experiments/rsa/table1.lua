-- "Encoding Recurrence into Transformers", Table 1: errors of forecasts, Informer, LogSparse and Transformer-XL against
-- themselves with recurrence encoding.
local lh = require "longhaul"
local series = lh.include "series.lua"

local bench = lh.experiment "rsa-table1"
bench:seeds(series.seeds)

for _, name in ipairs(series.names) do
  for _, pred_len in ipairs(series.horizons[name]) do
    local setting = series.setting(name, pred_len)
    for _, row in ipairs(series.rows) do
      local label, slug, model = table.unpack(row)
      bench:row { label, slug = slug, dataset = setting.dataset, model = model(setting), task = series.task(setting),
        train = series.train(setting) }
    end
  end
end

bench:table { columns = { "mse", "mae", "parameters", "relative_step_time" }, baseline = "Informer", published = "rsa_table1" }
bench:table { name = "gates", title = "rsa-table1: mean gate of the attentions", columns = { "rsa_gate" } }

return bench
