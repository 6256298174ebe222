-- "Encoding Recurrence into Transformers", Figure 4: bits per character over the size of XL, RSA-XL
-- and FL-XL on text8 (left), over the part of enwik8 that XL and RSA-XL are trained on (middle),
-- and the gates of the latter (right). The sizes and parts are not published.
-- At `study` 2 hours of two cores.
local lh = require "longhaul"
local language = lh.include "language.lua"

local bench = lh.experiment "rsa-figure4"
bench:seeds(language.seeds)

-- FL-XL has the gates of RSA-XL, with learned matrices.
local function model(name, kind, more)
  if kind ~= "FL-XL" then return language.model(name, kind, more) end
  return language.model(name, "RSA-XL", more):with { rsa_matrix = "learned",
    segment = language.segment }
end

local widths = lh.by_scale {
  smoke = { "width", 16, 32 }, small = { "width", 32, 64, 128 }, medium = { "width", 64, 128, 256 },
  gpu = { "width", 256, 384, 512 },
}
for point in lh.grid { { "kind", "XL", "RSA-XL", "FL-XL" }, widths } do
  bench:row {
    point, dataset = "text8", model =
      model("text8", point.kind, { width = point.width, hidden = 4 * point.width }),
    task = language.task("text8"), train = language.train "text8",
  }
end

-- All there is to train on: little enough below `gpu` for a run to read it more than once.
local all = lh.by_scale { smoke = 32768, small = 262144, medium = 2097152, gpu = 9e7 }
-- The smallest part has fewer documents than a batch has rows, and is soon learnt by heart: from
-- `study` on rows read streams, and the best weights by validation count, as in the release.
local streams = lh.by_scale { smoke = "none", study = "streams" }
local best = lh.by_scale { smoke = {}, study = { keep_best = true, evaluate_every = 400 },
  gpu = { keep_best = true, evaluate_every = 4000 } }
-- What Table 3 calls those that are trained on all of it.
local full = { XL = "transformer_xl", ["RSA-XL"] = "rsa_xl" }
for point in lh.grid { { "kind", "XL", "RSA-XL" }, { "part", 30, 65, 100 } } do
  bench:row {
    point, dataset = "enwik8", model = model("enwik8", point.kind),
    published_row = point.part == 100 and full[point.kind] or nil,
    task = language.task("enwik8", all * point.part // 100):with { subsequences = streams },
    train = language.train("enwik8"):with(best),
  }
end

bench:table { columns = { "bits_per_byte", "rsa_gate", "parameters" } }
bench:plot { "lines", name = "left", dataset = "text8", x = "parameters", y = "bits_per_byte",
  group = "kind",
  band = "seeds" }
bench:plot { "lines", name = "middle", dataset = "enwik8", x = "part", x_title = "part of enwik8, %",
  y = "bits_per_byte", group = "kind", band = "seeds", published = "rsa_table3" }
bench:plot { "boxes", name = "right", dataset = "enwik8", y = "rsa_gate",
  by = function(row) return row.factors[2][2] .. "%" end,
  title = "RSA, Figure 4, right: gates of RSA-XL by the part of enwik8" }
return bench
