-- "Encoding Recurrence into Transformers", Figure 9: the gate of every attention of RSA-Informer
-- during training on ETTh1 at horizon 24, from three initial values.
-- At `study` 0.05 hours of two cores, with table7.
local lh = require "longhaul"
local series = lh.include "series.lua"

local bench = lh.experiment "rsa-figure9"
bench:seeds(series.seeds)

local setting = series.setting("ETTh1", 24)

for point in lh.grid { { "gate", -1, 0, 1 } } do
  bench:row { point, label = ("initial gate %d"):format(point.gate), dataset = setting.dataset,
    model = series.rsa_informer(setting,
      { kinds = setting.rsa[1][1], dilation = setting.rsa[1][2], gate = point.gate }),
    task = series.task(setting), train = series.train(setting) }
end

-- In the order in which the model numbers them.
local places = {}
for layer = 1, setting.layers do places[layer] = ("encoder, layer %d"):format(layer) end
for layer = 1, setting.decoder_layers do
  places[#places + 1] = ("decoder, layer %d, self-attention"):format(layer)
  places[#places + 1] = ("decoder, layer %d, cross-attention"):format(layer)
end

for i, place in ipairs(places) do
  bench:plot { "loss", y = ("layer_%d_rsa_gate"):format(i), name = ("gate-%d"):format(i),
    title = "RSA, Figure 9: gate, " .. place }
end
bench:table { columns = { "mse", "rsa_gate" } }

return bench
