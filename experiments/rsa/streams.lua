-- What RSA's differences between language models owe to how a corpus is read: its documents in an
-- order drawn anew, the memory afresh at each, as here below scale `paper`; or joined, each row of a
-- batch going through its part from end to end, as Transformer-XL's code (docs/fidelity.md).
local lh = require "longhaul"
local language = lh.include "language.lua"

local bench = lh.experiment "rsa-streams"
bench:seeds(language.seeds)

for _, read in ipairs { { "documents", "none" }, { "streams", "streams" } } do
  for _, label in ipairs { "XL", "RSA-XL" } do
    bench:row {
      label .. ", " .. read[1], dataset = "enwik8", model = language.model("enwik8", label),
      task = language.task("enwik8"):with { subsequences = read[2] },
      train = language.train "enwik8",
    }
  end
end

bench:table { columns = { "bits_per_byte", "valid_bits_per_byte", "rsa_gate" },
  baseline = "XL, documents" }
return bench
