-- Folders of results as one: what a run left beside its row is that of the row.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local merge = require "longhaul.run.merge"
local pack = require "longhaul.report.pack"
local store = require "longhaul.run.store"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

-- A run of `steps` steps with a curve, one probe and weights, each of which says `mark`.
local function fill(name, status, steps, mark)
  local made = store.open(folder .. "/" .. name, "mine")
  made:put { run_id = "run", experiment = "mine", row = "row", dataset = "text", seed = 1,
    scale = "small", device = "cpu", identity = 2, configuration = "c", status = status,
    step = steps, date = "2026-01-01" }
  local points = {}
  for step = 1, steps do points[step] = { step = step, loss_bits = mark } end
  if steps > 0 then made:write_curve("run", points) end
  if steps > 0 then made:write_probes("run", { { name = mark > 5 and "old" or "new", value = mark } }) end
  core.write_file(made:weights "run", tostring(mark))
  return made.path
end

local function parts_of(name)
  local made, probes = store.at(folder .. "/" .. name, "mine"), {}
  local curve = made:read_curve("run", math.huge)
  for probe, value in pairs(made:read_probes "run") do probes[#probes + 1] = ("%s %g"):format(probe, value) end
  return ("%s, %d points%s, probes: %s"):format(made:find("run").status, #curve,
    curve[1] and " of " .. curve[1].loss_bits or "", table.concat(probes, " "))
end

local finished = fill("finished", "done", 3, 2)

t.test("a failed run that is finished elsewhere has the curve, probes and weights of that", function()
  fill("failed", "failed", 1, 7)
  merge.folders({ folder .. "/finished" }, folder .. "/failed")
  t.equal(parts_of "failed", "done, 3 points of 2, probes: new 2")
  t.equal(core.read_file(store.at(folder .. "/failed", "mine"):weights "run"), "2")
end)

t.test("nothing is left to go on from of a run that is finished elsewhere", function()
  local function merged_into(name, status, steps)
    local made = store.of(fill(name, status, steps, 7))
    for _, path in ipairs { made:checkpoint "run", made:best_weights "run" } do core.write_file(path, "old") end
    merge.folders({ folder .. "/finished" }, folder .. "/" .. name)
    return core.list_folder(made.path .. "/checkpoints"), core.exists(made:best_weights "run")
  end
  local left, has_best = merged_into("stopped", "failed", 1)
  t.equal(table.concat(left, " "), "")
  t.check(not has_best, "best weights of the failed attempt")
  left, has_best = merged_into("killed", "done", 3)
  t.equal(table.concat(left, " "), "")
  t.check(not has_best, "best weights of one that was killed as it ended here")
end)

t.test("a failed attempt takes the place of none that was begun", function()
  local begun = store.open(folder .. "/begun", "mine")
  begun:write_curve("run", { { step = 1, loss_bits = 9 }, { step = 2, loss_bits = 9 } })
  core.write_file(begun:checkpoint "run", "of step 2")
  fill("lost", "failed", 1, 7)
  merge.folders({ folder .. "/lost" }, folder .. "/begun")
  t.equal(#begun:read_curve("run", math.huge), 2)
  t.equal(begun:find "run", nil)
  merge.folders({ folder .. "/lost" }, folder .. "/nothing")
  t.equal(parts_of "nothing", "failed, 1 points of 7, probes: old 7")
  merge.folders({ folder .. "/finished" }, folder .. "/begun")
  t.equal(parts_of "begun", "done, 3 points of 2, probes: new 2")
end)

t.test("an experiment is not merged into a folder of experiments", function()
  local target = folder .. "/finished"
  t.fails(function() merge.folders({ fill("alone", "done", 1, 2) }, target) end,
    ("%s: is a folder of experiments, such as mine; merge into %s/mine"):format(target, target))
  t.check(not core.exists(target .. "/runs.csv"), "runs beside experiments")
end)

t.test("columns of a curve that are a model's own come along", function()
  local gated = store.of(fill("gated", "done", 1, 2))
  gated:write_curve("run", { { step = 1, loss_bits = 2, gate_0 = 0.25 } }, { "gate_0" })
  fill("ungated", "failed", 1, 7)
  merge.folders({ folder .. "/gated" }, folder .. "/ungated")
  t.equal(store.at(folder .. "/ungated", "mine"):read_curve("run", math.huge)[1].gate_0, "0.25")
end)

t.test("step times come along by round and configuration, each once", function()
  local function timed(name, list)
    local made = store.of(fill(name, "done", 1, 2))
    for i, one in ipairs(list) do
      list[i] = { configuration = one[1], round = one[2], step_time_ms = 5, identity = 2, row = "row", seed = 1 }
    end
    made:add_timings(list)
  end
  timed("rounds", { { "c", "1" }, { "c", "2" }, { "d", "1" } })
  timed("one", { { "c", "1" } })
  merge.folders({ folder .. "/rounds" }, folder .. "/one")
  local keys = {}
  for i, record in ipairs(store.at(folder .. "/one", "mine"):timings(function(all) return all end)) do
    keys[i] = record.configuration .. record.round
  end
  table.sort(keys)
  t.equal(table.concat(keys, " "), "c1 c2 d1")
end)

t.test("so it has in a packed folder, and from one", function()
  local path = fill("packed", "failed", 1, 7)
  pack.folder(path, path)
  pack.folder(finished, folder .. "/source/mine")
  merge.folders({ folder .. "/source" }, folder .. "/packed")
  t.equal(parts_of "packed", "done, 3 points of 2, probes: new 2")
end)

t.test("a finished run without a curve takes the failed one's away", function()
  fill("bare", "done", 0, 2)
  fill("again", "failed", 1, 7)
  merge.folders({ folder .. "/bare" }, folder .. "/again")
  t.equal(parts_of "again", "done, 0 points, probes: ")
end)

t.test("what a finished run left stays", function()
  fill("other", "done", 2, 9)
  merge.folders({ folder .. "/finished" }, folder .. "/other")
  t.equal(parts_of "other", "done, 2 points of 9, probes: old 9")
  t.equal(core.read_file(store.at(folder .. "/other", "mine"):weights "run"), "9")
end)

-- What is said where a folder gets the run of another.
local function notes_of(kept, other)
  for name, values in pairs { kept = kept, other = other } do
    local run = { run_id = "run", experiment = "mine", row = "row", dataset = "text", seed = 1, scale = "small",
      device = "cpu", identity = 2, configuration = "c", status = "done", date = "2026-01-01" }
    for column, value in pairs(values) do run[column] = value end
    store.open(folder .. "/notes-" .. name, "mine"):put(run)
  end
  local lines = merge.folders({ folder .. "/notes-other" }, folder .. "/notes-kept")
  os.execute(("rm -r '%s/notes-kept' '%s/notes-other'"):format(folder, folder))
  return table.concat(lines, "\n", 2)
end

t.test("another score of any split, or another end, is told of the run that is kept", function()
  local function told(kept, other, ...)
    local said = notes_of(kept, other)
    for _, text in ipairs { ... } do t.contains(said, text) end
    t.contains(said, "notes-other/mine/runs.csv; the first is kept")
  end
  told({ valid_bits_per_token = 2.5 }, { valid_bits_per_token = 2.75 },
    "note: run run (row 'row', seed 1): valid_bits_per_token is '2.5' in", "and '2.75' in")
  told({ best_accuracy = 0.5 }, { best_accuracy = 0.25 }, "best_accuracy is '0.5' in")
  told({ perplexity = math.huge }, { perplexity = "" }, "perplexity is 'inf' in")
  told({ valid_mse = 2 }, { valid_mse = 2, status = "diverged" }, "status is 'done' in", "and 'diverged' in")
end)

t.test("step times, what no table shows of a score, and failed attempts are no other ends", function()
  t.equal(notes_of({ step_time_ms = 1, mse = 1 / 3 }, { step_time_ms = 2, mse = 1 / 3 + 1e-9 }), "")
  t.equal(notes_of({ perplexity = math.huge }, { perplexity = math.huge }), "")
  t.equal(notes_of({ mse = 1 }, { status = "failed" }), "")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
