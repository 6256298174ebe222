-- What a run is: whatever its numbers depend on changes its configuration, the seed alone its run
-- id, and nothing else either.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local identity = require "longhaul.run.identity"
local lh = require "longhaul"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"
local script = require "longhaul.script"
local store = require "longhaul.run.store"
local tables = require "longhaul.report.table"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "smoke" }

-- A corpus whose three documents have this word in them.
local function write_corpus(name, word)
  for _, split in ipairs { "train", "valid", "test" } do
    local path = ("%s/%s/%s"):format(folder, name, split)
    core.make_folder(path)
    core.write_file(path .. "/document.txt", (word .. " and nothing else. "):rep(20))
  end
  return folder .. "/" .. name
end

local function task_of(path, more)
  return lh.tasks.language_model(
    lh.merged({ lh.data.text { path, tokens = "bytes" }, segment = 16, batch = 1,
    evaluate_batches = 2 }, more or {}))
end

local slide = lh.models.slide { layers = 1, width = 8, heads = 2, window = 16 }
local train = lh.train { steps = 2, warmup = 1 }
local alike = write_corpus("alike", "one")

local function run_of(changes, row_changes)
  local row = lh.merged({ label = "r", dataset = "d", model = slide, task = task_of(alike),
    train = train }, row_changes or {})
  return lh.merged({ experiment = "e", seed = 1, scale = "smoke", device = "cpu", row = row },
    changes)
end

local function weights_of(text)
  core.write_file(folder .. "/some.safetensors", text)
  return { name = folder .. "/some.safetensors", partly = false }
end

local source_bench = lh.experiment "source"
local function source_of(steps)
  return { experiment = source_bench,
    row = { label = "s", dataset = "d", model = slide, task = task_of(alike), seeds = 2,
    train = lh.train { steps = steps, warmup = 1 } } }
end

-- Each must be a configuration of its own.
local apart = {
  { "the run itself", {} },
  { "experiment", { experiment = "f" } },
  { "label", {}, { label = "q" } },
  { "name of the data set", {}, { dataset = "c" } },
  { "content of the data", {}, { task = task_of(write_corpus("other", "two")) } },
  { "model class", {}, { model = lh.models.xl { layers = 1, width = 8, heads = 2, window = 16 } } },
  { "model option", {}, { model = slide:with { window = 8 } } },
  { "task option", {}, { task = task_of(alike, { segment = 8 }) } },
  { "training option", {}, { train = lh.train { steps = 3, warmup = 1 } } },
  { "micro-batches", {}, { train = lh.train { steps = 2, warmup = 1, accumulate = 2 } } },
  { "segments of a step", {}, { train = lh.train { steps = 2, warmup = 1, segments_per_step = 2 } } },
  { "precision", {}, { train = lh.train { steps = 2, warmup = 1, precision = "bf16" } } },
  { "scale", { scale = "small" } },
  { "device", { device = "cuda" } },
  { "weights", {}, { weights = weights_of "first" } },
  { "a source", {}, { from = source_of(1) } },
  { "another source", {}, { from = source_of(2) } },
  { "weights that the model is larger than", {},
    { weights = { name = folder .. "/some.safetensors", partly = true } } },
}

t.test("whatever numbers depend on is part of the configuration", function()
  local seen = {}
  for _, case in ipairs(apart) do
    local made = identity.of(run_of(case[2], case[3]))
    t.equal(#made.configuration, 16)
    for id, other in pairs(seen) do
      t.check(id ~= made.configuration, ("%s and %s have one configuration"):format(case[1], other))
    end
    seen[made.configuration] = case[1]
  end
end)

t.test("a row that is asked again and again has another configuration where something else is another", function()
  local row, seen = run_of({}).row, {}
  local function configuration(changes, digest, start)
    local run = lh.merged({ experiment = "e", scale = "smoke", device = "cpu" }, changes)
    run.row = row
    return identity.configuration(run, digest or "d", start or "")
  end
  for _, case in ipairs {
    { {} }, { { experiment = "f" } }, { { scale = "small" } }, { { device = "cuda" } }, { {}, "other" },
    { {}, "d", "start" }, { {}, train = lh.train { steps = 3, warmup = 1 } }, -- as its trials chose
  } do
    row.train = train
    configuration {}
    row.train = case.train or train
    local made = configuration(table.unpack(case, 1, 3))
    t.check(not seen[made], "one configuration of two")
    seen[made] = true
  end
end)

t.test("the seed is part of the run id alone", function()
  local one, two = identity.of(run_of {}), identity.of(run_of { seed = 2 })
  t.equal(one.configuration, two.configuration)
  t.check(one.run_id ~= two.run_id and one.run_id ~= one.configuration, "ids")
  t.equal(identity.of(run_of {}).run_id, one.run_id)
end)

t.test("weights are known by their content, wherever they lie", function()
  local first = identity.of(run_of({}, { weights = weights_of "first" })).configuration
  t.check(identity.of(run_of({}, { weights = weights_of "other" })).configuration ~= first,
    "other content, one configuration")
  t.equal(identity.of(run_of({}, { weights = weights_of "first" })).configuration, first)
  core.write_file(folder .. "/moved.safetensors", "first")
  local moved = { name = folder .. "/moved.safetensors", partly = false }
  t.equal(identity.of(run_of({}, { weights = moved })).configuration, first)
end)

t.test("a source that has fewer seeds lends its last one", function()
  local function id_of(seed)
    return identity.of(run_of({ seed = seed }, { from = source_of(1) }))
  end
  t.equal(identity.source_of(run_of({ seed = 5 }, { from = source_of(1) })).seed, 2)
  -- seeds that a command gives are those of its own experiment
  for experiment, seed in pairs { e = 2, source = 5 } do
    local run = run_of({ experiment = experiment, seed = 5, given_seeds = 5 }, { from = source_of(1) })
    t.equal(identity.source_of(run).seed, seed)
  end
  t.equal(id_of(1).configuration, id_of(5).configuration)
  t.check(id_of(2).run_id ~= id_of(5).run_id, "run ids")
  t.check(#id_of(1).starts_from == 16, "the configuration of the source")
  -- where the source gets more seeds, the runs that would start from another of them are other runs
  local more = source_of(1)
  more.row.seeds = 5
  local before, now = id_of(5), identity.of(run_of({ seed = 5 }, { from = more }))
  t.equal(now.configuration, before.configuration)
  t.check(now.run_id ~= before.run_id, "the seed that it starts from")
end)

t.test("parts of a name do not run into the next", function()
  local function id_of(label, dataset)
    return identity.of(run_of({}, { label = label, dataset = dataset })).configuration
  end
  t.check(id_of("a", "b\nc") ~= id_of("a\nb", "c"), "one configuration")
  t.check(id_of("a", "bc") ~= id_of("ab", "c"), "one configuration")
end)

-- `text` without these pairs of name and default.
local function without(text, pairs_of)
  for _, pair in ipairs(pairs_of) do
    local before, count = (" " .. text .. " "):gsub(" " .. pair .. " ", " ")
    t.equal(count, 1)
    text = before:match "^%s*(.-)%s*$"
  end
  return text
end

-- The configurations of rows of runs.csv that were written before these options came.
t.test("an option that came later leaves runs without it what they were", function()
  local encodings = { "rsa_kinds=''", "rsa_dilation=''", "rsa_gate=0", "rsa_cutoff=200", "rsa_sharing=pair",
    "rsa_spread=even" }
  local released = { "cluster_divisor=1", "share_biases=true" }
  local later = {
    { lh.train { steps = 2, warmup = 1 }, { "accumulate=1", "segments_per_step=1", "first_rate=zero",
      "decay_from=warmup" } },
    { lh.tasks.duplication { word = 3 }, { "segment=0" } },
    { lh.models.staircase { layers = 1 }, { "post_norm=false", "segment_chunks=0" } },
    { lh.models.feedback { layers = 1 }, { "post_norm=false", "carry=raw" } },
    { lh.models.universal {}, { "post_norm=false" } },
    { lh.models.dai_xl { layers = 1 }, released },
    { lh.models.compressive { layers = 1 }, { released[1], released[2], table.unpack(encodings) } },
    { lh.models.rmt { layers = 1 },
      { "shifted_positions=false", released[1], released[2], table.unpack(encodings) } },
  }
  for _, case in ipairs(later) do
    t.equal(case[1].options:said(), without(case[1].text, case[2]))
  end
  t.equal(slide.options:said(), slide.text)
  local words = lh.tasks.duplication { word = 3 }
  local spaced = setmetatable({ text = words.text .. " " }, { __index = words })
  local function configuration(task) return identity.of(run_of({}, { task = task })).configuration end
  t.equal(configuration(spaced), configuration(words)) -- of what is said, not of the text
  local plain = identity.of(run_of({})).configuration
  for name, value in pairs { accumulate = 10, segments_per_step = 2, first_rate = "step", decay_from = "start" } do
    local spec = lh.train { steps = 2, warmup = 1, [name] = value }
    t.contains(spec.options:said(), ("%s=%s"):format(name, value))
    t.check(identity.of(run_of({}, { train = spec })).configuration ~= plain, name)
  end
end)

t.test("a new version of a model is another configuration", function()
  local models, known = core.models(), package.loaded["longhaul.run.identity"]
  for _, class in ipairs(models) do
    if class.name == "slide" then class.version = class.version + 1 end
  end
  local real = core.models
  core.models, package.loaded["longhaul.run.identity"] = function() return models end, nil
  local newer = require "longhaul.run.identity"
  core.models, package.loaded["longhaul.run.identity"] = real, known
  t.equal(newer.class_version "slide", identity.class_version "slide" + 1)
  t.check(newer.of(run_of {}).configuration ~= identity.of(run_of {}).configuration,
    "one configuration")
  t.equal(newer.of(run_of({}, { model = apart[6][3].model })).configuration,
    identity.of(run_of({}, { model = apart[6][3].model })).configuration)
end)

t.test("runs of an earlier version of their task are stale, and why is said", function()
  local bench, settings = lh.experiment "raised", { results = folder .. "/raised", scale = "small", device = "cpu" }
  core.make_folder(settings.results)
  for label, width in pairs { row = 8, other = 16 } do
    bench:row { label, dataset = "d", task = lh.tasks.duplication { word = 3 },
      train = lh.train { steps = 2, warmup = 1 },
      model = lh.models.slide { layers = 1, width = width, heads = 2, window = 16 } }
    runs.put(settings.results, bench, { label = label, bits_per_token = 2,
      configuration = label == "other" and "another" or nil })
  end
  local tasks, known = core.tasks(), {}
  for _, class in ipairs(tasks) do class.version = class.version + 2 end
  local modules, real = { "longhaul.run.identity", "longhaul.report.results" }, core.tasks
  for _, name in ipairs(modules) do known[name], package.loaded[name] = package.loaded[name], nil end
  core.tasks = function() return tasks end
  local good, newer = pcall(require, "longhaul.report.results")
  core.tasks = real
  for _, name in ipairs(modules) do package.loaded[name] = known[name] end
  t.check(good, newer)
  local function status(label) return table.concat({ newer.of(bench, settings):status(label, "d") }, ": ") end
  t.equal(status "row", "stale: the task's version is 3 now, not 1")
  t.equal(status "other", "stale: run with other options than the script now has")
end)

local exchanged = [[
local lh = require "longhaul"
local bench = lh.experiment "exchanged"
bench:row { "r", dataset = "texts", model = lh.models.slide { layers = 1, width = 8, heads = 2, window = 16 },
  task = lh.tasks.language_model { lh.data.text { "PATH" }, segment = 16, batch = 1, evaluate_batches = 2 },
  train = lh.train { steps = 2, warmup = 1 } }
bench:table { columns = { "bits_per_byte" } }
return bench
]]

-- A process of its own: what a task read is known for as long as a program runs.
local function run_script(path)
  local words = { core.program_folder() .. "/longhaul", "run", path, "--scale", "smoke",
    "--no-timing", "--results",
    folder .. "/results" }
  t.check(os.execute(table.concat(words, " ") .. " >/dev/null 2>&1"), "the run failed")
end

t.test("other texts of the same sizes are other data: they are run again and never pooled", function()
  local path = folder .. "/exchanged.lua"
  core.write_file(path, (exchanged:gsub("PATH", write_corpus("texts", "dog"))))
  run_script(path)
  write_corpus("texts", "cat")
  run_script(path)
  run_script(path)
  local settings = { results = folder .. "/results", scale = "smoke", device = "cpu" }
  local rows = store.at(settings.results, "exchanged"):rows()
  t.equal(#rows, 2)
  t.equal(rows[1].task_options, rows[2].task_options)
  t.check(rows[1].data_digest ~= rows[2].data_digest and rows[1].run_id ~= rows[2].run_id,
    "one digest")
  local bench = script.load(path, settings)
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  t.equal(made.rows[1].cells[1].seeds, 1)
  t.equal(made.rows[1].cells[1].status, "done")
  t.equal(made.rows[1].cells[1].measured, tonumber(rows[2].bits_per_byte))
  t.contains(table.concat(tables.notes(made), "\n"), "1 run of other data or options was left out.")
end)

t.test("runs on data that this machine lacks are shown as such", function()
  local settings = { results = folder .. "/results", scale = "smoke", device = "cpu" }
  local rows = store.at(settings.results, "exchanged"):rows()
  store.at(settings.results, "exchanged"):update(function(list) table.remove(list, 2) end)
  local bench = script.load(folder .. "/exchanged.lua", settings)
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  t.equal(made.rows[1].cells[1].status, "other data")
  t.equal(made.rows[1].cells[1].measured, tonumber(rows[1].bits_per_byte))
  t.contains(table.concat(tables.notes(made), "\n"),
    "Some rows were measured on data that this machine lacks, and are never the best: r: read other data")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
