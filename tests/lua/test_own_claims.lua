-- The 21 claims whose predicates are ours: each over values under which it holds, holds in
-- direction, fails, or could not fail; and claims of the list that are judged by what their sentence
-- asks. Values are those of a function of the row; all decide, as costs do.
local t = dofile "tests/test.lua"
local claims = require "longhaul.report.claims"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local evidence = require "longhaul.report.evidence"
local script = require "longhaul.script"
local totals = require "longhaul.report.totals"

local settings = { scale = "paper", results = "results", device = "cpu" }
local by_id, count = {}, 0
for _, claim in ipairs(script.load("experiments/claims.lua", settings).claims) do
  by_id[claim[1]] = claim
end

local function source_of(value)
  return {
    mean = function(_, cell) return value(cell.row, cell.metric, cell.dataset) end,
    seeds = function() return nil end, kind = function() return "cost" end,
    lack = function() return "not run" end,
    quartiles = function() return {} end, rounds = function() return nil end,
    apart = function() return nil end, doubt = function() return nil end,
    data = function() return {} end,
  }
end

-- Judges a claim over the cases { verdict, value(row, metric, dataset) } ...; `look(found)` at what comes of it.
local function judged(id, cases, look)
  t.test(id, function()
    for i, case in ipairs(cases) do
      local found = claims.judge(by_id[id], settings, source_of(case[2]), evidence.printed())
      t.check(found.verdict == case[1],
        ("case %d is '%s', expected '%s': %s"):format(i, found.verdict, case[1], found.measured))
      look(found)
    end
  end)
end

local function turns(id, cases)
  count = count + 1
  judged(id, cases, function(found)
    t.equal(found.predicate_source, "ours")
    t.equal(found.published, "")
  end)
end

-- A claim of the list that is judged by what its sentence asks.
local function asks(id, cases)
  judged(id, cases, function(found) t.equal(found.predicate_source, "paper") end)
end

local function number_in(row, pattern) return tonumber(row:match(pattern)) end

-- Values by the first number in the label.
local function by_number(map) return function(row) return map[number_in(row, "(%d+)")] end end

-- ---- Block-Recurrent Transformer ----

-- Bits that rise by so much for windows of 256 and of 128, against 512.
local function windows(rec, slide)
  local place = { [256] = 1, [128] = 2 }
  return function(row)
    local rises = (row:find "rec$" or row == "one layer") and rec or slide
    return 2 + (rises[place[number_in(row, "window (%d+)")]] or 0)
  end
end
turns("brt_p085", {
  { "holds", windows({ 0.1, 0.2 }, { 0.2, 0.5 }) },
  { "fails", windows({ 0.2, 0.5 }, { 0.1, 0.2 }) },
  { "fails", windows({ 0.1, 0.5 }, { 0.2, 0.4 }) },
  { "fails", windows({ 0.3, 0.4 }, { 0.2, 0.5 }) },
})

-- ---- Staircase ----

-- Memory in training and inference at 2, 4 and 8 steps.
local function memories(training, inference)
  return function(row, metric)
    local place = { ["staircase:r2"] = 1, ["staircase:r4"] = 2, ["staircase:r8"] = 3 }
    return (metric == "peak_memory_bytes" and training or inference)[place[row]]
  end
end
turns("staircase_p034", {
  { "holds", memories({ 1, 2, 4 }, { 10, 10, 10.4 }) },
  { "in direction", memories({ 1, 2, 4 }, { 10, 11, 11 }) },
  { "fails", memories({ 1, 2, 2 }, { 10, 10, 10 }) },
  { "fails", memories({ 1, 2, 4 }, { 10, 20, 50 }) },
  { "in direction", memories({ 1, 2, 4 }, { 10, 10, 9 }) },
})

-- ---- recurrent GPT-2 ----

-- What the plain model has more at windows of 200 to 600.
local function gaps(map)
  return function(row) return 100 + (row:find "^GPT" and map[number_in(row, "window (%d+)")]
    or 0) end
end
turns("gpt2_recurrent_p048", {
  { "holds", gaps { [200] = 9, [300] = 7, [400] = 5, [500] = 3, [600] = 1 } },
  { "in direction", gaps { [200] = 7, [300] = 9, [400] = 5, [500] = 3, [600] = 1 } },
  { "fails", gaps { [200] = 1, [300] = 2, [400] = 3, [500] = 4, [600] = 5 } },
})

-- Perplexities of Figure 5 that fall with the window, three higher for a plain model; but for the rows of `other`.
local function figure5(other)
  return function(row, metric)
    local window, overlap = number_in(row, "window (%d+)"), number_in(row, "overlap (%d+)") or 0
    if metric == "kaplan_flops_per_token" then return window / (window - overlap) * (1e8 + window) end
    return other[row] or 100 - window / 100 + (row:find "^GPT" and 3 or 0)
  end
end
asks("gpt2_recurrent_p049", {
  { "holds", figure5 {} }, { "holds", figure5 { ["GPT-2, window 300"] = 97.5 } },
  { "fails", figure5 { ["GPT-2, window 300"] = 97 } }, { "fails", figure5 { ["GPT-2, window 200"] = 90 } },
  { "fails", figure5 { ["Recurrent, window 600"] = 95.5 } }, -- of recurrent points alone
})

-- ---- Reformer ----

-- Bits of one row above the one it is compared with, on one data set.
local function above(row_name, other, amount, only)
  return function(row, _, dataset)
    if row == other then return 1 end
    return row == row_name and (not only or dataset == only) and 1 + amount or 1
  end
end
turns("reformer_p054", {
  { "holds", above("Shared QK", "Regular", 0) }, { "holds", above("Shared QK", "Regular", -1) },
  { "in direction", above("Shared QK", "Regular", 0.005) },
  { "fails", above("Shared QK", "Regular", 0.02, "imagenet64") },
  { "fails", above("Shared QK", "Regular", 0.02, "enwik8-64K") },
})
turns("reformer_p055", {
  { "holds", above("Reversible", "Regular", 0.02) },
  { "fails", above("Reversible", "Regular", 0.04) },
  { "fails", above("Reversible", "Regular", -0.04, "enwik8-64K") },
  { "fails", above("Reversible", "Regular", 0.04, "imagenet64") },
})
-- Losses by rounds beside one of full attention.
local function beside(full, map)
  local by_rounds = by_number(map)
  return function(row) return row == "Full Attention" and full or by_rounds(row) end
end
turns("reformer_p058", {
  { "holds", beside(1, { 5, 4, [4] = 3, [8] = 2, [16] = 1 }) },
  { "in direction", beside(2, { 5, 4, [4] = 3, [8] = 2, [16] = 1 }) },
  { "fails", beside(0, { 5, 4, [4] = 3, [8] = 2, [16] = 2 }) },
  { "fails", beside(0, { 4, 5, [4] = 3, [8] = 2, [16] = 1 }) },
})
turns("reformer_p059", {
  { "holds", above("LSH-8", "Full Attention", 0) },
  { "holds", above("LSH-8", "Full Attention", 0.01) },
  { "fails", above("LSH-8", "Full Attention", 0.03) },
})

-- Times of LSH at most `spread` apart, those of full attention by length to a power.
local function times(spread, power)
  return function(row)
    local length = number_in(row, "(%d+)$")
    if row:find "^Full" then return length ^ power end
    return row:find "4 hashes" and length == 4096 and spread or 1
  end
end
turns("reformer_p060", { { "holds", times(1.5, 1) }, { "fails", times(1.7, 1) },
  { "fails", times(1.4, 0) }, { "fails", times(1.4, -1) } })
turns("reformer_p062", {
  { "holds", by_number { [12] = 3, [16] = 2, [20] = 1 } },
  { "fails", by_number { [12] = 3, [16] = 2, [20] = 2 } },
  { "fails", by_number { [12] = 1, [16] = 2, [20] = 3 } },
})

-- Activations by variant and what varies, over 10 parameters of 8 bytes.
local function activations(of)
  return function(row, metric)
    if metric == "parameters" then return 10 end
    local variant, length, layers = row:match "^(.-), length", number_in(row, "length (%d+)"),
      number_in(row, "layers (%d+)")
    return 80 + of(variant, length, layers)
  end
end
turns("reformer_p002", {
  { "holds", activations(function(variant, _, layers) return variant == "Reformer"
    and 100 + layers / 2 or 100 * layers end) },
  { "fails", activations(function(variant, _, layers) return variant == "Reformer" and 100 + layers
    or 100 * layers end) },
  { "fails", activations(function() return 100 end) },
})
turns("reformer_p018", {
  { "holds", activations(function(variant, length) return variant == "Memory-Efficient" and length
    or length ^ 2 end) },
  { "fails", activations(function(_, length) return length ^ 2 end) },
  { "fails", activations(function(_, length) return length end) },
})

-- ---- RSA ----

local function gate(value) return function() return value end end

-- Half of the gates at one value, half at another.
local function split(low, high)
  return function(_, _, dataset) return #dataset % 2 == 0 and low or high end
end
turns("rsa_p022", { { "untested", gate(0.735) }, { "holds", gate(0.8) }, { "fails", gate(0.6) },
  { "holds", split(0.73, 0.9) } })
turns("rsa_p023", { { "untested", function(row) return row == "rsa_xl" and 1 or 2 end },
  { "untested", function() return 1 end } })
turns("rsa_p031", { { "untested", gate(0.505) }, { "holds", gate(0.6) }, { "fails", gate(0.75) },
  { "fails", gate(0.45) } })
turns("rsa_p036", { { "untested", gate(0.05) }, { "holds", gate(0.059) }, { "fails", gate(0.07) },
  { "fails", gate(0.03) } })


-- Gates of text8, of enwik8 and of words.
local function gates_of(text8, enwik8, words)
  local by_dataset = { text8 = text8, enwik8 = enwik8, wikitext103 = words }
  return function(_, _, dataset) return by_dataset[dataset] end
end
turns("rsa_p047", {
  { "holds", gates_of(0.5, 0.6, 0.2) }, { "untested", gates_of(0.735, 0.73, 0.265) },
  { "holds", gates_of(0.735, 0.73, 0.2) }, { "holds", gates_of(0.6, 0.73, 0.27) },
  { "fails", gates_of(0.2, 0.6, 0.3) }, { "fails", gates_of(0.6, 0.2, 0.3) },
  { "fails", gates_of(0.3, 0.6, 0.3) },
})

local function kinds(rsa, xl, learned)
  return function(row) return row:find "^RSA" and rsa or row:find "^FL" and learned or xl end
end
turns("rsa_p048", { { "holds", kinds(1, 2, 2) }, { "fails", kinds(1, 2, 1) },
  { "fails", kinds(1, 1, 2) }, { "fails", kinds(3, 2, 4) } })

-- Bits of RSA-XL against 2, and its gates at shares of 30, 65 and 100 percent.
local function parts(bits, gates)
  return function(row, metric)
    if metric == "rsa_gate" then return gates[number_in(row, "(%d+)")] end
    return row:find "^RSA" and bits or 2
  end
end
turns("rsa_p051", {
  { "holds", parts(1, { [30] = 0.7, [65] = 0.6, [100] = 0.6 }) },
  { "fails", parts(3, { [30] = 0.7, [65] = 0.6, [100] = 0.5 }) },
  { "fails", parts(2, { [30] = 0.7, [65] = 0.6, [100] = 0.5 }) },
  { "fails", parts(1, { [30] = 0.7, [65] = 0.5, [100] = 0.6 }) },
})

-- Milliseconds of a step on Weather: with encodings 100, without them `rest`, of one model at one
-- horizon of four `other`.
local function encoded(rest, other)
  return function(row, _, dataset)
    if not row:find ", no REM$" then return 100 end
    if not other or not row:find "LogSparse" then return rest end
    if not dataset then return (3 * rest + other) / 4 end
    return dataset == "Weather 336" and other or rest
  end
end
turns("rsa_p064", {
  { "holds", encoded(81) }, { "holds", encoded(90, 81) },
  { "in direction", encoded(90, 79) }, { "in direction", encoded(90, 60) },
  { "fails", encoded(81, 70) }, { "fails", encoded(79) },
})

-- Steps with encodings over 100 without: of Informer and LogSparse, of XL, of LogSparse at one
-- horizon.
local function slower(others, xl, other)
  return function(row, _, dataset)
    if not row:find "^RSA" then return 100 end
    if row:find "XL" then return xl end
    return other and row:find "LogSparse" and dataset == "Weather 48" and other or others
  end
end
turns("rsa_p065", {
  { "holds", slower(120, 100) }, { "holds", slower(125, 109) }, { "holds", slower(101, 91) },
  { "fails", slower(120, 89) }, { "fails", slower(120, 111) }, { "fails", slower(100, 100) },
  { "fails", slower(126, 100) }, { "fails", slower(120, 100, 99) },
})

turns("rsa_p078", {
  { "holds", function(row) return -number_in(row, "(-?%d)$") end },
  { "fails", function(row) return number_in(row, "(-?%d)$") end },
  { "fails", function(row) return row:find "-1" and 2 or 1 end },
})

t.test("they are 21", function() t.equal(count, 21) end)

t.test("no paper is made up from a name that has the form of a paper's claim", function()
  local papers = { brt_p085 = "brt", brt_p999 = "", sweep_p1 = "" }
  for id, paper in pairs(papers) do
    local claim = { id, says = "nothing", holds = by_id.brt_p085.holds }
    local record = claims.judge(claim, settings, source_of(function() return 1 end), evidence.printed())
    t.equal(record.paper, paper, id)
    t.equal(totals.maker(record), paper ~= "" and paper or record.experiment)
  end
end)

t.test("claims that two scripts call alike over one experiment's cells stand side by side", function()
  local own = os.tmpname()
  os.remove(own)
  core.make_folder(own)
  local function write(script, word)
    claims.write(own, { { paper = "", claim = "better", experiment = "one", verdict = word, scale = "small",
      device = "cpu", predicate_source = "ours", script = script } })
  end
  write(nil, "undecided")
  write("first", "holds")
  write("second", "untested")
  write("second", "fails")
  local verdicts = {}
  for i, record in ipairs((csv.read(own .. "/claims.csv"))) do verdicts[i] = record.script .. " " .. record.verdict end
  t.equal(table.concat(verdicts, ", "), "first holds, second fails")
  t.equal(#totals.best((csv.read(own .. "/claims.csv")), { "small" }, "best"), 2)
  os.execute("rm -r '" .. own .. "'")
end)

t.test("claims of an experiment called all are counted once", function()
  local list = totals.of { { paper = "", experiment = "all", verdict = "holds", predicate_source = "ours",
    scale = "small", device = "cpu", strict = "holds", published = "" } }
  t.equal(#list, 2)
  for _, total in ipairs(list) do t.equal(total.paper .. " " .. total.claims, "all 1") end
end)

t.finish()
