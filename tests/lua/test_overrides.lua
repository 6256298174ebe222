-- --set and --only: what is read of them, which rows they mean, and that a changed row is another one.
local t = dofile "tests/test.lua"
local identity = require "longhaul.run.identity"
local lh = require "longhaul"
local overrides = require "longhaul.overrides"
local selection = require "longhaul.run.selection"

local function wrong(...) return select(2, overrides.read { ... }) end

t.test("options are parted by blanks, in one text or several, quotes kept", function()
  local list = overrides.read { "model.window=64  train.rate=0.3",
    "task.name='a \\' b'", "task.tokens=\"x y\" task.batch=2" }
  local given = {}
  for i, entry in ipairs(list) do given[i] = entry.given end
  t.equal(table.concat(given, "|"),
    "model.window=64|train.rate=0.3|task.name='a \\' b'|task.tokens=\"x y\"|task.batch=2")
  t.equal(list[2].kind .. " " .. list[2].name .. " " .. list[2].text, "train rate rate=0.3")
end)

t.test("what is no option is said", function()
  t.contains(wrong "window=64", "'window=64' is no KIND.OPTION=VALUE, as in model.window=64")
  t.contains(wrong " ", "' ' is no KIND.OPTION=VALUE")
  t.contains(wrong "model.window", "'model.window' is no KIND.OPTION=VALUE")
  t.contains(wrong "model.window=64 nonsense", "'nonsense' is no")
  t.contains(wrong "modle.window=64", "no 'modle.' (did you mean 'model'?); there are: model, task, train")
end)

t.test("--only: a part of the label, of the data set, or of both, of any text", function()
  local function means(...) return selection.means({ ... }, "Rec:fixed/skip", "books") end
  t.check(selection.means(nil, "a", "b") and means "fixed" and means "ook" and means "skip books")
  t.check(means "Rec/books" and means "fixed/skip" and means "fixed/skip/bo" and means("none", "Rec"))
  t.check(not means "latex" and not means "Rec/latex" and not means "slide/books" and not means())
  t.check(not means "R.c", "a pattern is a text")
end)

local function bench_of(tune)
  local books = lh.data.text { "generate:books", documents = 4, document_bytes = 500 }
  local bench = lh.experiment "changed"
  for _, name in ipairs { "a", "b" } do
    bench:row { name, model = lh.models.slide { layers = 1, width = 8, heads = 2, window = 8 },
      task = lh.tasks.language_model { books, segment = 16, batch = 2 }, dataset = "text",
      train = lh.train { steps = 4 }, tune = tune }
  end
  return bench
end

-- The experiment as the command line changes it.
local function changed(texts, only, tune)
  overrides.set(assert(overrides.read(texts)), only)
  local good, made = pcall(bench_of, tune)
  overrides.set()
  if not good then error(made, 0) end
  return made
end

local function configuration(row)
  return identity.of { experiment = "changed", row = row, seed = 1, scale = "smoke",
    device = "cpu" }.configuration
end

t.test("the rows that are meant are changed, and are other runs", function()
  local plain = bench_of()
  local made = changed({ "model.window=4 train.rate=0.3", "task.segment=32" }, { "b/text" })
  t.equal(made.rows[1].model:option "window", 8)
  t.equal(configuration(made.rows[1]), configuration(plain.rows[1]))
  local row = made.rows[2]
  t.equal(("%d %g %d %d"):format(row.model:option "window", row.train:option "rate",
    row.task:option "segment", row.task:option "batch"), "4 0.3 32 2")
  t.check(configuration(row) ~= configuration(plain.rows[2]))
  t.equal(made.changed, "model.window=4 train.rate=0.3 task.segment=32, in rows of b/text alone")
  t.equal(plain.changed, nil)
end)

t.test("a change to what the script says anyway is the script's own run", function()
  t.equal(configuration(changed({ "model.window=8" }).rows[1]), configuration(bench_of().rows[1]))
end)

t.test("a changed option stays where a trial changes others", function()
  local tune = lh.tune { rate = { 0.1, 0.2 }, by = "valid_bits_per_token" }
  local made = changed({ "train.warmup=3" }, nil, tune)
  t.equal(made.trials.rows[1].train:option "warmup", 3)
  t.equal(made.trials.rows[1].train:option "rate", 0.1)
  t.fails(function() changed({ "train.rate=3" }, nil, tune) end,
    "row \"a\": --set train.rate=3: the row tries several values of it (lh.tune)")
end)

t.test("names, types and bounds are those of the options", function()
  t.fails(function() changed { "model.windw=4" } end, "slide: unknown option 'windw' (did you mean 'window'?)")
  t.fails(function() changed { "train.steps=many" } end, "option 'steps' must be an integer, got 'many'")
  t.fails(function() changed { "model.layers=0" } end, "option 'layers' must be between 1")
  t.fails(function() changed { "train.optimizer=adan" } end, "(did you mean 'adam'?)")
end)

t.test("a factor of the grid is chosen, not changed", function()
  overrides.set(assert(overrides.read { "model.window=4" }))
  local good, message = pcall(function()
    for point in lh.grid { { "window", 8, 16 } } do
      lh.experiment "grid":row { point, model = lh.models.slide { layers = 1, window = point.window },
        task = lh.tasks.random_walk {}, train = lh.train {} }
    end
  end)
  overrides.set()
  t.check(not good)
  t.contains(message, "'window' is a factor of its grid; --only chooses rows")
end)

t.finish()
