-- How far back a model looks: what a row may ask, the one number, the probes and the chart of them.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local context = require "longhaul.run.context"
local identity = require "longhaul.run.identity"
local lh = require "longhaul"
local results = require "longhaul.report.results"
local plan = require "longhaul.run.plan"
local runner = require "longhaul.run.runner"
local csv = require "longhaul.run.csv"
local core = require "longhaul.core"

local function kept(values)
  local points = { { part = "position", distance = 1, value = 0 } }
  for i, value in ipairs(values) do
    points[#points + 1] = { part = "kept", distance = 2 ^ (i - 1), value = value }
  end
  return points
end

t.test("95 % of the gain lies within a distance", function()
  -- of 4 bits 3.8 are gained at 4 tokens
  t.near(context.tokens(kept { 8, 6, 4.2, 4 }), 4, 1e-9)
  -- half of the way from 2 to 4 tokens, as logarithms go
  t.near(context.tokens(kept { 8, 4.4, 4, 4 }), 2 * 2 ^ 0.5, 1e-9)
  -- what more tokens lose is no gain
  t.near(context.tokens(kept { 8, 4, 5, 6 }), 2 ^ 0.95, 1e-9)
  t.equal(context.tokens(kept { 4, 5, 6 }), nil)
  t.equal(context.tokens {}, nil)
end)

t.test("a gain within twice its error is chance, and has no distance", function()
  local points = kept { 8, 7.9, 7.8 }
  points[4].error = 0.11
  t.equal(context.tokens(points), nil)
  points[4].error = 0.09
  t.check(context.tokens(points) ~= nil)
end)

t.test("numbers of passages may be written as those of steps", function()
  t.equal(context.text(context.read { length = 2e2 - 72, passages = 1e3 }), "context length=128 passages=1000")
end)

t.test("what a row may not ask", function()
  for wrong, says in pairs {
    ["a power of 2"] = { length = 12 }, ["up to 2^31"] = { length = 1 << 62 },
    ["at most 2^47 tokens"] = { length = 1 << 31, passages = 1 << 20 },
    ["length and passages, not 'passage'"] = { length = 8, passage = 4 },
    ["how many are read, an integer of at least 1"] = { length = 8, passages = 0 },
  } do
    t.contains(select(2, context.read(says)), wrong)
  end
end)

local function bench_of(asked)
  local bench = lh.experiment "looks-back"
  bench:row {
    "r", model = lh.models.lstm { layers = 1, width = 4, hidden = 8 },
    task = lh.tasks.language_model {
      lh.data.text { "generate:books", documents = 8, document_bytes = 400, tokens = "bytes" },
      segment = 16, batch = 2, evaluate_batches = 6,
    },
    train = lh.train { steps = 2 }, dataset = "books", context = asked,
  }
  bench:plot { "profile", part = "kept" }
  return bench
end

t.test("a task without tokens is refused before any training", function()
  local bench = lh.experiment "looks-back"
  bench:row { "r", model = lh.models.informer { width = 8, heads = 2 }, train = lh.train { steps = 2 },
    task = lh.tasks.forecasting { lh.data.series { "generate:seasonal", series_rows = 200 }, batch = 2,
      seq_len = 5, label_len = 2, pred_len = 3 },
    context = { length = 8 } }
  local run = plan.of(bench, { scale = "smoke", device = "cpu", results = "none" })[1]
  t.check(not plan.identify(run.shared))
  t.contains(run.refusal, "context: the task forecasting predicts no tokens one after the other")
end)

t.test("passages that fill no batch are, too", function()
  local run = plan.of(bench_of { length = 8, passages = 1 }, { scale = "smoke", device = "cpu", results = "none" })[1]
  t.check(not plan.identify(run.shared))
  t.contains(run.refusal, "context: passages = 1 fill no batch of 2 rows")
end)

-- Trains a row that asks; its run, and the folder of results.
local function trained(asked)
  local folder = os.tmpname()
  os.remove(folder)
  local failed = runner.run(bench_of(asked), { scale = "smoke", device = "cpu", results = folder,
    no_timing = true })
  t.equal(failed, 0)
  return (csv.read(folder .. "/looks-back/runs.csv"))[1], folder
end

t.test("a row whose documents are too short says so", function()
  local run, folder = trained { length = 4096, passages = 4 }
  t.equal(run.status, "done")
  t.equal(run.context_tokens or "", "")
  t.contains(run.error, "has no batch of passages of 4096 tokens")
  core.remove_file(folder .. "/looks-back/runs.csv")
end)

t.test("a row that asks is another run; one that does not is the run that it was", function()
  local function configuration(asked)
    local row = bench_of(asked).rows[1]
    return identity.configuration({ row = row, experiment = "e", scale = "small", device = "cpu" },
      "d", "")
  end
  t.check(configuration() ~= configuration { length = 16 }, "it leaves probes that the other lacks")
  t.check(configuration { length = 8 } ~= configuration { length = 16 }, "of other passages")
  t.equal(configuration { length = 16 }, configuration { length = 16, passages = 256 })
end)

t.test("a run leaves probes and its number", function()
  local run, folder = trained { length = 16, passages = 4 }
  local values = {}
  for _, probe in ipairs((csv.read(("%s/looks-back/probes/%s.csv"):format(folder, run.run_id)))) do
    values[probe.name] = tonumber(probe.value)
  end
  for _, name in ipairs { "kept_1", "kept_16", "changed_1", "changed_8", "position_1", "recall_1" } do
    t.check(values["context_" .. name] ~= nil, name)
  end
  t.check(values.context_kept_16 > 0 and values.context_kept_16 < 12, "bits of a byte")
  t.equal(values.context_kept_32, nil)
  local bench = bench_of { length = 16, passages = 4 }
  local settings = { scale = "smoke", device = "cpu", results = folder }
  local made = chart.values(bench, settings, results.of(bench, settings), true)[1]
  local curve = made.blocks[1][2][1]
  t.equal(#curve, 5)
  t.equal(curve[5][1], 16)
  t.near(curve[5][2], values.context_kept_16, 1e-9)
  t.contains(made.title, "bits/token by tokens kept before it (scale smoke)")
  core.remove_file(folder .. "/looks-back/runs.csv")
end)

t.finish()
