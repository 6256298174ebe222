-- The claims of the Staircase paper (Ju et al. 2022): the predicates of
-- results/published/predicates.csv, over Tables 1 to 3. Errors of the tracking tasks are means over
-- seeds here; the paper reports the seed that was best on validation.
local lh = require "longhaul"
local p = lh.predicate
local all, each, less, at_most, equal = p.all, p.each, p.less, p.at_most, p.equal

local tables = { lh.include "table1.lua", lh.include "table2.lua", lh.include "table3.lua" }

-- ---- cells ----

local function cell(text, number, row, dataset, metric, more)
  return p.cell(text, lh.merged({
    experiment = tables[number], published = "staircase_table" .. number, row = row,
    dataset = dataset, metric = metric,
  }, more or {}))
end

local metric_of = {
  random_walk = "error_percent", algorithm = "error_percent", enwik8 = "bits_per_byte",
  reddit = "perplexity",
  base_data = "valid_perplexity",
}
local function S1(m, d) return cell(("S1(%s, %s)"):format(m, d), 1, m, d, metric_of[d]) end

local function test(m) return cell(("S2(%s, test)"):format(m), 2, m, "reddit", "perplexity") end
-- Predicates compare times with each other alone: here those relative to Transformer-XL's, each of
-- one round with it.
local function time(m)
  return cell(("S2(%s, batch_time_ms)"):format(m), 2, m, "reddit", "relative_step_time",
    { printed_as = "step_time_ms" })
end

-- Table 3 by recurrent steps, forward sizes growing.
local groups = {
  { "cached_staircase:r1:f32", "cached_staircase:r1:f64", "cached_staircase:r1:f128" },
  { "staircase:r2:f64", "staircase:r2:f128" }, { "staircase:r4:f32", "staircase:r4:f64" },
}

-- make(terms) for each group.
local function each_group(name, metric, make)
  return each(groups, function(group)
    local terms = {}
    for i, m in ipairs(group) do
      terms[i] = cell(("%s(%s)"):format(name, m), 3, m, "reddit", metric)
    end
    return make(terms)
  end)
end

-- ---- claims ----

-- What the scale changes.
local scale_changes = lh.by_scale {
  smoke = "a dozen steps",
  small = "tracking: 2 layers of width 64 on a grid of 3 and programs of 30 statements, which a "
    .. "transformer of the same size "
    .. "errs less on; text: 4 layers of width 64 over bytes, whose perplexities are near 6, so "
      .. "that differences of whole "
    .. "points are out of reach; Feedback's segments are short, so that it is not as slow",
  study = "tracking: 2 layers of width 64 on a grid of 3 and programs of 30 statements; text: 4 layers of "
    .. "width 64 over bytes, whose perplexities are near 6, so that differences of whole points are out of reach",
  medium = "tracking: half the width; text: 6 layers of width 128 over bytes, whose perplexities are near 6",
  gpu = "tracking as at medium; half the width on text", paper = "",
}

local claims, claim = lh.claims { scale_changes = scale_changes }

local tracking = { "random_walk", "algorithm" }
local plain = "transformer_xl"
local steps = { "staircase:r2", "staircase:r4", "staircase:r8" }

-- A model errs less than Transformer-XL on both tracking tasks.
local function tracks_better(m)
  return each(tracking, function(d) return less(S1(m, d), S1(plain, d)) end)
end

local less_than_plain = "it errs less than Transformer-XL"

claim("staircase_p001", each(tracking, function(d)
  return all { at_most(S1("staircase", d), 1), at_most(25, S1(plain, d)) }
end), { direction = tracks_better "staircase", direction_says = less_than_plain })

claim("staircase_p002", each({ "enwik8", "reddit", "base_data" }, function(d)
  return less(S1("staircase", d), S1(plain, d))
end))

claim("staircase_p017", equal(p.rounded(S1("lstm", "algorithm"), 1), 1.0), {
  asks = at_most(S1("lstm", "algorithm"), 1), expected = "error(lstm, algorithm) <= 1 percent",
})

claim("staircase_p018", at_most(S1("lstm", "random_walk"), 1), {
  direction = less(S1("lstm", "random_walk"), S1(plain, "random_walk")),
  direction_says = less_than_plain,
})

local trackers = { "lstm", "feedback_transformer", "staircase", "cached_staircase" }
claim("staircase_p019", each(trackers, function(m)
  return each(tracking, function(d) return less(10 * S1(m, d), S1(plain, d)) end)
end), { direction = each(trackers, tracks_better) })

claim("staircase_p022", each(tracking,
  function(d) return at_most(S1("cached_staircase", d), 2) end), {
  direction = tracks_better "cached_staircase", direction_says = less_than_plain,
})

local slowest = each({ steps[1], steps[2], steps[3], "cached_staircase:r1" }, function(m)
  return less(time(m), time "feedback_transformer")
end)
claim("staircase_p023", all {
  each(tracking, function(d) return at_most(S1("feedback_transformer", d), 1) end), slowest,
}, { direction = all { tracks_better "feedback_transformer", slowest },
  direction_says = less_than_plain .. "; its steps are slower" })

claim("staircase_p024", p.falling { test(steps[1]), test(steps[2]), test(steps[3]) })

-- How far perplexity falls from one row to another, between two printed bounds; where perplexities are a fifth
-- of the published ones, between as large shares of the one that is printed for it; in direction: at
-- all.
local function falls_by(id, low, from, to, high)
  local gap, printed = from - to, p.printed(from)
  claim(id, p.between(low, gap, high), {
    asks = lh.by_scale { smoke = p.between(low / printed, gap / from, high / printed), gpu = false } or nil,
    expected = lh.by_scale {
      smoke = ("%s between %.1f and %.1f percent lower"):format(to.text, 100 * low / printed,
        100 * high / printed), gpu = false,
    } or nil,
    direction = less(0, gap),
  })
end
falls_by("staircase_p025", 3.5, test(plain), test(steps[3]), 4.5)
falls_by("staircase_p027", 4.5, S1(plain, "base_data"), S1("staircase", "base_data"), 5.5)
falls_by("staircase_p028", 0.5, test "transformer_xl:2x_deep", test(steps[3]), 1.5)

claim("staircase_p029", p.falling { S1(plain, "enwik8"), S1("staircase", "enwik8"),
  S1("cached_staircase", "enwik8") })

local behind = S1("cached_staircase", "enwik8") - S1("feedback_transformer", "enwik8")
claim("staircase_p030", less(p.abs(behind - 0.1), 0.005), {
  asks = all { at_most(behind, 0.1), less(time "cached_staircase:r1", time "feedback_transformer") },
  expected = "bpc(cached_staircase) at most 0.1 above bpc(feedback_transformer); a step takes less time",
})

local lstm_worst = each({ plain, "feedback_transformer", "staircase", "cached_staircase" }, function(m)
  return at_most(S1(m, "enwik8"), S1("lstm", "enwik8"))
end)
claim("staircase_p031", all { equal(p.rounded(S1("lstm", "enwik8"), 2), 1.38), lstm_worst }, {
  -- 1.38 is of full size
  asks = lh.by_scale { smoke = lstm_worst, paper = false } or nil, direction = lstm_worst,
})

-- Steps cost more the more there are, and the most of them less than a share of the Feedback
-- Transformer's.
local function times_rise(share)
  return p.falling { time "feedback_transformer" / share, time(steps[3]), time(steps[2]),
    time(steps[1]) }
end
claim("staircase_p032", times_rise(2), { direction = times_rise(1) })

claim("staircase_p033", at_most(time "cached_staircase:r1", 1.05 * time(plain)))

-- 0.3 of the published perplexities, which are near 25; below full size as large a share.
claim("staircase_p035", each_group("S3G", "valid_perplexity", function(terms)
  local bound = lh.by_scale { smoke = 0.012 * p.least(terms), gpu = 0.3 }
  return at_most(p.greatest(terms) - p.least(terms), bound)
end), {
  expected = lh.by_scale {
    smoke = "max - min of valid ppl within one recurrent-step group <= 1.2 % of min", gpu = false,
  } or nil,
})
claim("staircase_p036", each_group("S3T", "step_time_ms", p.not_rising))

-- ---- ours: of prose without numbers ----

local function memory(m, metric)
  return p.cell(("%s(%s)"):format(metric, m),
    { experiment = tables[2], row = m, dataset = "reddit", metric = metric })
end
local function training(m) return memory(m, "peak_memory_bytes") end
local function inference(m) return memory(m, "inference_memory_bytes") end

local training_grows = p.falling { training(steps[3]), training(steps[2]), training(steps[1]) }
local growth = inference(steps[3]) / inference(steps[1])
claim("staircase_p034", all { training_grows, at_most(p.abs(growth - 1), 0.05) }, {
  expected = "peak training memory grows with N; inference memory at 8 steps within 5 percent of that at 2",
  direction = all { training_grows, less(growth, training(steps[3]) / training(steps[1])) },
  direction_says = "inference memory grows less than training memory",
})

return claims
