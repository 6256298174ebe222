-- A row that is renamed is trained again: who does it is told before.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local lh = require "longhaul"
local plan = require "longhaul.run.plan"
local quote = require "longhaul.run.quote"
local renamed = require "longhaul.run.renamed"
local runs = dofile "tests/lua/runs.lua"
local store = require "longhaul.run.store"

local folder = os.tmpname()
os.remove(folder)
lh.configure { scale = "small" }

local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 }

-- An experiment of rows { label, dataset, steps }.
local function experiment_of(rows)
  local bench = lh.experiment "names"
  for _, row in ipairs(rows) do
    bench:row { row[1], dataset = row[2], model = lh.models.lstm { width = 4, hidden = 4 }, task = task,
      train = lh.train { steps = row[3] } }
  end
  return bench
end

local trained = experiment_of { { "old", "books", 2 }, { "kept", "books", 3 } }
runs.put(folder, trained, { label = "old" })
runs.put(folder, trained, { label = "kept" })

-- What is said of an experiment with these rows, all of which are to be trained.
local function notes_of(...)
  local bench = experiment_of { ... }
  local list = plan.of(bench, { results = folder, scale = "small", device = "cpu" })
  for _, run in ipairs(list) do t.check(plan.identify(run.shared), "its data are there") end
  return table.concat(renamed.notes(list, bench, store.at(folder, "names")), "\n")
end

t.test("a row that was trained under another name says which", function()
  t.contains(notes_of({ "new", "books", 2 }, { "kept", "books", 3 }),
    "row \"new\" (books): the same was trained as \"old\" (books): called so again, what is finished of it stays")
  t.contains(notes_of { "old", "corpus", 2 }, "row \"old\" (corpus): the same was trained as \"old\" (books)")
end)

t.test("nothing is said of other options, of a name that is in use, and of a row that failed", function()
  t.equal(notes_of({ "new", "books", 5 }, { "kept", "books", 3 }), "")
  t.equal(notes_of({ "new", "books", 3 }, { "kept", "books", 3 }, { "old", "books", 2 }), "")
  runs.put(folder, experiment_of { { "begun", "books", 2 } }, { label = "begun", seed = 2 })
  t.equal(notes_of({ "begun", "books", 2 }), "", "it has runs of its own")
  runs.put(folder, trained, { label = "kept", status = "failed" })
  t.equal(notes_of { "new", "books", 3 }, "")
end)

core.make_folder(folder)
os.execute("rm -r " .. quote.shell(folder))
t.finish()
