-- "Encoding Recurrence into Transformers", Figure 3, first panel: the gates of RSA-Informer on time series, from the runs
-- of Table 1. The mean over a model's attentions is drawn; the gate of each is in runs.csv (layer_1_rsa_gate ...).
local lh = require "longhaul"
local series = lh.include "series.lua"

local bench = lh.experiment("rsa-figure3", { runs = "rsa-table1" })
bench:seeds(series.seeds)

for _, name in ipairs(series.names) do
  for _, pred_len in ipairs(series.horizons[name]) do
    local setting = series.setting(name, pred_len)
    for _, row in ipairs(series.rows) do
      local label, slug, model = table.unpack(row)
      if label:match "^RSA" then
        bench:row { label, slug = slug, dataset = setting.dataset, model = model(setting), task = series.task(setting),
          train = series.train(setting) }
      end
    end
  end
end

bench:plot { "bars", y = "rsa_gate", title = "RSA, Figure 3: mean gate" }
bench:table { columns = { "rsa_gate" } }

return bench
