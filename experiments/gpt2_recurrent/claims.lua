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

-- A column of Table `n` for "small", which is plain GPT-2, or "recurrent"; `measured`, optional, is
-- what stands here for the printed column.
local function GP(n, model, overlap, column, measured)
  return p.cell(("GP(%d, %s, %d, %s)"):format(n, model, overlap, column), {
    experiment = tables[n], published = "gpt2_recurrent_table" .. n, dataset = datasets[n],
    row = ("gpt2_%s:w300:o%d"):format(model, overlap), metric = measured or metric_of[column],
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

claim("gpt2_recurrent_p001", everywhere(
  function(n, o) return all { lower(n, o), same_flops(n, o) } end), {
  direction = everywhere(lower),
  direction_says = "lower perplexity, at FLOPs that differ in the third digit",
})

claim("gpt2_recurrent_p008", everywhere(same_flops), {
  direction = everywhere(function(n, o)
    return less(GP(n, "recurrent", o, "flops", "flops_per_token"),
      1.01 * GP(n, "small", o, "flops", "flops_per_token"))
  end),
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

claim("gpt2_recurrent_p043", each(overlaps, function(o) return less(gain(1, o), gain(2, o)) end))
claim("gpt2_recurrent_p044", each(splits,
  function(k) return at_most(GP(2, "recurrent", 0, k), GP(2, "small", 30, k)) end))
claim("gpt2_recurrent_p045", each(splits,
  function(k) return less(GP(2, "recurrent", 5, k), GP(2, "small", 50, k)) end))
claim("gpt2_recurrent_p046", each(splits,
  function(k) return less(GP(2, "recurrent", 5, k), GP(2, "small", 75, k)) end))

-- Costs less than a share of the plain model with more overlap, and is better.
local function cheaper(share)
  return all {
    less(GP(2, "recurrent", 50, "flops"), share * GP(2, "small", 200, "flops")),
    less(GP(2, "recurrent", 50, "test"), GP(2, "small", 200, "test")),
  }
end
claim("gpt2_recurrent_p047", cheaper(0.5), { direction = cheaper(1) })

-- No plain point is both as cheap and as good as a recurrent one.
claim("gpt2_recurrent_p049", each(splits, function(k)
  return each(overlaps, function(o)
    return each(more_overlaps, function(b)
      return any {
        less(GP(2, "recurrent", o, "flops"), GP(2, "small", b, "flops")),
        less(GP(2, "recurrent", o, k), GP(2, "small", b, k)),
      }
    end)
  end)
end))

claim("gpt2_recurrent_p051", less(GP(2, "recurrent", 50, "val"), GP(2, "small", 50, "val")))

-- ---- ours: Figure 4, whose points are not printed ----

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
