-- The claims of "Encoding Recurrence into Transformers" (RSA, Huang et al. 2023): the predicates of
-- results/published/predicates.csv, over Tables 1 to 3, 6 and 7, and what its figures show without
-- numbers.
local lh = require "longhaul"
local p = lh.predicate
local all, each, less, at_most, equal = p.all, p.each, p.less, p.at_most, p.equal

local series, code = lh.include "series.lua", lh.include "table3a.lua"
local table1, table2 = lh.include "table1.lua", lh.include "table2.lua"
local table3, table6 = lh.include "table3.lua", lh.include "table6.lua"

-- ---- cells ----

-- Time series: a model on a set at a horizon.
local function R(m, d, h, metric)
  return p.cell(("R(%s, %s, %d, %s)"):format(m, d, h, metric), {
    experiment = table1, published = "rsa_table1", row = m, dataset = ("%s %d"):format(d, h),
    metric = metric,
  })
end

-- In how many of the 32 errors of Table 1 the first model is below the second.
local function WINS(a, b, ties)
  local pairs = {}
  for _, d in ipairs { "ETTh1", "ETTh2", "ETTm1", "Weather" } do
    for _, h in ipairs(series.horizons[d]) do
      for _, metric in ipairs { "mse", "mae" } do
        pairs[#pairs + 1] = { R(a, d, h, metric), R(b, d, h, metric) }
      end
    end
  end
  return p.wins(("WINS(%s, %s)"):format(a, b), pairs, ties)
end

-- Regular languages: whole strings that are right, of the lengths of training (bin 0) and longer
-- ones (bin 1).
local function R2(m, d, bin)
  return p.cell(("R2(%s, %s, %d)"):format(m, d, bin), {
    experiment = table2, published = "rsa_table2", row = m, dataset = d, metric = "accuracy_bin"
      .. bin,
  })
end

-- Code and language.
local function R3(m, d)
  local of_code = d == "devign"
  return p.cell(("R3(%s, %s)"):format(m, d), {
    experiment = of_code and code or table3, published = "rsa_table3", row = m, dataset = d,
    metric = of_code and "accuracy" or d == "wikitext103" and "perplexity" or "bits_per_byte",
  })
end

-- The head mixes of RSA-Informer on ETTh1: s heads of each cyclical kind, q dilated ones ("-": none
-- at all).
local function R6(s, q, h)
  return p.cell(("R6(%d, %s, %d)"):format(s, q, h), {
    experiment = table6, published = "rsa_table6", row = ("rsa_informer:s%d:sbar%s"):format(s, q),
    dataset = ("ETTh1 %d"):format(h), metric = "mse",
  })
end

-- Parameters of the published layouts.
local function R7(m)
  return p.cell(("R7(%s)"):format(m), {
    experiment = code, published = "rsa_table7", row = m, dataset = "devign",
    metric = "layout_parameters",
  })
end

-- ---- claims ----

-- What the scale changes.
local scale_changes = lh.by_scale {
  smoke = "a dozen steps",
  small = "series: width 32, two of the four sets, one epoch; languages: 10 of 25 epochs; text "
    .. "and code: 4 and 2 layers of "
    .. "width 64, trained from nothing",
  study = "series: width 32, inputs of at most 168 steps, one epoch; languages as published; text and code: 4 "
    .. "and 2 layers of width 64, trained from nothing",
  medium = "series: width 64, two epochs; languages as published; text and code: 4 layers of "
    .. "width 128, trained from nothing",
  gpu = "series: width 64; text: a tenth of the steps", paper = "",
}

local claims, claim = lh.claims { scale_changes = scale_changes }

claim("rsa_p016", equal(16 * 2, 32))

local informer, logsparse, xl = { "rsa_informer", "informer" }, { "rsa_logsparse", "logsparse" },
  { "rsa_xl", "transformer_xl" }

-- The printed count, or more; in direction: more than half.
local function wins(id, pair, ties, count)
  local won = WINS(pair[1], pair[2], ties)
  claim(id, equal(won, count), {
    asks = at_most(count, won), expected = ("at least %d of 32"):format(count),
    direction = less(16, won),
  })
end
wins("rsa_p017", informer, false, 28)
wins("rsa_p018", logsparse, false, 31)
wins("rsa_p019", xl, true, 24)
claim("rsa_p020", each({ informer, logsparse, xl },
  function(pair) return less(16, WINS(pair[1], pair[2], false)) end))

local easy, hard = { "d2", "d4", "tomita3" }, { "parity", "tomita5", "tomita6" }
local languages = { "d2", "d4", "tomita3", "parity", "tomita5", "tomita6" }
local plain, relative = "transformer", "transformer_star"

-- make(model, language, bin) for the four cases of RSA and both bins.
local function every_case(datasets, make)
  return each({ "I", "II", "III", "IV" }, function(case)
    return each(datasets, function(d)
      return each({ 0, 1 }, function(bin) return make("rsa_transformer:case" .. case, d, bin) end)
    end)
  end)
end

claim("rsa_p026", each(languages, function(d) return at_most(R2(plain, d, 1), 0.2) end))

claim("rsa_p028", all {
  each(easy, function(d) return less(0.8, R2(relative, d, 0)) end),
  each(hard, function(d) return less(R2(relative, d, 0), 0.2) end),
}, {
  direction = each(easy, function(d)
    return each(hard, function(other) return less(R2(relative, other, 0), R2(relative, d, 0)) end)
  end),
  direction_says = "every one of the three above every one of the others",
})

claim("rsa_p029", every_case(easy, function(m, d, bin) return at_most(0.97, R2(m, d, bin)) end))

claim("rsa_p030", every_case(hard, function(m, d, bin)
  return less(p.greatest { R2(relative, d, bin), R2(plain, d, bin) }, R2(m, d, bin))
end))

local added = R7 "rsa_codet5_small" - R7 "codet5_small"
claim("rsa_p037", equal(added, 320))
claim("rsa_p038", equal(p.rounded(R7 "codet5_small" / 1e6, 0), 66))
claim("rsa_p039", less(math.abs(320 / 66e6 * 100 - 5e-4), 5e-5), {
  asks = less(p.abs(added / R7 "codet5_small" * 100 - 5e-4), 5e-5),
  expected = "params(rsa_codet5_small) are 5e-4 percent more than params(codet5_small)",
})
claim("rsa_p040", less(65.78, R3("rsa_codet5_small", "devign")),
  { of_size = "accuracies of pretrained models" })

claim("rsa_p046", all {
  each({ "enwik8", "text8", "wikitext103" },
    function(d) return less(R3("rsa_xl", d), R3("transformer_xl", d)) end),
  less(R3("rsa_brt", "enwik8"), R3("brt", "enwik8")),
})

local mixes, horizons = { 0, 1, 2 }, { 24, 48, 168, 336 }

-- The lowest error of several mixes at a horizon.
local function least_error(list, dilated, h)
  local terms = {}
  for _, s in ipairs(list) do
    for _, q in ipairs(dilated) do terms[#terms + 1] = R6(s, q, h) end
  end
  if #terms == 1 then return terms[1] end
  local text = #list == 1 and ("min over q of R6(%d, q, %d)"):format(list[1], h)
    or ("min of R6(s, q, %d)"):format(h)
  return p.named(text, p.least(terms))
end

claim("rsa_p072", each(mixes, function(s)
  return each(horizons, function(h) return less(least_error({ s }, { "0", "1", "2" }, h),
    R6(s, "-", h)) end)
end))

claim("rsa_p073", each(horizons, function(h) return less(R6(2, "-", h), R6(0, "-", h)) end))

-- Values of Tables 6 and 1 that are printed alike.
local function printed_alike(a, b) return equal(p.rounded(a, 3), p.rounded(b, 3)) end
local function of_table1(h) return R("rsa_informer", "ETTh1", h, "mse") end

-- The mix that Table 5 has for Table 1, by horizon: its row of Table 6.
local chosen = { [24] = { 2, "2" }, [48] = { 2, "1" }, [168] = { 2, "1" }, [336] = { 0, "0" } }

claim("rsa_p074", each(horizons, function(h)
  return printed_alike(least_error(mixes, { "-", "0", "1", "2" }, h), of_table1(h))
end), {
  asks = each(horizons, function(h)
    local s, q = table.unpack(chosen[h])
    return printed_alike(least_error(mixes, { "-", "0", "1", "2" }, h), R6(s, q, h))
  end),
  expected = "min over s, sbar of mse = mse of Table 5's mix, with which Table 1 is run, for each window",
})

claim("rsa_p075", each(horizons, function(h)
  return printed_alike(R6(chosen[h][1], chosen[h][2], h), of_table1(h))
end), { untested = "Table 1 is run here with the mixes of Table 5: the same run stands in both tables" })

-- ---- ours: figures, whose points are not printed ----

local function sigmoid(x) return 1 / (1 + math.exp(-x)) end

-- Mean gate of a row on one data set, and on several.
local function gate(experiment, row, dataset)
  return p.cell(("gate(%s, %s)"):format(row, dataset), {
    experiment = experiment, row = row, dataset = dataset, metric = "rsa_gate",
  })
end

-- The gates of an experiment's rows whose slugs begin like this.
local function gates_of(experiment, prefix)
  local terms = {}
  for _, row in ipairs(experiment.rows) do
    local slug = experiment:slug(row)
    if slug:sub(1, #prefix) == prefix then
      terms[#terms + 1] = gate(experiment, slug, row.dataset)
    end
  end
  return terms
end

local function mean_gate(model, terms)
  return p.named(("mean gate(%s)"):format(model), p.mean(terms))
end

-- Gates that are where they began say nothing of what was learnt.
local function unmoved(terms, first)
  return {
    each(terms, function(term) return at_most(p.abs(term - first), 0.01) end),
    ("no gate has left its first value, %.3f"):format(first),
  }
end

-- Of all four series, also where a scale has fewer.
local of_series = {}
for _, d in ipairs { "ETTh1", "ETTh2", "ETTm1", "Weather" } do
  for _, h in ipairs(series.horizons[d]) do
    of_series[#of_series + 1] = gate(table1, "rsa_informer", ("%s %d"):format(d, h))
  end
end
local of_languages = gates_of(table2, "rsa_transformer")
local of_code = gates_of(code, "rsa_codet5_small")

claim("rsa_p022", less(0.7, mean_gate("rsa_informer", of_series)), {
  expected = "mean gate above 0.7", untested = unmoved(of_series, sigmoid(1)),
})

-- The learned relative encoding that RSA-XL drops is larger than what its heads bring, by
-- definition.
local function parameters(m)
  return p.cell(("parameters(%s)"):format(m),
    { experiment = table1, row = m, dataset = "ETTh1 24", metric = "parameters" })
end
claim("rsa_p023", less(parameters "rsa_xl", parameters "transformer_xl"), {
  untested = "the models' definitions decide it",
})

claim("rsa_p031", p.between(0.5, mean_gate("rsa_transformer", of_languages), 0.7), {
  expected = "mean gate of 0.5 to 0.7", untested = unmoved(of_languages, sigmoid(0)),
})

claim("rsa_p036", p.between(0.04, mean_gate("rsa_codet5_small", of_code), 0.06), {
  expected = "mean gate of 0.04 to 0.06", untested = unmoved(of_code, sigmoid(-3)),
})

-- Characters above words; the paper's gates begin so, too (Table 7: initial mu of 1, 1 and -1).
local words = gate(table3, "rsa_xl", "wikitext103")
local above_words, unmoved_gates = {}, { at_most(p.abs(words - sigmoid(-1)), 0.01) }
for i, dataset in ipairs { "text8", "enwik8" } do
  local of_characters = gate(table3, "rsa_xl", dataset)
  above_words[i] = less(words, of_characters)
  unmoved_gates[i + 1] = at_most(p.abs(of_characters - sigmoid(1)), 0.01)
end
claim("rsa_p047", all(above_words), {
  expected = "mean gate of text8 and of enwik8 above that of wikitext103",
  note = "the gates begin in that order (Table 7)",
  untested = { all(unmoved_gates), "no gate has left its first value, 0.731 and 0.269" },
})

local figure4, figure9 = lh.include "figure4.lua", lh.include "figure9.lua"

local function characters(row, dataset)
  return p.cell(("bits_per_byte(%s, %s)"):format(row, dataset), {
    experiment = figure4, row = row, dataset = dataset, metric = "bits_per_byte",
  })
end

-- By size: below the baseline and below learned matrices.
local sizes = {}
for _, row in ipairs(figure4.rows) do
  local width = row.label:match "^FL%-XL (%d+)$"
  if width then
    local best = p.least { characters("XL " .. width, "text8"),
      characters("FL-XL " .. width, "text8") }
    sizes[#sizes + 1] = less(characters("RSA-XL " .. width, "text8"), best)
  end
end
claim("rsa_p048", all(sizes))

-- By share of the training data: ahead, with gates that do not rise with it.
local shares, gates = {}, {}
for i, part in ipairs { 30, 65, 100 } do
  shares[i] = less(characters("RSA-XL " .. part, "enwik8"), characters("XL " .. part, "enwik8"))
  gates[i] = gate(figure4, "RSA-XL " .. part, "enwik8")
end
claim("rsa_p051", all { all(shares), p.not_rising(gates) }, {
  expected = "bpc(rsa_xl, f) < bpc(transformer_xl, f) for f in 30, 65, 100 percent; mean gate non-increasing in f",
})

-- Steps on Weather, which Figures 7 and 8 draw: at one horizon, or the mean over all.
local figure7 = lh.include "figure7.lua"
local function weather(row, h)
  return p.cell(("step_time_ms(%s%s)"):format(row, h and (", %d"):format(h) or ""), {
    experiment = figure7, row = row, dataset = h and ("Weather %d"):format(h), metric = "step_time_ms",
  })
end
local timed, weather_horizons = { "Informer", "LogSparse", "XL" }, series.horizons.Weather

-- What the encodings take of a step: of each at every horizon; in direction: of the mean step, since horizons,
-- each timed in rounds of its own, have no round in which a mean of their shares could be taken.
local function share_of(name, h)
  local row = "RSA-" .. name
  return 1 - weather(row .. ", no REM", h) / weather(row, h)
end
claim("rsa_p064", each(timed, function(name)
  return each(weather_horizons, function(h) return less(share_of(name, h), 0.2) end)
end), {
  direction = each(timed, function(name) return less(share_of(name), 0.2) end),
  direction_says = "each model by the mean of its horizons",
})

-- "A small increase" is up to a quarter, which a fifth of the step (Figure 7) is of the rest;
-- "nearly unchanged" within a tenth.
claim("rsa_p065", each(weather_horizons, function(h)
  local function slowdown(name) return weather("RSA-" .. name, h) / weather(name, h) end
  return all {
    each({ "Informer", "LogSparse" }, function(name)
      return all { less(1, slowdown(name)), at_most(slowdown(name), 1.25) }
    end),
    at_most(p.abs(slowdown "XL" - 1), 0.1),
  }
end), {
  expected = "batch_time(rsa_m) above batch_time(m) by at most a quarter for informer and logsparse; "
    .. "within a tenth for transformer_xl",
})

local errors = {}
for i = 1, 3 do
  local row = ("initial gate %d"):format(i - 2)
  errors[i] = p.cell(("mse(%s)"):format(row),
    { experiment = figure9, row = row, dataset = "ETTh1 24", metric = "mse" })
end
claim("rsa_p078", p.falling(errors))

return claims
