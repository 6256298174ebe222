-- What RSA's regular languages depend on that the paper leaves open: clipping, of which it says
-- nothing; the signs of the first etas, which it draws from [-2, -1] and [1, 2]; and the rate, of
-- which it names one. Every reading on every language and case; one is chosen for Table 2 by the
-- validation strings, never by those of the test.
-- At `study` 3.6 hours of two cores, with table2.
local lh = require "longhaul"
local languages = lh.include "regular_languages.lua"

local bench = lh.experiment "rsa-readings"
bench:seeds(1)

local cases = { "I", "II", "III", "IV" }

for point in lh.grid {
  { "clip", 0, 0.25 }, { "etas", "even", "negative" }, { "rate", 0.005, 0.002 },
  { "case", table.unpack(cases) },
} do
  local model
  for i, name in ipairs(cases) do
    -- behind the two Transformers without encodings
    if name == point.case then model = languages.models[2 + i][3] end
  end
  for _, name in ipairs(languages.names) do
    bench:row {
      point, dataset = name,
      label = ("%s, clip %g, %s etas, rate %g"):format(point.case, point.clip, point.etas, point.rate),
      model = model:with { rsa_spread = point.etas }, task = languages.task(name),
      train = languages.train(name, { clip = point.clip, rate = point.rate }),
    }
  end
end

bench:table { columns = { "valid_accuracy", "accuracy_bin0", "accuracy_bin1" } }
return bench
