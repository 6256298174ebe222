-- The claims of the Reformer paper (Kitaev et al. 2020): the predicates of
-- results/published/predicates.csv, over Tables 2 and 4, and what its figures show without numbers.
local lh = require "longhaul"
local p = lh.predicate
local all, each, less, at_most, equal = p.all, p.each, p.less, p.at_most, p.equal

local table2, table4 = lh.include "table2.lua", lh.include "table4.lua"

-- ---- cells ----

-- Accuracy on duplication, in percent, by the attention that was trained and the one that is
-- evaluated.
local function RF2(trained, evaluated)
  return p.cell(("RF2(%s, %s)"):format(trained, evaluated), {
    experiment = table2, published = "reformer_table2",
    row = ("%s | %s"):format(trained, evaluated),
    dataset = "duplication", metric = "accuracy",
  })
end

local function BLEU(m)
  return p.cell(("BLEU(%s)"):format(m), {
    experiment = table4, published = "reformer_table4", row = m,
    dataset = "wmt14_ende_newstest2014", metric = "bleu",
  })
end

-- ---- claims ----

-- What the scale changes.
local scale_changes = lh.by_scale {
  smoke = "a dozen steps",
  small = "width 64, words of 15 symbols, sequences of 1024 bytes, 4000 and 800 steps; "
    .. "translation of an embedded grammar",
  study = "width 64, words of 15 symbols, sequences of 1024 bytes, 4000 and 2000 steps; "
    .. "translation of programs' messages",
  medium = "width 128, words of 63 symbols, sequences of 4096 bytes",
  gpu = "width 512, fewer steps", paper = "",
}

local claims, claim = lh.claims { scale_changes = scale_changes }

claim("reformer_p016", equal(65536 * 65536 * 4, 16 * 2 ^ 30))
claim("reformer_p029", equal(2 * (511 + 1), 1024))

local full = "Full Attention"
claim("reformer_p031", equal(p.rounded(RF2(full, full), 1), 100))

local by_rounds = {}
for i, evaluated in ipairs { "LSH-8", "LSH-4", "LSH-2", "LSH-1" } do
  by_rounds[i] = RF2(full, evaluated)
end
claim("reformer_p038", all { p.not_rising(by_rounds), less(by_rounds[1], 100) })

local four_falls = p.falling { RF2("LSH-4", "LSH-4"), RF2("LSH-4", "LSH-2"), RF2("LSH-4", "LSH-1") }
claim("reformer_p039", all {
  equal(p.rounded(RF2("LSH-4", "LSH-8"), 1), 100), at_most(RF2("LSH-4", "LSH-4"), 100), four_falls,
}, { direction = all { at_most(RF2("LSH-4", "LSH-4"), RF2("LSH-4", "LSH-8")), four_falls } })

local one_falls = p.falling { RF2("LSH-4", "LSH-1"), RF2("LSH-2", "LSH-1"), RF2("LSH-1", "LSH-1") }
claim("reformer_p040", all { at_most(99.5, RF2("LSH-1", "LSH-8")), one_falls }, {
  direction = all { less(RF2("LSH-1", "LSH-1"), RF2("LSH-1", "LSH-8")), one_falls },
})

claim("reformer_p043", equal(65536 * 4096 * 16 * 4, 16 * 2 ^ 30))
claim("reformer_p056", at_most(p.abs(BLEU "reversible:base:100k" - BLEU "vaswani2017:base"), 0.5))
claim("reformer_p067", less(1.05, 1.19))

-- ---- ours: figures, whose points are not printed, and growth ----

-- What a row of an experiment has on a data set.
local function measured(experiment, row, dataset, metric)
  return p.cell(("%s(%s, %s)"):format(metric, row, dataset), {
    experiment = experiment, row = row, dataset = dataset, metric = metric,
  })
end

-- The labels of an experiment's rows that match a pattern, in its order.
local function rows(experiment, pattern)
  local labels = {}
  for _, row in ipairs(experiment.rows) do
    if row.label:find(pattern) then labels[#labels + 1] = row.label end
  end
  return labels
end

local figure3, figure4, figure5 = lh.include "figure3.lua", lh.include "figure4.lua",
  lh.include "figure5.lua"
local words, images = "enwik8-64K", "imagenet64"

local function bits(experiment, row, dataset)
  return measured(experiment, row, dataset, "bits_per_byte")
end

-- At the end of training, on both corpora.
local function at_end(make)
  return each({ words, images }, function(d)
    return make(function(row) return bits(figure3, row, d) end)
  end)
end

claim("reformer_p054", at_end(function(of) return at_most(of "Shared QK", of "Regular") end), {
  expected = "bits/dim(shared QK) <= bits/dim(regular) at the end",
  direction = at_end(function(of) return at_most(of "Shared QK", of "Regular" + 0.01) end),
  direction_says = "at most 0.01 bits above",
})

claim("reformer_p055", at_end(function(of) return at_most(p.abs(of "Reversible" - of "Regular"),
  0.03) end), {
  expected = "abs(bits/dim(reversible) - bits/dim(regular)) <= 0.03 at the end",
})

local function rounds(count) return bits(figure4, "LSH-" .. count, images) end

local all_rounds, gaps = {}, {}
for i, count in ipairs { 1, 2, 4, 8, 16 } do
  all_rounds[i] = rounds(count)
  gaps[i] = p.abs(rounds(count) - bits(figure4, full, images))
end
claim("reformer_p058", all { p.falling(all_rounds), p.falling(gaps) }, {
  direction = p.falling(all_rounds),
  direction_says = "losses fall, if not towards that of full attention",
})

claim("reformer_p059", at_most(rounds(8), bits(figure4, full, images) + 0.02), {
  expected = "bits/dim(LSH-8) <= bits/dim(full) + 0.02",
})

-- The terms of the rows that match a pattern.
local function terms_of(experiment, pattern, make)
  local terms = {}
  for i, row in ipairs(rows(experiment, pattern)) do terms[i] = make(row) end
  return terms
end

local function step_times(series)
  return terms_of(figure5, "^" .. series .. " ",
    function(row) return measured(figure5, row, "speed", "step_time_ms") end)
end
local function growth(text, terms) return p.named(text, p.greatest(terms) / p.least(terms)) end

local flat = each({ "1 hash", "2 hashes", "4 hashes", "8 hashes" }, function(hashes)
  local text = ("slowest over fastest length (LSH, %s)"):format(hashes)
  return at_most(growth(text, step_times("LSH, " .. hashes)), 1.6) -- 1.56 in the figure
end)
local full_times = step_times "Full attention"
local rising = {}
for i, term in ipairs(full_times) do rising[#full_times + 1 - i] = term end
claim("reformer_p060", all { flat, p.falling(rising) }, {
  expected = "step_time(LSH) within 1.6 over all lengths, step_time(full) rising with every length",
})

claim("reformer_p062", p.falling(
  terms_of(figure5, "^Reformer ", function(row) return bits(figure5, row, words) end)))

-- Bytes of a training step beyond values and gradients of the parameters.
local function activations(experiment)
  return function(row)
    return measured(experiment, row, "costs", "peak_memory_bytes") - 8 * measured(experiment, row,
      "costs", "parameters")
  end
end

local table1, table3 = lh.include "table1.lua", lh.include "table3.lua"

-- How memory grows over the rows of a variant.
local function memory_growth(experiment, variant, varied)
  local pattern = "^" .. variant:gsub("%-", "%%-") .. ", " .. varied .. "$"
  return growth(("most over least memory (%s)"):format(variant),
    terms_of(experiment, pattern, activations(experiment)))
end

-- By layers, at the first length and batch.
local by_layers = table3.rows[1].label:match "length %d+, batch %d+, layers " .. "%d+"
claim("reformer_p002", all {
  at_most(memory_growth(table3, "Reformer", by_layers), 1.1),
  less(2, memory_growth(table3, "LSH Transformer", by_layers)),
}, { expected = "activation memory with the number of layers: within 1.1, and beyond 2 where activations are kept" })

-- By length: the longest against the shortest.
local by_length = "length %d+, batch 1, heads 1"
local lengths = rows(table1, "^Memory%-Efficient, " .. by_length .. "$")
local function length_of(label) return tonumber(label:match "length (%d+)") end
local longer = length_of(lengths[#lengths]) / length_of(lengths[1])

claim("reformer_p018", all {
  at_most(memory_growth(table1, "Memory-Efficient", by_length), 1.1 * longer),
  less(2.5 * longer, memory_growth(table1, "Scaled Dot-Product", by_length)),
}, { expected = "memory grows with length at most 1.1 times as much; with all scores more than 2.5 times" })

return claims
