-- The claims of "Adding Recurrence to Pretrained Transformers" (Yoshida et al. 2020): the
-- predicates of results/published/predicates.csv, over Tables 1 (WikiText-103) and 2 (PG-19).
-- Overlaps are the paper's, out of a window of 300; the rows that stand for them have the same
-- share of their window.
local lh = require "longhaul"
local p = lh.predicate
local all, any, each, less, at_most, equal = p.all, p.any, p.each, p.less, p.at_most, p.equal

local setting = lh.include "setting.lua"
local tables = { lh.include "table1.lua", lh.include "table2.lua" }
local datasets = { "wikitext103", "pg19" }

-- ---- cells ----

local metric_of = { val = "valid_word_perplexity", test = "word_perplexity",
  flops = "kaplan_flops_per_token" }

local function slug(model, overlap) return ("gpt2_%s:w300:o%d"):format(model, overlap) end

-- A column of Table `n` for "small", which is plain GPT-2, or "recurrent"; `measured`, optional, is
-- what stands here for the printed column.
local function GP(n, model, overlap, column, measured)
  return p.cell(("GP(%d, %s, %d, %s)"):format(n, model, overlap, column), {
    experiment = tables[n], published = "gpt2_recurrent_table" .. n, dataset = datasets[n],
    row = slug(model, overlap), metric = measured or metric_of[column],
    printed_as = metric_of[column],
  })
end

local overlaps, more_overlaps = { 0, 5, 10, 30, 50 }, { 0, 5, 10, 30, 50, 75, 100, 150, 200 }
local both, splits = { 1, 2 }, { "val", "test" }

-- make(n, overlap) for both tables and all overlaps that they share.
local function everywhere(make)
  return each(both, function(n)
    return each(overlaps, function(o) return make(n, o) end)
  end)
end

-- The paper's rule leaves the recurrence module out, so that its counts cannot differ: here the
-- FLOPs are those that the models take, and equal means to the three digits that are printed.
local function flops(n, model, o)
  return p.significant(GP(n, model, o, "flops", "flops_per_token"), 3)
end
local function same_flops(n, o) return equal(flops(n, "recurrent", o), flops(n, "small", o)) end
local function lower(n, o) return less(GP(n, "recurrent", o, "test"), GP(n, "small", o, "test")) end

-- ---- claims ----

-- What the scale changes.
local scale_changes = lh.by_scale {
  smoke = "a dozen steps",
  small = "a GPT-2 of 3 layers of width 64, pretrained here, windows of 64, generated text; so "
    .. "narrow a model's module takes "
    .. "about 1 percent of its FLOPs",
  study = "a GPT-2 of 3 layers of width 64, pretrained here, windows of 64, generated text",
  medium = "a GPT-2 of 6 layers of width 192, pretrained here, windows of 64",
  gpu = "a tenth of the steps", paper = "",
}

local claims, claim = lh.claims { scale_changes = scale_changes }

local function all_flops(n, model, o) return GP(n, model, o, "flops", "flops_per_token") end
local function nearly_same_flops(n, o)
  return less(all_flops(n, "recurrent", o), 1.01 * all_flops(n, "small", o))
end

-- "Computation or memory" (abstract): what training and evaluation take, which the paper does not print.
local function nearly_same_memory(n, o)
  return each({ "peak_memory_bytes", "inference_memory_bytes" }, function(metric)
    local function memory(model)
      return p.cell(("%s(%d, %s, %d)"):format(metric, n, model, o), {
        experiment = tables[n], dataset = datasets[n], row = slug(model, o), metric = metric,
      })
    end
    return less(memory "recurrent", 1.01 * memory "small")
  end)
end

claim("gpt2_recurrent_p001", everywhere(
  function(n, o) return all { lower(n, o), same_flops(n, o) } end), {
  asks = everywhere(function(n, o)
    return all { lower(n, o), nearly_same_flops(n, o), nearly_same_memory(n, o) }
  end),
  expected = "test ppl(recurrent, overlap o) < test ppl(baseline, overlap o) for o in 0, 5, 10, 30, 50 on "
    .. "both corpora, with at most 1 percent more FLOPs and memory",
  direction = everywhere(lower), direction_says = "lower perplexity, at more FLOPs or memory",
})

claim("gpt2_recurrent_p008", everywhere(same_flops), {
  direction = everywhere(nearly_same_flops),
  direction_says = "recurrence takes less than 1 percent more",
})

local function by_overlap(n, model, list, split)
  local terms = {}
  for i, o in ipairs(list) do terms[i] = GP(n, model, o, split) end
  return terms
end

claim("gpt2_recurrent_p023", each(splits, function(k)
  return all { p.not_rising(by_overlap(1, "small", overlaps, k)),
    p.not_rising(by_overlap(2, "small", more_overlaps, k)) }
end))

-- The share of the perplexity that recurrence takes away.
local function gain(n, o) return 1 - GP(n, "recurrent", o, "test") / GP(n, "small", o, "test") end

claim("gpt2_recurrent_p041", each(overlaps,
  function(o) return all { less(0, gain(1, o)), less(gain(1, o), 0.06) } end), {
  direction = each(overlaps, function(o) return less(0, gain(1, o)) end),
})

claim("gpt2_recurrent_p042", each(both, function(n)
  return each({ "small", "recurrent" }, function(model)
    return each(splits, function(k) return p.falling(by_overlap(n, model, overlaps, k)) end)
  end)
end))

claim("gpt2_recurrent_p043", each(overlaps, function(o) return less(gain(1, o), gain(2, o)) end), {
  untested = lh.by_scale {
    smoke = "books are long and articles short, says the paper; the documents of both corpora are "
      .. "made equally long here", gpu = false,
  } or nil,
})
claim("gpt2_recurrent_p044", each(splits,
  function(k) return at_most(GP(2, "recurrent", 0, k), GP(2, "small", 30, k)) end))
claim("gpt2_recurrent_p045", each(splits,
  function(k) return less(GP(2, "recurrent", 5, k), GP(2, "small", 50, k)) end))
claim("gpt2_recurrent_p046", each(splits,
  function(k) return less(GP(2, "recurrent", 5, k), GP(2, "small", 75, k)) end))

-- The sentence is of FLOPs alone; the paper's count leaves the module out, ours has it.
local function cheaper(share)
  return less(all_flops(2, "recurrent", 50), share * all_flops(2, "small", 200))
end
claim("gpt2_recurrent_p047", all {
  less(GP(2, "recurrent", 50, "flops"), 0.5 * GP(2, "small", 200, "flops")),
  less(GP(2, "recurrent", 50, "test"), GP(2, "small", 200, "test")),
}, {
  asks = cheaper(0.5), expected = "flops(recurrent, 50) < 0.5 * flops(baseline, 200)",
  direction = cheaper(1),
})

-- ---- Figure 5, whose points are not printed: the list has rows of Table 2 in their place ----

local figure5 = lh.include "figure5.lua"

-- Validation perplexity or FLOPs of a row of Figure 5.
local function F5(label, metric)
  return p.cell(("%s(%s)"):format(metric, label),
    { experiment = figure5, row = label, dataset = "pg19", metric = metric })
end
local function plain5(window, o, metric)
  return F5(setting.plain_label(window, setting.overlap(o)), metric)
end
local function recurrent5(window, metric) return F5(setting.recurrent_label(window, 0), metric) end

-- The points of Figure 5, { FLOPs, perplexity } each, the recurrent ones by themselves.
local recurrent_points, points = {}, {}
for i, window in ipairs(setting.windows) do
  recurrent_points[i] = { recurrent5(window, "kaplan_flops_per_token"), recurrent5(window, "valid_word_perplexity") }
  points[#points + 1] = recurrent_points[i]
  for _, o in ipairs { 0, 30, 50 } do
    points[#points + 1] = { plain5(window, o, "kaplan_flops_per_token"), plain5(window, o, "valid_word_perplexity") }
  end
end

-- A point is cheaper or better than another.
local function undominated(point, other) return any { less(point[1], other[1]), less(point[2], other[2]) } end

local function on_frontier(point)
  local parts = {}
  for _, other in ipairs(points) do
    if other ~= point then parts[#parts + 1] = undominated(point, other) end
  end
  return all(parts)
end

claim("gpt2_recurrent_p049", each(splits, function(k)
  return each(overlaps, function(o)
    return each(more_overlaps, function(b)
      return undominated({ GP(2, "recurrent", o, "flops"), GP(2, "recurrent", o, k) },
        { GP(2, "small", b, "flops"), GP(2, "small", b, k) })
    end)
  end)
end), {
  asks = each(recurrent_points, on_frontier),
  expected = "no other point of Figure 5 has both flops_per_token <= and ppl <= those of one of its "
    .. "recurrent points",
})

-- The baseline's lowest in Figure 5.
local lowest_plain = {}
for i, window in ipairs(setting.windows) do
  lowest_plain[i] = plain5(window, 50, "valid_word_perplexity")
end
claim("gpt2_recurrent_p051", less(GP(2, "recurrent", 50, "val"), GP(2, "small", 50, "val")), {
  asks = less(GP(2, "recurrent", 50, "val"), p.named("min over windows of the baseline with overlap 50",
    p.least(lowest_plain))),
  expected = "validation ppl(recurrent, 50) < the least validation ppl of the baseline with overlap 50 over "
    .. "the windows of Figure 5",
})

-- ---- ours: Figure 4, likewise ----

local figure4 = lh.include "figure4.lua"

-- Validation perplexity by window, without overlap: what the plain model has more.
local function gap(window)
  local function cell(label)
    return p.cell(("valid_word_perplexity(%s)"):format(label), {
      experiment = figure4, row = label, dataset = "pg19", metric = "valid_word_perplexity",
    })
  end
  return cell(setting.plain_label(window, 0)) - cell(setting.recurrent_label(window, 0))
end

local gaps = {}
for i, window in ipairs(setting.windows) do gaps[i] = gap(window) end
claim("gpt2_recurrent_p048", p.falling(gaps), {
  direction = less(gaps[#gaps], gaps[1]),
  direction_says = "the gap is wider at the narrowest window than at the widest",
})

return claims
