-- What has begun: a folder of such runs alone is not said to be empty, whoever looks into it, and what is over leaves
-- nothing to go on from.
local t = dofile "tests/test.lua"
local begun = require "longhaul.run.begun"
local core = require "longhaul.core"
local figures = require "longhaul.report.figures"
local html = require "longhaul.report.html"
local lh = require "longhaul"
local merge = require "longhaul.run.merge"
local migrate = require "longhaul.run.migrate"
local query = require "longhaul.report.query"
local quote = require "longhaul.run.quote"
local runs = dofile "tests/lua/runs.lua"
local store = require "longhaul.run.store"

local folder = os.tmpname()
os.remove(folder)

-- A results folder in which two runs of one experiment and one of another have begun, and nothing else is.
local results = folder .. "/results"
core.make_folder(results .. "/sweep/curves")
core.make_folder(results .. "/sweep/checkpoints")
core.make_folder(results .. "/other/curves")
core.make_folder(folder .. "/empty")
core.write_file(results .. "/sweep/curves/aa.csv", "step,loss_bits\n1,8\n")
core.write_file(results .. "/sweep/checkpoints/aa.snapshot", "")
core.write_file(results .. "/sweep/checkpoints/bb.snapshot", "")
core.write_file(results .. "/other/curves/cc.csv", "step,loss_bits\n1,8\n")

local told = "3 runs begun, none finished: the same `longhaul run` goes on"

t.test("runs are counted once, in folders below too", function()
  t.contains(begun.text(results), told)
  t.contains(begun.text(results .. "/other"), "1 run begun")
  t.equal(begun.text(folder .. "/empty"), nil)
  t.contains(begun.nothing(folder .. "/empty"), "no runs.csv there, nor in a folder below")
end)

t.test("each command that finds no runs says so", function()
  t.fails(function() query.stores(results) end, told)
  t.fails(function() migrate.folder(results) end, told)
  t.fails(function() merge.folders({ results }, folder .. "/to") end, told)
  t.equal(#figures.folders(results), 0)
end)

t.test("the report does not call the folder one without runs", function()
  local text = core.read_file(html.write(results))
  t.contains(text, "sweep: 2 runs begun, none finished")
  t.contains(text, "other: 1 run begun, none finished")
  t.equal(text:find("Folders without runs", 1, true), nil)
end)

-- A plan of an experiment that shows its losses, of no rows.
local function shows_losses(name)
  local bench = lh.experiment(name)
  bench:row { "a", model = lh.models.lstm { width = 4, hidden = 4 }, train = lh.train { steps = 2 },
    task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 } }
  return bench:plot { "loss" }
end

t.test("figures name what has only begun beside experiments that have runs", function()
  local both = folder .. "/both"
  core.make_folder(both .. "/sweep/curves")
  core.write_file(both .. "/sweep/curves/aa.csv", "step,loss_bits\n1,8\n")
  runs.put(both, shows_losses "done", { label = "a" })
  local state = figures.gather(both, { "sweep.lua" }, function() return shows_losses "sweep" end)
  t.contains(figures.lacking(state, {})[1].begun, "1 run begun, none finished")
end)

t.test("a chart of which all runs have only begun says so", function()
  local path = folder .. "/sweep.lua"
  core.write_file(path, [[local lh = require "longhaul"
    local bench = lh.experiment "sweep"
    bench:row { "a", model = lh.models.lstm { width = 4, hidden = 4 }, train = lh.train { steps = 2 },
      task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 } }
    return bench:plot { "loss" }]])
  local pipe <close> = assert(io.popen(("%s plot %s --results %s 2>&1"):format(
    quote.shell(core.program_folder() .. "/longhaul"), quote.shell(path), quote.shell(results))))
  t.contains(pipe:read "a", "no runs of sweep at scale small on cpu")
end)

t.test("runs whose rows a damaged runs.csv has lost are not said to be unfinished", function()
  local lost = folder .. "/lost"
  core.make_folder(lost .. "/sweep/curves")
  core.write_file(lost .. "/sweep/curves/aa.csv", "step,loss_bits\n1,8\n")
  for _, left in ipairs { "", "run_id,row,dataset,seed,scale,device,status,identity\naa,a,\"boo" } do
    core.write_file(lost .. "/sweep/runs.csv", left)
    local text = begun.text(lost)
    t.contains(text, lost .. "/sweep/runs.csv is empty or cut, and 1 run without a row there may have finished")
    t.equal(text:find("none finished", 1, true), nil)
  end
end)

t.test("a run that has a row has not only begun, whatever it keeps", function()
  local bench = lh.experiment "ended"
  bench:row { "a", model = lh.models.lstm { width = 4, hidden = 4 }, train = lh.train { steps = 2 },
    task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 } }
  local record = runs.put(folder, bench, { label = "a" })
  core.write_file(("%s/ended/curves/%s.csv"):format(folder, record.run_id), "step\n")
  core.write_file(("%s/ended/checkpoints/%s-last.snapshot"):format(folder, record.run_id), "")
  t.equal(#store.at(folder, "ended"):begun(), 0)
end)

-- What is left of an attempt at a run of this status, which another process may have by then.
local function left_of_attempt(status, is_locked)
  local made = store.open(folder, "attempt-" .. status)
  made:put { run_id = "a", identity = 2, seed = 1, row = "x", status = status }
  for _, path in ipairs { made:checkpoint "a", made:best_weights "a", made:forced "a", made:last_checkpoint "a" } do
    core.write_file(path, "kept")
  end
  local lock = core.lock
  core.lock = function(...) if not is_locked then return lock(...) end end
  made:prepare()
  core.lock = lock
  local names = core.list_folder(made.path .. "/checkpoints")
  table.move(core.list_folder(made.path .. "/weights"), 1, 1, #names + 1, names)
  return table.concat(names, " ")
end

t.test("a run that is forced leaves nothing of the run before it, or goes on where its command began it", function()
  local made = store.open(folder, "forced")
  local function left_after(goes_on)
    for _, path in ipairs { made:checkpoint "a", made:last_checkpoint "a", made:last_checkpoint "b",
      made:best_weights "a" } do
      core.write_file(path, "of before")
    end
    made:begin_forced("a", goes_on)
    return table.concat(core.list_folder(made.path .. "/checkpoints"), " ") .. " "
      .. table.concat(core.list_folder(made.path .. "/weights"), " ")
  end
  t.equal(left_after(true), "a.forced b-last.snapshot ")
  t.equal(left_after(true), "a-last.snapshot a.forced a.snapshot b-last.snapshot a.best.safetensors")
  t.equal(left_after(false), "a.forced b-last.snapshot ")
end)

t.test("what a run would go on from goes once it is over, unless a process has it", function()
  t.equal(left_of_attempt "done", "a-last.snapshot")
  t.equal(left_of_attempt "diverged", "a-last.snapshot")
  local all = "a-last.snapshot a.forced a.snapshot a.best.safetensors"
  t.equal(left_of_attempt("done", true), all)
  t.equal((left_of_attempt "failed":gsub(" a.snapshot.lock", "")), all)
end)

t.test("so does each of these files where it is alone", function()
  for _, file in ipairs { "checkpoint", "best_weights", "forced", "builds" } do
    local made = store.open(folder, "alone-" .. file)
    made:put { run_id = "a", identity = 2, seed = 1, row = "x", status = "done" }
    for _, id in ipairs { "a", "b" } do core.write_file(made[file](made, id), "kept") end
    made:prepare()
    t.check(not core.exists(made[file](made, "a")), file .. " of a run that is over")
    t.check(core.exists(made[file](made, "b")), file .. " of one that is not")
  end
end)

t.test("a run that has lost its row by then is begun again, and keeps what it goes on from", function()
  local made, lock = store.open(folder, "forced"), core.lock
  made:put { run_id = "a", identity = 2, seed = 1, row = "x", status = "done" }
  core.write_file(made:checkpoint "a", "kept")
  core.lock = function(...)
    core.lock = lock
    store.at(folder, "forced"):forget "a"
    return lock(...)
  end
  made:prepare()
  core.lock = lock
  t.check(core.exists(made:checkpoint "a"), "its checkpoint")
end)

os.execute("rm -r " .. quote.shell(folder))
t.finish()
