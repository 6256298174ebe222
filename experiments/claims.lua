-- The papers' headline claims as rows that a machine checks against whatever has been run at this scale.
-- `longhaul run experiments/claims.lua --scale small` after the tables.
local lh = require "longhaul"

local bench = lh.experiment "claims"

-- A dozen steps order nothing: at scale smoke only the figures stand.
local function judged(check)
  if lh.scale() ~= "smoke" then return check end
  return function(seen)
    local _, measured = check(seen)
    return "undecided", measured, "a smoke run trains for a dozen steps"
  end
end

local function claim_on(experiment, id, check, expected)
  bench:claim { id, experiment = experiment, expected = expected, check = judged(check) }
end

-- ---- Block-Recurrent Transformer ----

local function claim(id, check, expected) claim_on("brt-table1", id, check, expected) end

local bits, time = "bits_per_token", "relative_step_time"
local best = "Rec:fixed:skip"

-- Recurrence beats one more layer at the same cost.
claim("brt_p006", function(seen) return seen:lower_everywhere(bits, best, "Slide:13L") end)

claim("brt_p071", function(seen)
  local own, layer = seen:value(best, time), seen:value("Slide:13L", time)
  return own < 1.05 * layer, ("relative step time %.2f"):format(own / layer)
end, "step time of Rec:fixed:skip at most 1.05 of Slide:13L")

-- fixed:skip is the best of the six cells.
claim("brt_p070", function(seen)
  local parts = {}
  for _, row in ipairs(seen:rows "^Rec:") do
    if row ~= best then parts[#parts + 1] = { seen:lower_everywhere(bits, best, row) } end
  end
  return seen:all(parts)
end)

-- Better than four times the window at less than half of its step time.
claim("brt_p102", function(seen)
  local ratio = seen:value("XL:2048", time) / seen:value(best, time)
  return seen:all {
    { seen:lower_everywhere(bits, best, "XL:2048") },
    { ratio > 2 and "holds" or "fails", ("XL:2048 takes %.2f of its step time"):format(ratio) },
  }
end)

-- A window that is differentiable across blocks beats a cache of the same width.
claim("brt_p060", function(seen) return seen:lower_everywhere(bits, "Slide:12L", "XL:512") end)

-- A wider window lowers bits.
claim("brt_p057", function(seen)
  return seen:all {
    { seen:lower_everywhere(bits, "XL:1024", "XL:512") },
    { seen:lower_everywhere(bits, "XL:2048", "XL:1024") },
  }
end)

-- Feedback costs 30 to 40 percent.
claim("brt_p028", function(seen)
  local skip = seen:value("Feedback:fixed:skip", time) / seen:value(best, time)
  local single = seen:value("Feedback:lstm:single", time) / seen:value("Rec:lstm:single", time)
  local inside = skip >= 1.2 and skip <= 1.5 and single >= 1.2 and single <= 1.5
  return inside, ("feedback costs %.2f (fixed:skip) and %.2f (lstm:single)"):format(skip, single)
end)

-- Recurrence helps more at small windows.
bench:claim {
  "brt_p085", experiment = "brt-ablations",
  check = judged(function(seen)
    local windows = seen:rows "^window %d+ rec$"
    local widths = {}
    for i, row in ipairs(windows) do widths[i] = tonumber(row:match "%d+") end
    table.sort(widths)
    if #widths < 2 then return "undecided", "", "fewer than two windows were measured" end
    local function gain(width)
      return seen:value(("window %d slide"):format(width), bits) - seen:value(("window %d rec"):format(width), bits)
    end
    local small, large = gain(widths[1]), gain(widths[#widths])
    local measured = ("gain %.4f bits at window %d, %.4f at %d"):format(small, widths[1], large, widths[#widths])
    if math.abs(small - large) < 0.01 then return "undecided", measured, "within 0.01 bits" end
    return small > large, measured
  end),
}

-- ---- Staircase ----

local trackers = { "LSTM", "Feedback Transformer [13]", "Staircase", "Cached Staircase" }
local plain = "Transformer-XL [9]"
local tracking = { "random_walk", "algorithm" }

-- Mean error over seeds of `row` on both tracking tasks, as a part of a verdict.
local function errors(seen, row, holds)
  local parts = {}
  for _, dataset in ipairs(tracking) do
    local error = seen:value(row, "error_percent", dataset)
    parts[#parts + 1] = {
      holds(error) and "holds" or "fails", ("%s errs %.1f%% on %s"):format(row, error, dataset),
    }
  end
  return seen:all(parts)
end

local function at_most(limit) return function(error) return error <= limit end end
local function at_least(limit) return function(error) return error >= limit end end

-- Recurrent models track state, a transformer of the same size does not.
claim_on("staircase-table1", "staircase_p001", function(seen)
  return seen:all {
    { errors(seen, "Staircase", at_most(2)) }, { errors(seen, plain, at_least(20)) },
  }
end, "Staircase errs at most 2%, Transformer-XL at least 20%, on both tasks")

claim_on("staircase-table1", "staircase_p019", function(seen)
  local parts = {}
  for _, dataset in ipairs(tracking) do
    local baseline = seen:value(plain, "error_percent", dataset)
    for _, row in ipairs(trackers) do
      local error = seen:value(row, "error_percent", dataset)
      parts[#parts + 1] = {
        baseline > 10 * error and "holds" or "fails",
        ("%s %.2f%% against %.1f%% on %s"):format(row, error, baseline, dataset),
      }
    end
  end
  return seen:all(parts)
end)

claim_on("staircase-table1", "staircase_p018", function(seen)
  local error = seen:value("LSTM", "error_percent", "random_walk")
  return error <= 1, ("LSTM errs %.2f%%"):format(error)
end)

claim_on("staircase-table1", "staircase_p022", function(seen)
  return errors(seen, "Cached Staircase", at_most(2))
end)

claim_on("staircase-table1", "staircase_p023", function(seen)
  local parts = { { errors(seen, "Feedback Transformer [13]", at_most(1)) } }
  for _, dataset in ipairs(tracking) do
    local ratio = seen:value("Feedback Transformer [13]", "step_time_ms", dataset)
      / seen:value("Staircase", "step_time_ms", dataset)
    parts[#parts + 1] = {
      ratio > 1 and "holds" or "fails", ("its step takes %.2f of Staircase's on %s"):format(ratio, dataset),
    }
  end
  return seen:all(parts)
end)

local valid = "valid_perplexity"
local function stairs(steps) return ("Staircase, N = %d"):format(steps) end

local function steps_claim(id, check, expected) claim_on("staircase-table2", id, check, expected) end

-- More recurrent steps, lower perplexity, at equal parameters.
steps_claim("staircase_p024", function(seen)
  return seen:all {
    { seen:lower_everywhere(valid, stairs(4), stairs(2), nil, 0) },
    { seen:lower_everywhere(valid, stairs(8), stairs(4), nil, 0) },
  }
end)

steps_claim("staircase_p002", function(seen)
  return seen:lower_everywhere(valid, stairs(8), plain, nil, 0)
end, "Staircase with 8 steps below Transformer-XL of the same size")

-- More steps cost more time, but stay far below the Feedback Transformer.
steps_claim("staircase_p032", function(seen)
  local time = {}
  for _, steps in ipairs { 2, 4, 8 } do time[steps] = seen:value(stairs(steps), "step_time_ms") end
  local feedback = seen:value("Feedback Transformer [13]", "step_time_ms")
  return time[2] < time[4] and time[4] < time[8] and time[8] < feedback / 2,
    ("%.0f, %.0f and %.0f ms; Feedback %.0f ms"):format(time[2], time[4], time[8], feedback)
end)

-- A cached staircase costs about what the baseline does.
steps_claim("staircase_p033", function(seen)
  local ratio = seen:value("Cached Staircase", "step_time_ms") / seen:value(plain, "step_time_ms")
  return ratio <= 1.05, ("its step takes %.2f of the baseline's"):format(ratio)
end)

steps_claim("staircase_p034", function(seen)
  local training, inference = {}, {}
  for _, steps in ipairs { 2, 4, 8 } do
    training[steps] = seen:value(stairs(steps), "peak_memory_bytes") / 2 ^ 20
    inference[steps] = seen:value(stairs(steps), "inference_memory_bytes") / 2 ^ 20
  end
  local grows = training[2] < training[4] and training[4] < training[8]
  return grows and inference[8] < 1.25 * inference[2],
    ("training %.0f, %.0f, %.0f MiB; inference %.1f, %.1f, %.1f MiB"):format(training[2], training[4],
      training[8], inference[2], inference[4], inference[8])
end, "peak training memory grows with N; inference memory within 25%")

claim_on("staircase-table3", "staircase_p036", function(seen)
  local parts = {}
  local function faster(large, small)
    local ratio = seen:value(large, "step_time_ms") / seen:value(small, "step_time_ms")
    parts[#parts + 1] = {
      ratio < 1 and "holds" or "fails", ("%s takes %.2f of %s"):format(large, ratio, small),
    }
  end
  faster("Cache St., C = NC/2", "Cache St., C = NC/4")
  faster("Cache St., C = NC/4", "Cache St., C = NC/8")
  return seen:all(parts)
end)

-- ---- Adding Recurrence to Pretrained Transformers ----

local word, valid_word = "word_perplexity", "valid_word_perplexity"
local both = { { "gpt2_recurrent-table1", "wikitext103" }, { "gpt2_recurrent-table2", "pg19" } }

-- Rows by the paper's overlaps.
local yoshida = lh.include "gpt2_recurrent/setting.lua"
local function gpt2(overlap) return yoshida.plain_label(yoshida.window, yoshida.overlap(overlap)) end
local function recurrent(overlap) return yoshida.recurrent_label(yoshida.window, yoshida.overlap(overlap)) end

-- Whether `row` is below `other` in a metric, as a part of a verdict.
local function below(seen, metric, row, other, dataset)
  local a, b = seen:value(row, metric, dataset), seen:value(other, metric, dataset)
  return { a < b and "holds" or "fails", ("%.1f against %.1f"):format(a, b) }
end

for _, on in ipairs(both) do
  -- Better perplexity at the same overlap, hence at the same FLOPs.
  claim_on(on[1], "gpt2_recurrent_p001", function(seen)
    local parts = {}
    for _, overlap in ipairs { 0, 5, 10, 30, 50 } do
      parts[#parts + 1] = below(seen, word, recurrent(overlap), gpt2(overlap), on[2])
    end
    return seen:all(parts)
  end, on[2])

  -- Overlap lowers perplexity of both models.
  claim_on(on[1], "gpt2_recurrent_p042", function(seen)
    local parts, overlaps = {}, { 0, 5, 10, 30, 50 }
    for i = 2, #overlaps do
      parts[#parts + 1] = below(seen, word, gpt2(overlaps[i]), gpt2(overlaps[i - 1]), on[2])
      parts[#parts + 1] = below(seen, word, recurrent(overlaps[i]), recurrent(overlaps[i - 1]), on[2])
    end
    return seen:all(parts)
  end, on[2])
end

-- The recurrence costs almost nothing: counted here, not by the paper's rule.
claim_on("gpt2_recurrent-table2", "gpt2_recurrent_p008", function(seen)
  local ratio = seen:value(recurrent(0), "flops_per_token") / seen:value(gpt2(0), "flops_per_token")
  return ratio < 1.01, ("%.4f of the plain model's FLOPs"):format(ratio)
end, "less than 1% more FLOPs per token")

local function pg19(id, metric, row, other, expected)
  claim_on("gpt2_recurrent-table2", id, function(seen) return seen:all { below(seen, metric, row, other, "pg19") } end,
    expected)
end

pg19("gpt2_recurrent_p044", word, recurrent(0), gpt2(30), "recurrent without overlap below GPT-2 at overlap 30")
pg19("gpt2_recurrent_p045", word, recurrent(5), gpt2(50), "recurrent at overlap 5 below GPT-2 at 50")
pg19("gpt2_recurrent_p046", word, recurrent(5), gpt2(75), "recurrent at overlap 5 below GPT-2 at 75")

claim_on("gpt2_recurrent-table2", "gpt2_recurrent_p047", function(seen)
  local flops = "kaplan_flops_per_token"
  local ratio = seen:value(recurrent(50), flops, "pg19") / seen:value(gpt2(200), flops, "pg19")
  return seen:all {
    { ratio < 0.5 and "holds" or "fails", ("%.2f of the FLOPs"):format(ratio) },
    below(seen, word, recurrent(50), gpt2(200), "pg19"),
  }
end)

-- Rows of Figure 4 and their windows, small first: { window, plain label, recurrent label }.
local function windows_of(seen)
  local list = {}
  for _, row in ipairs(seen:rows "^Recurrent, window %d+$") do
    local window = tonumber(row:match "%d+$")
    list[#list + 1] = { window, ("GPT-2, window %d"):format(window), row }
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

-- The gap widens as the window shrinks; gaps that less than half a percent of perplexity parts are not told from equal ones.
claim_on("gpt2_recurrent-table2", "gpt2_recurrent_p048", function(seen)
  local parts, narrower = {}, nil
  for _, w in ipairs(windows_of(seen)) do
    local gap = 1 - seen:value(w[3], valid_word, "pg19") / seen:value(w[2], valid_word, "pg19")
    local text = ("%.2f%% lower at %d"):format(100 * gap, w[1])
    local step = narrower and narrower - gap
    parts[#parts + 1] = { (not step or step > 0.005) and "holds" or step < -0.005 and "fails" or "undecided", text }
    narrower = gap
  end
  if #parts < 2 then return "undecided", "Figure 4 was not run" end
  return seen:all(parts)
end)

-- No plain point is as cheap and as good as a recurrent one.
claim_on("gpt2_recurrent-table2", "gpt2_recurrent_p049", function(seen)
  local flops, parts, windows = "kaplan_flops_per_token", {}, windows_of(seen)
  if #windows < 2 then return "undecided", "Figure 4 was not run" end
  for _, w in ipairs(windows) do
    local cost, perplexity = seen:value(w[3], flops, "pg19"), seen:value(w[3], valid_word, "pg19")
    for _, other in ipairs(seen:rows "^GPT%-2, window") do
      local beaten = seen:value(other, flops, "pg19") <= cost and seen:value(other, valid_word, "pg19") <= perplexity
      if beaten then parts[#parts + 1] = { "fails", ("%s beats window %d"):format(other, w[1]) } end
    end
  end
  if #parts == 0 then return true, "every recurrent point is on the frontier" end
  return seen:all(parts)
end)

-- ---- RSA: regular languages ----

local bins = { "accuracy_bin0", "accuracy_bin1" }
local easy, hard = { "d2", "d4", "tomita3" }, { "parity", "tomita5", "tomita6" }
local cases = "^RSA%-Transformer "

local function language_claim(id, check, expected) claim_on("rsa-table2", id, check, expected) end

-- "case II, d2, bin 1".
local function place(row, dataset, bin)
  local case = row:match "^RSA%-Transformer (%a+)"
  return ("%s, %s, bin %s"):format(case and "case " .. case or row, dataset, bin:match "%d$")
end

-- Whether an accuracy lies within bounds on each of some languages: parts for seen:all.
local function within(seen, row, bin, datasets, low, high)
  local parts = {}
  for _, dataset in ipairs(datasets) do
    local value = seen:value(row, bin, dataset)
    local text = ("%s: %.2f"):format(place(row, dataset, bin), value)
    parts[#parts + 1] = { value >= low and value <= high and "holds" or "fails", text }
  end
  return parts
end

local function joined(...)
  local all = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
  return all
end

-- The plain Transformer does not carry over to longer strings.
language_claim("rsa_p026", function(seen)
  return seen:all(joined(within(seen, "Transformer", bins[2], easy, 0, 0.2),
    within(seen, "Transformer", bins[2], hard, 0, 0.2)))
end)

-- Relative positions repair three of the six languages.
language_claim("rsa_p028", function(seen)
  return seen:all(joined(within(seen, "Transformer*", bins[1], easy, 0.8, 1),
    within(seen, "Transformer*", bins[1], hard, 0, 0.2)))
end)

-- RSA solves those three at both lengths.
language_claim("rsa_p029", function(seen)
  local parts = {}
  for _, row in ipairs(seen:rows(cases)) do
    for _, bin in ipairs(bins) do parts = joined(parts, within(seen, row, bin, easy, 0.97, 1)) end
  end
  return seen:all(parts)
end)

-- RSA gains on the other three.
language_claim("rsa_p030", function(seen)
  local parts = {}
  for _, row in ipairs(seen:rows(cases)) do
    for _, dataset in ipairs(hard) do
      for _, bin in ipairs(bins) do
        local own = seen:value(row, bin, dataset)
        local other = math.max(seen:value("Transformer", bin, dataset), seen:value("Transformer*", bin, dataset))
        local text = ("%s: %.2f against %.2f"):format(place(row, dataset, bin), own, other)
        parts[#parts + 1] = { own > other and "holds" or "fails", text }
      end
    end
  end
  return seen:all(parts)
end)

-- About three fifths of the weight goes to the recurrence encodings.
language_claim("rsa_p031", function(seen)
  local sum, rows = 0, seen:rows(cases)
  for _, row in ipairs(rows) do sum = sum + seen:value(row, "rsa_gate") end
  local mean = sum / math.max(1, #rows)
  return #rows > 0 and mean >= 0.5 and mean <= 0.7, ("mean gate %.2f"):format(mean)
end, "mean gate of 0.5 to 0.7")

-- ---- RSA: code ----

local function code_claim(id, check, expected) claim_on("rsa-table3a", id, check, expected) end

-- The gate stays near its first value.
code_claim("rsa_p036", function(seen)
  local gate = seen:value("RSA-CodeT5-small", "rsa_gate")
  return gate >= 0.04 and gate <= 0.06, ("mean gate %.3f"):format(gate)
end, "mean gate of 0.04 to 0.06")

-- About 320 parameters more, of 66 million.
code_claim("rsa_p037", function(seen)
  local added = seen:value("RSA-CodeT5-small", "layout_parameters") - seen:value("CodeT5-small", "layout_parameters")
  return math.abs(added - 320) < 32, ("%d parameters added"):format(added)
end)

code_claim("rsa_p038", function(seen)
  local count = seen:value("CodeT5-small", "layout_parameters")
  return math.abs(count / 66e6 - 1) < 0.05, ("%d parameters"):format(count)
end)

-- Better than CodeT5-base.
code_claim("rsa_p040", function(seen)
  local accuracy = seen:value("RSA-CodeT5-small", "accuracy")
  return accuracy > 0.6578, ("accuracy %.4f"):format(accuracy)
end)

-- ---- RSA: time series ----

for _, made in ipairs(lh.include "rsa/series_claims.lua") do claim_on(table.unpack(made)) end

-- ---- Reformer: duplication, shared queries and keys, hash rounds ----

local function accuracy_of(seen, trained, evaluated)
  return seen:value(("%s | %s"):format(trained, evaluated), "accuracy", "duplication")
end

-- Whether accuracies fall from each to the next, and their text.
local function falling(values)
  local good, text = true, {}
  for i, value in ipairs(values) do
    good = good and (i == 1 or value < values[i - 1])
    text[i] = ("%.3f"):format(value)
  end
  return good, table.concat(text, ", ")
end

local function by_rounds(seen, trained)
  local values = {}
  for i, rounds in ipairs { 8, 4, 2, 1 } do values[i] = accuracy_of(seen, trained, "LSH-" .. rounds) end
  return values
end

claim_on("reformer-table2", "reformer_p031", function(seen)
  local value = accuracy_of(seen, "Full Attention", "Full Attention")
  return value >= 0.995, ("accuracy %.3f"):format(value)
end, "accuracy(train full, eval full) >= 0.995")

claim_on("reformer-table2", "reformer_p038", function(seen)
  local values = by_rounds(seen, "Full Attention")
  local good, text = falling(values)
  return good and values[1] < 1, "evaluated with 8, 4, 2, 1 rounds: " .. text
end)

claim_on("reformer-table2", "reformer_p039", function(seen)
  local values = by_rounds(seen, "LSH-4")
  local good, text = falling { values[2], values[3], values[4] }
  return good and values[1] >= values[2] and values[1] >= 0.995, "evaluated with 8 rounds: "
    .. ("%.3f"):format(values[1]) .. "; with 4, 2, 1: " .. text
end, "accuracy(train lsh4): eval8 >= 0.995, eval8 >= eval4 > eval2 > eval1")

claim_on("reformer-table2", "reformer_p040", function(seen)
  local best = accuracy_of(seen, "LSH-1", "LSH-8")
  local good, text = falling {
    accuracy_of(seen, "LSH-4", "LSH-1"), accuracy_of(seen, "LSH-2", "LSH-1"), accuracy_of(seen, "LSH-1", "LSH-1"),
  }
  return good and best >= 0.995, ("LSH-1 evaluated with 8 rounds: %.3f; LSH-4, -2, -1 with 1: %s"):format(best, text)
end)

local per_dim = "bits_per_byte"

claim_on("reformer-figure3", "reformer_p054", function(seen)
  local parts = {}
  for i, data in ipairs { "enwik8-64K", "imagenet64" } do
    local own, regular = seen:value("Shared QK", per_dim, data), seen:value("Regular", per_dim, data)
    parts[i] = { own <= regular + 0.01 and "holds" or "fails", ("%s: %.3f against %.3f"):format(data, own, regular) }
  end
  return seen:all(parts)
end, "bits/dim(shared QK) <= bits/dim(regular) + 0.01 at the end")

claim_on("reformer-figure3", "reformer_p055", function(seen)
  local parts = {}
  for i, data in ipairs { "enwik8-64K", "imagenet64" } do
    local own, regular = seen:value("Reversible", per_dim, data), seen:value("Regular", per_dim, data)
    parts[i] = { math.abs(own - regular) <= 0.03 and "holds" or "fails", ("%s: %.3f against %.3f"):format(data, own, regular) }
  end
  return seen:all(parts)
end, "abs(bits/dim(reversible) - bits/dim(regular)) <= 0.03 at the end")

local function rounds_bits(seen, rounds) return seen:value("LSH-" .. rounds, per_dim, "imagenet64") end

claim_on("reformer-figure4", "reformer_p058", function(seen)
  local values = {}
  for i, rounds in ipairs { 1, 2, 4, 8, 16 } do values[i] = rounds_bits(seen, rounds) end
  local good, text = falling(values)
  return good, "1, 2, 4, 8, 16 rounds: " .. text
end)

claim_on("reformer-figure4", "reformer_p059", function(seen)
  local own, full = rounds_bits(seen, 8), seen:value("Full Attention", per_dim, "imagenet64")
  return own <= full + 0.02, ("%.3f against %.3f"):format(own, full)
end, "bits/dim(LSH-8) <= bits/dim(full) + 0.02")

-- ---- RSA: language models ----

local characters = "bits_per_byte"

-- Paired with its own baseline on every data set that the paper has both for.
local rsa_pairs = { { "RSA-XL", "XL", "enwik8" }, { "RSA-XL", "XL", "text8" }, { "RSA-BRT", "BRT", "enwik8" } }

claim_on("rsa-table3", "rsa_p046", function(seen)
  local parts = {}
  for i, pair in ipairs(rsa_pairs) do
    parts[i] = { seen:lower(characters, pair[1], pair[2], pair[3]) }
  end
  return seen:all(parts)
end)

-- Parameter-efficient: fewer bits at every size than the baseline and than learned matrices.
claim_on("rsa-figure4", "rsa_p048", function(seen)
  local parts = {}
  for _, row in ipairs(seen:rows "^FL%-XL ") do
    local width = row:match "%d+$"
    for _, other in ipairs { "XL " .. width, row } do
      parts[#parts + 1] = { seen:lower(characters, "RSA-XL " .. width, other, "text8") }
    end
  end
  return seen:all(parts)
end)

claim_on("rsa-figure4", "rsa_p051", function(seen)
  local parts, gates = {}, {}
  for i, part in ipairs { 30, 65, 100 } do
    parts[i] = { seen:lower(characters, "RSA-XL " .. part, "XL " .. part, "enwik8") }
    gates[i] = seen:value("RSA-XL " .. part, "rsa_gate", "enwik8")
  end
  parts[#parts + 1] = { gates[1] >= gates[2] and gates[2] >= gates[3] and "holds" or "fails",
    ("gates at 30, 65 and 100 percent: %.3f, %.3f, %.3f"):format(gates[1], gates[2], gates[3]) }
  return seen:all(parts)
end)

-- Bytes of a training step beyond values and gradients of the parameters.
local function activation_bytes(seen, row) return seen:value(row, "peak_memory_bytes") - 8 * seen:value(row, "parameters") end

-- The largest over the smallest of what `measure` says of the rows that a pattern names, and how often it rises.
local function growth(seen, pattern, measure)
  local values, rises = {}, 0
  for i, row in ipairs(seen:rows(pattern)) do
    values[i] = measure(seen, row)
    if i > 1 and values[i] > values[i - 1] then rises = rises + 1 end
  end
  if #values < 2 then return nil end
  return math.max(table.unpack(values)) / math.min(table.unpack(values)), rises, #values
end

local function step_time(seen, row) return seen:value(row, "step_time_ms") end

-- The feed-forward chunks and the narrow buckets of LSH leave nothing that grows with depth but the buckets.
claim_on("reformer-table3", "reformer_p002", function(seen)
  local grows = growth(seen, "^Reformer, length 512, batch 1,", activation_bytes)
  local kept = growth(seen, "^LSH Transformer, length 512, batch 1,", activation_bytes)
  if not grows or not kept then return "undecided", "not measured" end
  return grows < 1.1 and kept > 2, ("2 to 16 layers: memory times %.2f, with activations kept %.2f"):format(grows, kept)
end, "activation memory independent of the number of layers")

claim_on("reformer-table1", "reformer_p018", function(seen)
  local function memory(variant) return growth(seen, "^" .. variant .. ", length %d+, batch 1, heads 1$", activation_bytes) end
  local efficient, whole = memory "Memory%-Efficient", memory "Scaled Dot%-Product"
  if not efficient or not whole then return "undecided", "not measured" end
  return efficient <= 8.8 and whole > 20, ("longest against shortest: memory times %.1f, with all scores %.1f"):format(efficient, whole)
end, "memory proportional to length")

claim_on("reformer-figure5", "reformer_p060", function(seen)
  local parts = {}
  for i, hashes in ipairs { "1 hash", "2 hashes", "4 hashes", "8 hashes" } do
    local grows = growth(seen, "^LSH, " .. hashes .. " ", step_time)
    if not grows then return "undecided", "not measured" end
    parts[i] = { grows < 1.5 and "holds" or "fails", ("%s: slowest length takes %.2f of the fastest's time"):format(hashes, grows) }
  end
  local full, rises, count = growth(seen, "^Full attention ", step_time)
  parts[5] = { rises == count - 1 and full > 4 and "holds" or "fails", ("full attention: %.1f"):format(full) }
  return seen:all(parts)
end, "time(LSH) within 1.5 over all lengths, time(full) rising")

claim_on("reformer-figure5", "reformer_p062", function(seen)
  local values = {}
  for i, row in ipairs(seen:rows "^Reformer ") do values[i] = seen:value(row, per_dim, "enwik8-64K") end
  if #values < 2 then return "undecided", "not measured" end
  local good, text = falling(values)
  return good, "bits/dim by layers: " .. text
end, "bits/dim(reformer) decreases with the number of layers")

return bench
