-- What RSA's regular languages depend on that the paper leaves open: clipping, of which it says
-- nothing; the signs of the first etas, which it draws from [-2, -1] and [1, 2]; whether positions
-- stay beside the encodings; and the rate, of which it names one. Every reading on every language;
-- the one for Table 2 is chosen by the validation strings, never by those of the test.
-- At `study` 4.8 hours of two cores, with table2.
local lh = require "longhaul"
local languages = lh.include "regular_languages.lua"

local bench = lh.experiment "rsa-readings"
bench:seeds(languages.seeds)

local function axis(name, values) return { name, table.unpack(values) } end

-- Cases I and IV have every kind of head between them. Etas by turns from -2 on, and positions of the
-- embeddings, which are for strings as long as those of training, wait for a bigger machine.
local etas = lh.by_scale { smoke = { "even", "negative" }, medium = { "even", "negative", "mirrored" } }
local positions = lh.by_scale {
  smoke = { "none", "relative" }, medium = { "none", "relative", "sinusoidal" },
}
local rates = lh.by_scale { smoke = { 0.005, 0.002 }, study = { 0.005 }, medium = { 0.005, 0.002 } }
local cases = lh.by_scale { smoke = { "I", "IV" }, medium = { "I", "II", "III", "IV" } }

for point in lh.grid {
  { "clip", 0, 0.25 }, axis("etas", etas),
  axis("rate", rates), axis("positions", positions), axis("case", cases),
} do
  for _, name in ipairs(languages.names) do
    bench:row {
      point, dataset = ("%s, case %s"):format(name, point.case),
      label = ("clip %g, %s etas, rate %g, positions %s"):format(point.clip, point.etas, point.rate,
        point.positions),
      model = languages.rsa(point.case, point), task = languages.task(name),
      train = languages.train(name, point),
    }
  end
end

bench:table { columns = { "valid_error_percent", "accuracy_bin0", "accuracy_bin1" } }
return bench
