-- What runs side by side, and the time that is left for a sweep.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local lh = require "longhaul"

-- The clock stands until a test moves it.
local now = 1000
function core.clock() return now end

local extension = require "longhaul.run.extension"
local forecast = require "longhaul.run.forecast"
local identity = require "longhaul.run.identity"
local jobs = require "longhaul.run.jobs"
local plan = require "longhaul.run.plan"
local plugins = require "longhaul.run.plugins"
local ranks = require "longhaul.run.ranks"
local store = require "longhaul.run.store"
local training = require "longhaul.run.training"
local work = require "longhaul.run.work"

local books = lh.data.text { "generate:books", documents = 3, document_bytes = 1000 }

-- A row of the model with batches of so many tokens.
local function row_of(model, steps, batch, segment)
  return {
    model = model, task = lh.tasks.language_model { books, segment = segment or 64, batch = batch
      or 2 },
    train = lh.train { steps = steps or 10 },
  }
end

local function run_of(row, configuration)
  return { row = row, identity = { configuration = configuration } }
end

local slide = lh.models.slide { layers = 2, width = 32, heads = 2, window = 16 }
local wide = lh.models.slide { layers = 12, width = 512, heads = 8, window = 16 }

t.test("work grows with steps and batches", function()
  local one = work.of(row_of(slide)).run
  t.near(work.of(row_of(slide, 20)).run, 2 * one, 1e-6 * one)
  t.near(work.of(row_of(slide, 10, 4)).run, 2 * one, 1e-6 * one)
end)

t.test("what comes one after the other cannot be shared", function()
  local wide_lstm = lh.models.lstm { width = 512, hidden = 1024 }
  t.check(work.of(row_of(wide_lstm, 10, 16)).run > 10 * 16 * 2.5e9)
  t.equal(work.threads(row_of(wide_lstm, 10, 16), 16), 1)
  t.equal(work.threads(row_of(lh.models.feedback { layers = 8, width = 256, heads = 8 }, 10, 16),
    16), 1)
end)

t.test("a small model fills one thread, a large one all", function()
  t.equal(work.threads(row_of(slide), 16), 1)
  t.equal(work.threads(row_of(wide, 10, 16), 16), 16)
  t.equal(work.threads(row_of(wide, 10, 16), 2), 2)
end)

t.test("a row that will fail has some work", function()
  t.check(work.of(row_of(lh.models.slide { width = 16, heads = 3 })).run > 0)
end)

t.test("more than there are processors is noted", function()
  local two = { cores = 2, threads = 2 }
  t.equal(jobs.note(two, nil), nil)
  t.equal(jobs.note(two, "auto"), nil)
  t.equal(jobs.note(two, 2), nil)
  t.contains(jobs.note(two, 3), "3 runs side by side on 2 processors take turns")
  t.contains(jobs.note({ cores = 1, threads = 1000 }, nil), "1000 threads on 1 processor take turns")
  t.contains(jobs.note({ cores = 1, threads = 4 }, 3), "4 threads on 1 processor")
end)

t.test("threads are divided among as many as there are", function()
  local row = row_of(slide)
  t.equal(jobs.share(row, 2, 8, 0, 0, 5), 4)
  t.equal(jobs.share(row, 2, 8, 4, 1, 4), 4)
  t.equal(jobs.share(row, 2, 8, 8, 2, 3), 0)
  t.equal(jobs.share(row, 4, 8, 0, 0, 2), 4) -- two are left
  t.equal(jobs.share(row, 16, 2, 0, 0, 20), 1)
end)

t.test("by itself each has what it can fill, the last one all that is free", function()
  t.equal(jobs.share(row_of(slide), nil, 2, 0, 0, 5), 1)
  t.equal(jobs.share(row_of(slide), nil, 2, 2, 2, 5), 0)
  t.equal(jobs.share(row_of(wide, 10, 16), nil, 2, 1, 1, 5), 0) -- it waits for both
  t.equal(jobs.share(row_of(slide), nil, 8, 2, 2, 1), 6)
end)

t.test("memory is promised once, and never beyond what is there", function()
  local gib = 2 ^ 30
  local begun = { need = 4 * gib, used = 1 * gib }
  t.equal(jobs.fits(5 * gib, { begun }, 10 * gib), true) -- 3 are still promised
  t.equal(jobs.fits(7 * gib, { begun }, 10 * gib), false)
  t.equal(jobs.fits(nil, { begun }, 10 * gib), true) -- as much as the other
  t.equal(jobs.fits(nil, { begun }, 7 * gib), false)
  -- nobody knows what that one takes
  t.equal(jobs.fits(1 * gib, { { used = 0 } }, 100 * gib), false)
  t.check(core.memory() > 0 and select(2, core.memory()) > 0)
end)

t.test("the time left is that of the work left", function()
  local row = row_of(slide)
  local runs = { run_of(row, "a"), run_of(row, "b"), run_of(row_of(slide, 20), "c") }
  local made = forecast.new(5, runs)
  t.equal(made:text(), "2 of 5 runs done, all ETA ?")
  made:begin(runs[1])
  made:show(runs[1], 0, 10)
  now = now + 8
  made:show(runs[1], 4, 10)
  t.near(made:left(), 12 + 20 + 40, 1e-6) -- 2 s a step
  now = now + 0.5
  t.near(made:left(), 71.5, 1e-6)
  now = now + 11.5
  made:finish(runs[1], true)
  t.equal(made:text(), "3 of 5 runs done, all ETA 1m00s")
end)

t.test("what is expected counts from the start, and is put right by what runs take", function()
  local row = row_of(slide)
  local runs = { run_of(row, "a"), run_of(row, "b"), run_of(row, "c"), run_of(row, "d") }
  for i, seconds in ipairs { 10, 20, 30 } do runs[i].expected = { seconds = seconds } end
  runs[4].refusal = "heads"
  local made = forecast.new(4, runs, {}, { runs = 7, seconds = 100 })
  t.equal(made:text(), "0 of 4 runs done, then 7 more, all ETA 2m40s")
  made:begin(runs[1])
  made:show(runs[1], 0, 10)
  now = now + 15 -- half as long again
  made:finish(runs[1], true)
  t.near(made:left(), 1.5 * (20 + 30 + 100), 1e-6)
end)

t.test("another seed of the same takes as long, and runs go on side by side", function()
  local row = row_of(slide)
  local runs = { run_of(row, "a"), run_of(row, "a"), run_of(row, "b") }
  local made = forecast.new(3, runs, { a = 30, b = 100 })
  made:begin(runs[1])
  made:begin(runs[2])
  t.near(made:left(), 100, 1e-6) -- 30 + 30 + 100 on two lanes is 80, and one run alone takes 100
  now = now + 30
  made:finish(runs[1], true)
  made:put_back(runs[2])
  made:begin(runs[3])
  t.near(made:left(), 130, 1e-6)
end)

t.test("a plan of one run has no line for the whole", function()
  t.equal(forecast.new(1, {}):text(), nil)
end)

-- ---- ranks ----

-- What a run asks of the other ranks, on each of two, and its error: `hinder(results, run)` makes it fail on rank 0 and
-- gives what undoes that.
local function asked_by_ranks(name, hinder)
  local bench = lh.experiment(name)
  bench:row(lh.merged(row_of(slide, 1), { "a" }))
  local settings = { results = os.tmpname(), scale = "smoke", device = "cpu" }
  os.remove(settings.results)
  local run, results = plan.of(bench, settings)[1], store.open(settings.results, name)
  plan.identify(run.shared)
  run.id = identity.id(run)
  local undo, answers, asked = hinder(results, run), {}, { {}, {} }
  local shown = setmetatable({}, { __index = function() return function() end end })
  local share_text, any_rank = core.share_text, core.any_rank
  local function play(list)
    local function answer(kind, own)
      list[#list + 1] = kind
      answers[#list] = answers[#list] or { own }
      return answers[#list][1]
    end
    core.share_text = function(text) return answer("text", text) end
    core.any_rank = function(failed) return answer("any", failed) end
    pcall(training.run, run, results, core.machine(), shown)
  end
  ranks.size = 2
  play(asked[1])
  undo()
  ranks.first = false
  play(asked[2])
  ranks.first, ranks.size, core.share_text, core.any_rank = true, 1, share_text, any_rank
  local said = results:find(run.id).error
  os.execute("rm -r " .. settings.results)
  return table.concat(asked[1], " "), table.concat(asked[2], " "), said
end

t.test("what fails on rank 0 as a run begins is asked for alike on all", function()
  local first, second, said = asked_by_ranks("built", function(results, run)
    local text = plugins.text
    plugins.text = function() return "glru.so 1" end
    core.make_folder(results:builds(run.id)) -- where a file is to be
    return function() plugins.text = text end
  end)
  t.contains(said, ".builds")
  t.equal(second, first)
  first, second, said = asked_by_ranks("extended", function()
    local of = extension.of
    extension.of = function() error("runs.csv is damaged", 0) end
    return function() extension.of = of end
  end)
  t.contains(said, "runs.csv is damaged")
  t.equal(second, first)
end)

t.finish()
