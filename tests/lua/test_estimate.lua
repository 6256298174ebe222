-- What is expected of runs before they are run: by runs of the same that were trained here, by a few
-- steps in memory, by FLOPs; once for rows that are alike; and what would be refused.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local estimate = require "longhaul.run.estimate"
local jobs = require "longhaul.run.jobs"
local lh = require "longhaul"
local lists = require "longhaul.run.lists"
local outlook = require "longhaul.run.outlook"
local progress = require "longhaul.run.progress"
local store = require "longhaul.run.store"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
function core.cache_folder() return folder .. "/cache" end

local machine = core.machine()

-- Processors that others use, by a clock of the system that a test sets.
local load = 0
function core.cpu_time() return load * core.clock(), 0, 2 end

local function corpus(documents)
  return lh.data.text { "generate:books", documents = documents, document_bytes = 2000 }
end

local function row_of(label, changes)
  local row = {
    label = label, dataset = "books", train = lh.train { steps = 10 },
    model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 },
    task = lh.tasks.language_model { corpus(4), segment = 64, batch = 2 },
  }
  for name, value in pairs(changes or {}) do row[name] = value end
  return row
end

local opened = 0

local function open(run)
  opened = opened + 1
  return core.session { model = run.row.model.options, task = run.row.task.options,
    train = run.row.train.options, seed = 1, device = "cpu" }
end

-- What is expected of rows, run by run; `more`: open, stores, threads.
local function expected_of(rows, more)
  local runs, settings = {}, { machine = machine, device = "cpu", stores = {},
    threads = function() return machine.threads end }
  for i, row in ipairs(rows) do runs[i] = { row = row, seed = 1 } end
  for name, value in pairs(more or {}) do settings[name] = value end
  estimate.fill(runs, settings)
  return runs
end

t.test("what chooses by a size that the tokens do not tell is refused", function()
  local words = lh.tasks.language_model {
    lh.data.text { "generate:books", documents = 4, document_bytes = 2000, tokens = "words:train:50" },
    segment = 64, batch = 2,
  }
  local kept = lh.train { steps = 10, evaluate_every = 5, keep_best = "bits_per_byte" }
  local by = { label = "trial", tune = lh.tune { rate = { 0.1, 0.3 }, by = "valid_word_perplexity" } }
  local runs = expected_of {
    row_of("kept", { task = words, train = kept }), row_of("trial", { task = words, tried_for = by }),
    row_of("spelled", { train = kept, tried_for = by }), row_of("loss", { task = words }),
  }
  t.contains(runs[1].refusal, "keep_best: 'valid_bits_per_byte' is over the bytes of the text, but its tokens do not")
  t.contains(runs[2].refusal, "tune: 'valid_word_perplexity' is over the words of the text, but its tokens do not")
  t.equal(runs[3].refusal, nil)
  t.equal(runs[4].refusal, nil)
end)

t.test("by FLOPs alone: time grows with steps, memory is unknown", function()
  local runs = expected_of { row_of "a", row_of("a", { train = lh.train { steps = 1010 } }) }
  local short, long = runs[1].expected, runs[2].expected
  t.equal(short.by, "FLOPs")
  t.equal(short.bytes, nil)
  t.near(long.seconds - short.seconds, 1000 * short.step_s, 1e-9)
  t.check(short.step_s > 0 and short.parameters > 0, "sizes")
end)

t.test("opening, passes and what is written take their seconds, too", function()
  local kept, later = { folder = core.cache_folder, write = core.write_file, clock = core.clock }, 0
  local function rest(of)
    local passes = (of.passes.valid + of.passes.test) / 128 + 2
    return of.seconds - of.open_s - 10 * of.step_s - passes * of.pass_s
  end
  function core.cache_folder() return "" end
  local opens = expected_of({ row_of "a" }, { open = open })[1].expected
  core.cache_folder = kept.folder
  function core.clock() return later end
  function core.write_file() later = later + 1 end
  local writes = expected_of({ row_of "a" })[1].expected
  core.write_file, core.clock = kept.write, kept.clock
  t.check(opens.open_s > 0)
  t.near(rest(opens), 0, 1e-9)
  t.near(rest(writes), 6, 1e-9)
end)

t.test("a pass goes over one batch, however many segments a step goes through", function()
  local runs = expected_of { row_of "one", row_of("four", { train = lh.train { steps = 10, segments_per_step = 4 } }) }
  local one, four = runs[1].expected, runs[2].expected
  t.near(four.step_s / one.step_s, 4, 1e-6)
  t.near(four.pass_s / one.pass_s, 1, 1e-6)
end)

t.test("one of rows that are alike is tried, once, and the cache folder keeps it", function()
  local rows = { row_of "a", row_of("a rate=1", { tried_for = row_of "a" }),
    row_of("a", { task = lh.tasks.language_model { corpus(5), segment = 64, batch = 2 } }),
    row_of("b", { model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 32 } }) }
  opened = 0
  local first = expected_of(rows, { open = open })
  t.equal(opened, 2)
  for _, run in ipairs(first) do t.equal(run.expected.by, "probe") end
  t.check(first[1].expected.bytes > 16 * first[1].expected.parameters / 2, "a peak of memory")
  t.equal(first[3].expected.step_s, first[1].expected.step_s)
  local again = expected_of(rows)
  t.equal(opened, 2)
  t.equal(again[4].expected.step_s, first[4].expected.step_s)
  t.equal(#csv.read(folder .. "/cache/rates.csv"), 2)
end)

t.test("a damaged cache is none", function()
  local path = folder .. "/cache/rates.csv"
  local kept = core.read_file(path)
  for from, to in pairs { ["\n([^\n]+),[^,\n]*\n$"] = "\n%1,x\n", ["cpu,[^\n]*\n$"] = "cpu,\n",
    ["(\n[^,\n]+,[^,\n]+),%d+,"] = "%1,," } do
    core.write_file(path, (kept:gsub(from, to)))
    t.equal(expected_of({ row_of "a" })[1].expected.by, "FLOPs")
  end
  core.write_file(path, kept)
  t.equal(expected_of({ row_of "a" })[1].expected.by, "probe")
end)

t.test("rows that differ in what training takes of memory are tried apart", function()
  local before, rows = opened, {}
  for i, changes in ipairs { { momentum = 0 }, { momentum = 0.9 }, { accumulate = 2 } } do
    changes.steps, changes.optimizer = 10, "sgd"
    rows[i] = row_of("own " .. i, { train = lh.train(changes) })
  end
  local runs = expected_of(rows, { open = open })
  t.equal(opened - before, 3)
  t.check(runs[1].expected.bytes < runs[2].expected.bytes)
end)

-- Lets all probes that are known have gone at this rate, until what it gives is called: a busy machine shortens
-- some and not others. Beside them one of a far larger step and one of more threads have gone at other rates.
local function with_probes_at(flops_per_second)
  local path = folder .. "/cache/rates.csv"
  local kept, records = core.read_file(path), csv.read(path)
  for _, record in ipairs(records) do record.step_s = tonumber(record.flops) / flops_per_second end
  local large, more = { signature = "large", flops = 1e15 }, { signature = "more", threads = machine.threads + 1 }
  for _, own in ipairs { large, more } do
    records[#records + 1] = lh.merged(records[1], lh.merged(own, { step_s = 1e-6 }))
  end
  csv.write(path, lists.keys(records[1]), records)
  return function() core.write_file(path, kept) end
end

t.test("a small model's rate says nothing of a large one", function()
  local near = row_of("near", { model = lh.models.slide { layers = 2, width = 16, heads = 2, window = 16 } })
  local far = row_of("far", { model = lh.models.slide { layers = 8, width = 64, heads = 2, window = 32 } })
  local measure = core.matmul_rate
  function core.matmul_rate() return 1e11 end
  local restore = with_probes_at(1e9)
  local runs = expected_of { row_of "a", near, far }
  restore()
  core.matmul_rate = measure
  local function rate(run) return run.expected.flops_per_token / run.expected.step_s end
  t.equal(runs[1].expected.by, "probe")
  t.equal(runs[2].expected.by, "FLOPs")
  t.near(3 * 128 * rate(runs[1]), 1e9, 1e6)
  t.near(3 * 128 * rate(runs[2]), 1e9, 1e6)
  t.equal(runs[3].expected.by, "FLOPs")
  t.near(3 * 128 * rate(runs[3]), 0.5 * 1e11, 1e6)
end)

-- A row whose steps have so many positions.
local function row_of_positions(label, segment, train)
  return row_of(label, { train = lh.train(lh.merged({ steps = 10 }, train or {})),
    task = lh.tasks.language_model { corpus(4), segment = segment, batch = 2 } })
end

t.test("a batch that would take seconds is neither read nor tried", function()
  local read = core.task_passes
  function core.task_passes() error "it was read" end
  opened = 0
  local row = row_of_positions("huge", 3e7, { evaluate_every = 5, keep_best = "bits_per_byte" })
  local run = expected_of({ row }, { open = open })[1]
  core.task_passes = read
  t.equal(run.refusal, nil)
  t.equal(opened, 0)
  t.equal(run.expected.by, "FLOPs")
  t.equal(run.expected.unread, 6e7)
  t.equal(run.expected.least_bytes, 12 * run.expected.parameters + 16 * 6e7)
  local passes = (run.expected.seconds - 10 * run.expected.step_s) / run.expected.pass_s
  t.near(passes, 2 + 2 + 2, 0.1) -- during training, after it, of memory
end)

t.test("a step of very many positions is not tried, however few FLOPs they have", function()
  local describe = core.describe
  function core.describe(...) return setmetatable({ flops_per_token = 1 }, { __index = describe(...) }) end
  opened = 0
  local rows = { row_of_positions("many", 2 ^ 20), row_of_positions("rounds", 64, { segments_per_step = 2 ^ 14 }) }
  local runs = expected_of(rows, { open = open })
  core.describe = describe
  t.equal(opened, 0)
  for _, run in ipairs(runs) do t.equal(run.expected.by, "FLOPs") end
  t.equal(runs[1].expected.unread, nil)
end)

t.test("a step that is longer than was thought is tried once", function()
  local clock, steps = core.time_steps, 0
  function core.time_steps(sessions, warmup, count)
    steps = steps + warmup + count
    local times = clock(sessions, warmup, count)
    times[1].median_ms = 2001
    return times
  end
  local row = row_of("slow", { model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 24 } })
  local run = expected_of({ row }, { open = open })[1]
  core.time_steps = clock
  t.equal(steps, 1)
  t.near(run.expected.step_s, 2.001, 1e-9)
end)

t.test("what fewer threads take is tried apart and kept apart", function()
  local function one() return 1 end
  local row = row_of("t", { model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 8 } })
  local before = #csv.read(folder .. "/cache/rates.csv")
  opened = 0
  local alone = expected_of({ row }, { open = open, threads = one })
  local all = expected_of({ row }, { open = open })
  t.equal(opened, machine.threads == 1 and 1 or 2)
  t.equal(core.machine().threads, machine.threads)
  t.equal(expected_of({ row }, { threads = one })[1].expected.step_s, alone[1].expected.step_s)
  t.equal(expected_of { row }[1].expected.step_s, all[1].expected.step_s)
  t.equal(#csv.read(folder .. "/cache/rates.csv"), before + opened)
end)

t.test("what was tried while others used the machine is tried again when it is idle", function()
  local row = row_of "u"
  row.model = lh.models.slide { layers = 1, width = 24, heads = 2, window = 8 }
  local function load_of(more) return expected_of({ row }, more)[1].expected.load end
  load, opened = 100, 0 -- so that a short probe sees it; there are two processors
  t.near(load_of { open = open }, 2, 0.1)
  t.near(load_of { open = open }, 2, 0.1)
  t.near(load_of(), 2, 0.1)
  t.equal(opened, 1)
  load = 0
  t.equal(load_of { open = open }, nil)
  t.equal(load_of { open = open }, nil)
  t.equal(opened, 2)
end)

t.test("what was tried with other kernels is tried again", function()
  local row, own = row_of "k", machine.kernels
  row.model = lh.models.slide { layers = 1, width = 40, heads = 2, window = 8 }
  opened = 0
  for _, kernels in ipairs { own, "cpu-other", own, "cpu-other" } do
    machine.kernels = kernels
    expected_of({ row }, { open = open })
  end
  machine.kernels = own
  t.equal(opened, 2)
end)

t.test("a plan is divided as its runs will be", function()
  local narrow = row_of "n"
  local wide = row_of("w", { model = lh.models.slide { layers = 4, width = 1024, heads = 8 },
    task = lh.tasks.language_model { corpus(4), segment = 512, batch = 8 } })
  local function lanes(row, asked, all, count) return table.concat({ jobs.lanes(row, asked, all, count) }, " ") end
  t.equal(lanes(narrow, nil, 4, 10), "4 1")
  t.equal(lanes(narrow, 2, 4, 10), "2 2")
  t.equal(lanes(narrow, 8, 4, 10), "1 8")
  t.equal(lanes(narrow, 8, 4, 1), "4 1")
  t.equal(lanes(narrow, "auto", 4, 10), "1 4")
  t.equal(lanes(narrow, "auto", 4, 2), "1 2")
  t.equal(lanes(wide, "auto", 4, 10), "4 1")
end)

t.test("seconds until all have ended, and those of all together", function()
  local row, runs = row_of "n", {}
  for i, seconds in ipairs { 10, 20, 30 } do runs[i] = { row = row, expected = { seconds = seconds } } end
  runs[4] = { row = row, refusal = "no" }
  local function seconds(asked) return table.concat({ outlook.seconds(runs, { jobs = asked }) }, " ") end
  t.equal(seconds(nil), "60.0 60")
  t.equal(seconds(2), "30.0 60")
  t.equal(seconds(4), "30 60") -- not before the longest has ended
end)

t.test("step times take the steps of each row and one rate of products for a data set", function()
  local runs = {}
  for i, dataset in ipairs { "books", "books", "lists" } do
    runs[i] = { row = row_of("n" .. i, { dataset = dataset }), expected = { open_s = 1, step_s = 0.5, pass_s = 2 } }
  end
  runs[4] = runs[1] -- another seed
  t.near(estimate.timing(runs, "smoke"), 3 * (1 + 4 * 0.5 + 2 * 2) + 2 * 0.25, 1e-12)
end)

t.test("a larger vocabulary costs what its FLOPs and parameters say", function()
  local words = lh.data.text { "generate:books", documents = 4, document_bytes = 2000,
    tokens = "sentencepiece:train:500" }
  local good = pcall(core.task_info, lh.tasks.language_model { words }.options)
  if not good then t.skip "built without SentencePiece" end
  local runs = expected_of({ row_of "v", row_of("v", { dataset = "words",
    task = lh.tasks.language_model { words, segment = 64, batch = 2 } }) }, { open = open })
  local bytes, sub_words = runs[1].expected, runs[2].expected
  for _, part in ipairs { "step_s", "pass_s" } do
    t.near(sub_words[part] / bytes[part], sub_words.flops_per_token / bytes.flops_per_token, 1e-9)
  end
  t.equal(sub_words.bytes - bytes.bytes, 16 * (sub_words.parameters - bytes.parameters))
end)

t.test("what parameters take at least is what their optimizer keeps of them", function()
  local size = lh.models.slide { layers = 1, width = 256, heads = 2, window = 16 }
  for text, bytes in pairs { ["optimizer=sgd momentum=0"] = 8, ["optimizer=sgd"] = 12, ["optimizer=adam"] = 16,
    ["optimizer=adamw"] = 16, ["optimizer=adafactor momentum=0"] = 8, ["optimizer=adafactor"] = 12 } do
    local changes = { steps = 1 }
    for name, value in text:gmatch "(%w+)=(%w+)" do changes[name] = tonumber(value) or value end
    local row = row_of("o", { model = size, train = lh.train(changes) })
    local expected = expected_of({ row })[1].expected
    t.equal(expected.least_bytes, bytes * expected.parameters + 16 * 128)
    local session <close> = open { row = row }
    session:inference_memory()
    local peak = session:info().peak_memory_bytes
    t.check(peak >= expected.least_bytes, text .. ": it takes less")
    t.check(peak < expected.least_bytes + 4 * expected.parameters, text .. ": it takes another number of each")
  end
end)

t.test("what was trained here wins, what was trained elsewhere says nothing", function()
  local row = row_of "a"
  local record = {
    run_id = "x", configuration = "c", row = "a", dataset = "books", seed = 1, scale = "smoke",
    device = "cpu", status = "done", identity = 2, class = row.model.name, task = row.task.name,
    model_options = row.model.text, task_options = row.task.text, precision = "f32",
    tokens_per_second = 64, peak_memory_bytes = 12345, machine = machine.cpu,
    kernels = machine.kernels, threads = machine.threads,
  }
  local results = store.open(folder, "trained")
  results:put(record)
  local own = expected_of({ row }, { stores = { results } })[1].expected
  t.equal(own.by, "runs")
  t.near(own.step_s, 2, 1e-12) -- 128 tokens
  t.equal(own.bytes, 12345)
  local two = row_of("a", { train = lh.train { steps = 10, segments_per_step = 2 } })
  t.near(expected_of({ two }, { stores = { results } })[1].expected.step_s, 4, 1e-12)
  record.training_tokens_per_second = 128 -- the other one is a round's
  results:put(record)
  t.near(expected_of({ row }, { stores = { results } })[1].expected.step_s, 1, 1e-12)
  record.status = "failed"
  results:put(record)
  t.equal(expected_of({ row }, { stores = { results } })[1].expected.by, "probe")
  record.device, record.status = "cuda", "done"
  results:put(record)
  t.equal(expected_of({ row }, { stores = { results } })[1].expected.by, "probe")
  record.device = "cpu"
  -- of an older store, which did not keep the threads
  record.threads = nil
  results:put(record)
  t.equal(expected_of({ row }, { stores = { results } })[1].expected.by, "probe")
  record.machine, record.threads = "another", machine.threads
  results:put(record)
  t.equal(expected_of({ row }, { stores = { results } })[1].expected.by, "probe")
  -- a processor of the same name with other instructions
  record.machine, record.kernels = machine.cpu, "cpu-other"
  results:put(record)
  t.equal(expected_of({ row }, { stores = { results } })[1].expected.by, "probe")
  record.kernels = machine.kernels
  for _, gone in ipairs { "class", "task", "model_options", "task_options", "precision" } do
    results:put(record)
    t.equal(expected_of({ row }, { stores = { results } })[1].expected.by, "runs")
    local records, columns = csv.read(results.file)
    for i, name in ipairs(columns) do
      if name == gone then table.remove(columns, i) end
    end
    csv.write(results.file, columns, records)
    t.equal(expected_of({ row }, { stores = { results } })[1].expected.by, "probe")
  end
end)

t.test("evaluations count, those during training too", function()
  local rows = { row_of("e", { train = lh.train { steps = 10 } }),
    row_of("e", { train = lh.train { steps = 10, evaluate_every = 4 } }),
    row_of("e", { train = lh.train { steps = 10, evaluate_every = 4, evaluate_test = true } }) }
  local runs = expected_of(rows, { open = open })
  local plain, evaluated, watched = runs[1].expected, runs[2].expected, runs[3].expected
  local pass, tokens = plain.pass_s, 128
  t.check(plain.passes.valid > 0 and plain.passes.test > 0, "tokens of both splits")
  t.near(evaluated.seconds - plain.seconds, 2 * plain.passes.valid / tokens * pass, 1e-9)
  t.near(watched.seconds - evaluated.seconds, 2 * plain.passes.test / tokens * pass, 1e-9)
end)

t.test("a row that would fail is refused as it would fail, and no other", function()
  local runs = expected_of({ row_of("bad", { model = lh.models.slide { width = 16, heads = 3 } }),
    row_of "good" }, { open = open })
  t.equal(runs[1].expected, nil)
  t.contains(runs[1].refusal, "heads")
  t.equal(runs[2].refusal, nil)
  t.check(runs[2].expected, "the other is expected")
end)

t.test("an evaluation's progress has its share where the split's size is known", function()
  local said
  local board = { show = function(_, _, p) said = p end, finish = function() end }
  local run = { expected = { passes = { valid = 4000, test = 100 } } }
  local shown = progress.new("row", board, run)
  shown:evaluating("valid", 1000)
  t.equal(said.text, "evaluating valid: 1K tokens, 25 %")
  shown:evaluating("test", 1000) -- more than was counted
  t.equal(said.text, "evaluating test: 1K tokens")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
