-- The claims of the Block-Recurrent Transformer paper (Hutchins et al. 2022): the predicates of
-- results/published/predicates.csv, over Tables 1 and 2.
local lh = require "longhaul"
local p = lh.predicate
local all, each, less, at_most, equal = p.all, p.each, p.less, p.at_most, p.equal

local table1, table2, ablations = lh.include "table1.lua", lh.include "table2.lua",
  lh.include "ablations.lua"

-- ---- cells ----

-- Bits of a model on a data set.
local function B(m, d)
  return p.cell(("B(%s, %s)"):format(m, d), {
    experiment = table1, published = "brt_table1", row = m, dataset = d,
    metric = d == "pg19_bytes" and "bits_per_byte" or "bits_per_token",
  })
end

-- Step time relative to Slide:13L.
local function BST(m)
  return p.cell(("BST(%s)"):format(m), {
    experiment = table1, published = "brt_table1", row = m, metric = "relative_step_time",
  })
end

-- What seeds share of a model, mean over the data sets unless one is named; the paper has it in words
-- alone, and counts parameters without the embedding, of which bytes need the least.
local function cost(metric, m, dataset)
  return p.cell(("%s(%s)"):format(metric, m),
    { experiment = table1, row = m, metric = metric, dataset = dataset })
end
local function parameters(m) return cost("parameters", m, "pg19_bytes") end
local function memory(m) return cost("peak_memory_bytes", m) end

-- Table 2.
local function large(m, column, metric, dataset)
  return p.cell(("BRT2(%s, %s)"):format(m, column), {
    experiment = table2, published = "brt_table2", row = m, metric = metric, dataset = dataset,
  })
end
local function large_bits(m) return large(m, "bits_per_token", "bits_per_token", "pg19_tokens") end
local function large_perplexity(m)
  return large(m, "perplexity", "word_perplexity", "pg19_tokens")
end

-- ---- models and data sets ----

local rec, gates = {}, { "dual", "single", "skip" }
for _, cell in ipairs { "lstm", "fixed" } do
  for _, gate in ipairs(gates) do rec[#rec + 1] = ("rec:%s:%s"):format(cell, gate) end
end
local base = { "xl:512", "xl:1024", "xl:2048", "slide:12l", "slide:13l" }
local four = { "pg19_bytes", "pg19_tokens", "arxiv", "github" }
local three = { "pg19_bytes", "pg19_tokens", "arxiv" }
local pg19 = { "pg19_bytes", "pg19_tokens" }
local best, long, deep = "rec:fixed:skip", "xl:2048", "slide:13l"
local with_feedback = { "lstm:single", "fixed:skip" }

-- Those of a list that are not `other`.
local function without(list, other)
  local rest = {}
  for _, name in ipairs(list) do
    if name ~= other then rest[#rest + 1] = name end
  end
  return rest
end

-- Predicates make(m, d) for all models and data sets that the table has a number for.
local function everywhere(models, datasets, make)
  local parts = {}
  for _, m in ipairs(models) do
    for _, d in ipairs(datasets) do
      if p.is_printed(B(m, d)) then parts[#parts + 1] = make(m, d) end
    end
  end
  return all(parts)
end

-- The lowest bits of the models prefix .. gate that have a number on a data set.
local function best_of(prefix, d)
  local terms = {}
  for _, gate in ipairs(gates) do
    if p.is_printed(B(prefix .. gate, d)) then terms[#terms + 1] = B(prefix .. gate, d) end
  end
  return p.named(("min over g of B(%sg, %s)"):format(prefix, d), p.least(terms))
end

local function below_long(datasets)
  return each(datasets, function(d) return less(B(best, d), B(long, d)) end)
end

-- Feedback over no feedback.
local function feedback_cost(g) return BST("feedback:" .. g) / BST("rec:" .. g) end

-- ---- claims ----

-- What the scale changes.
local scale_changes = lh.by_scale {
  smoke = "a dozen steps",
  small = "4 layers of width 64, windows of 32 to 128 bytes, 500 steps over pieces of 8 KiB: "
    .. "documents offer little beyond a "
    .. "window, and so narrow a model spends little of a step on attention, so that wider windows cost little",
  study = "12 layers of width 32, windows of 32 to 128 bytes, 2000 steps over pieces of 8 KiB",
  medium = "4 layers of width 64, windows of 64 to 256 bytes, 4000 steps over pieces of 32 KiB",
  gpu = "width 512, windows of 256 to 1024, a tenth of the steps", paper = "",
}

local claims, claim = lh.claims { scale_changes = scale_changes }

local function takes_as_long(m) return at_most(p.abs(BST(m) - 1.0), 0.10) end
claim("brt_p001", each(rec, takes_as_long), {
  asks = each(rec, function(m)
    return all { takes_as_long(m), at_most(p.abs(parameters(m) / parameters(deep) - 1), 0.10) }
  end),
  expected = "step time and parameters of every single-layer rec:* model lie within 10 percent of "
    .. "slide:13l's",
})

claim("brt_p002", all { below_long(three), at_most(2, BST(long) / BST(best)) }, {
  direction = all { below_long(three), less(1, BST(long) / BST(best)) },
})

claim("brt_p006", each(three, function(d)
  return less(B("slide:12l", d) - B(deep, d), B("slide:12l", d) - B(best, d))
end), {
  asks = all {
    each(three, function(d) return less(B(best, d), B(deep, d)) end),
    at_most(BST(best), 1.10), at_most(memory(best) / memory(deep), 1.10),
  },
  expected = "bits(rec:fixed:skip) < bits(slide:13l) on pg19_bytes, pg19_tokens and arxiv, with at most "
    .. "10 percent more step time and peak memory",
})

claim("brt_p028", each(with_feedback,
  function(g) return p.between(1.30, feedback_cost(g), 1.40) end), {
  direction = each(with_feedback, function(g) return less(1, feedback_cost(g)) end),
})

local beats_long = everywhere(rec, three, function(m, d) return less(B(m, d), B(long, d)) end)

-- It beats XL:2048, which takes so many times as long.
local function beats_and_outruns(times)
  return all { beats_long, each(rec, function(m) return less(times, BST(long) / BST(m)) end) }
end
claim("brt_p049", beats_long, {
  asks = beats_and_outruns(2), direction = beats_and_outruns(1),
  direction_says = "lower bits than xl:2048, which is slower, if not twice as slow",
  expected = "for every rec:* model bits(rec) < bits(xl:2048) on every dataset, and "
    .. "step_time(xl:2048) > 2 * step_time(rec)",
})

claim("brt_p051", less(0.910, B("feedback:fixed:skip", "pg19_bytes")),
  { of_size = "bits of a million steps at full size" })

local function gain(d) return 1 - B(long, d) / B("xl:512", d) end

claim("brt_p057", all {
  each(three, function(d) return p.falling { B("xl:512", d), B("xl:1024", d), B(long, d) } end),
  each(pg19, function(d) return less(gain(d), gain "arxiv") end),
})

claim("brt_p060", each(three, function(d) return less(B("slide:12l", d), B("xl:512", d)) end))
claim("brt_p061", everywhere(rec, three, function(m, d) return less(B(m, d), B(deep, d)) end))
claim("brt_p064", equal(256 * 512, 32 * 4096))

local others = without(rec, best)
table.move(base, 1, #base, #others + 1, others)
claim("brt_p070", everywhere(others, four, function(m, d) return at_most(B(best, d), B(m, d)) end))

local quickest = all {
  each(without(rec, best), function(m) return at_most(BST(best), BST(m)) end),
  less(BST(best), BST(deep)),
}
claim("brt_p071", quickest, {
  asks = all { quickest, less(parameters(best), parameters(deep)) },
  expected = "step_time(rec:fixed:skip) = min over rec:* and < step_time(slide:13l), with fewer parameters "
    .. "than slide:13l",
})

claim("brt_p072", less(2, BST(long) / BST(best)), { direction = less(1, BST(long) / BST(best)) })
claim("brt_p073", everywhere(rec, four, function(m, d) return less(B(m, d), B(deep, d)) end))

claim("brt_p074", each(pg19, function(d)
  return p.falling { B("rec:fixed:single", d), B("rec:fixed:dual", d), B(best, d) }
end))

claim("brt_p075", each({ "single", "skip" }, function(g)
  return at_most(B("rec:fixed:" .. g, "arxiv"), B("rec:fixed:dual", "arxiv"))
end))

claim("brt_p076", each(four, function(d)
  return less(best_of("rec:fixed:", d), best_of("rec:lstm:", d))
end))

-- The lowest is of one gate and the highest of another, of the LSTM's three.
local function lstm_order(lowest, highest, d)
  local function bits(gate) return B("rec:lstm:" .. gate, d) end
  local parts = { at_most(bits(lowest), bits(highest)) }
  for _, gate in ipairs(gates) do
    if p.is_printed(bits(gate)) and gate ~= lowest and gate ~= highest then
      parts[#parts + 1] = at_most(bits(lowest), bits(gate))
      parts[#parts + 1] = at_most(bits(gate), bits(highest))
    end
  end
  return all(parts)
end

claim("brt_p077", each({ "pg19_bytes", "pg19_tokens", "github" },
  function(d) return lstm_order("single", "dual", d) end))
claim("brt_p078", lstm_order("dual", "single", "arxiv"))

claim("brt_p079", each(with_feedback, function(g)
  return each(pg19, function(d) return less(B("feedback:" .. g, d), B("rec:" .. g, d)) end)
end))

claim("brt_p080", at_most(p.abs(B("feedback:fixed:skip", "arxiv") - B(best, "arxiv")), 0.02))
claim("brt_p081", each(with_feedback,
  function(g) return less(B("rec:" .. g, "github"), B("feedback:" .. g, "github")) end))
local fed_back = "feedback:lstm:single"
claim("brt_p082", each(four, function(d) return at_most(B(fed_back, d), B(best, d)) end), {
  asks = each(four, function(d)
    return all { less(B(fed_back, d), B("rec:lstm:single", d)),
      at_most(B(fed_back, d) - B(best, d), 0.02) }
  end),
  expected = "on every dataset bits(feedback:lstm:single) < bits(rec:lstm:single), and at most 0.02 "
    .. "above bits(rec:fixed:skip)",
})

claim("brt_p090", equal(p.rounded(large("rec:fixed:skip:large", "params_millions", "parameters"),
  0), 320), {
  of_size = "parameters of the published model",
})

-- Tokens of PG-19's test set under the 32k vocabulary, over its words.
claim("brt_p094", each({ "slide:13l:large", "rec:lstm:single:large", "rec:fixed:skip:large" }, function(m)
  local words = 2 ^ (large_bits(m) * 10523460 / 6966499)
  return equal(p.rounded(words, 2), p.rounded(large_perplexity(m), 2))
end), { of_size = "tokens and words of PG-19's test set" })

claim("brt_p095", less(large_perplexity "rec:fixed:skip:large", p.least { 33.6, 33.2 }), {
  of_size = "perplexities that others had on PG-19",
})

local memorizing = "memorizing_transformer:32k"
local on_a_par = each(three, function(d)
  local feedback = p.least { B("feedback:fixed:skip", d), B("feedback:lstm:single", d) }
  return at_most(p.rounded(p.abs(feedback - B(memorizing, d)), 3), 0.02)
end)
claim("brt_p100", on_a_par, {
  asks = all { on_a_par, each(with_feedback, function(g)
    return less(BST("feedback:" .. g), BST(memorizing))
  end) },
  expected = "best feedback bits within 0.02 of memorizing bits on pg19_bytes, pg19_tokens and arxiv; "
    .. "a step with feedback takes less time",
})

claim("brt_p101", each(three, function(d) return less(B(best, d), B("rec:fixed:single", d)) end))

claim("brt_p102", all { below_long(three), less(2 * BST(best), BST(long)) }, {
  direction = all { below_long(three), less(BST(best), BST(long)) },
})

-- ---- ours: of figures and prose without numbers ----

local dataset = ablations.rows[1].dataset

-- Bits of a row of section 4.5.
local function A(label)
  return p.cell(("A(%s)"):format(label),
    { experiment = ablations, row = label, dataset = dataset, metric = "bits_per_token" })
end

-- Windows, narrow to wide: { bits with recurrence, bits without }.
local windows = {}
for _, row in ipairs(ablations.rows) do
  local width = row.label:match "^window (%d+) rec$"
  if width then
    windows[#windows + 1] = { A(row.label), A(("window %d slide"):format(width)),
      width = tonumber(width) }
  end
end
table.sort(windows, function(a, b) return a.width < b.width end)
windows[#windows + 1] = { A "one layer", A "13th layer" }

local narrower = {}
for i = 2, #windows do
  local wide, narrow = windows[i], windows[i - 1]
  narrower[i - 1] = less(narrow[1] - wide[1], narrow[2] - wide[2])
end
claim("brt_p085", all(narrower), {
  expected = "from each window to the next narrower one bits rise less with recurrence than without",
})

return claims
