-- Which runs need not be run again.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local finished = require "longhaul.run.finished"
local reach = require "longhaul.run.reach"
local store = require "longhaul.run.store"
local training = require "longhaul.run.training"

local rnn = { name = "rnn" }
local folder = os.tmpname()
os.remove(folder)

local results = store.open(folder, "bench")
local function put(seed, status, reach)
  results:put { run_id = "run" .. seed, identity = 2, configuration = "c", seed = seed,
    status = status, reach = reach }
end
put(1, "done")
put(2, "diverged")
put(3, "failed")
put(4, "done", "valid_bits 2.0")

-- The seeds of a row up to `most` for which `known` has something.
local function named(known, most)
  local seeds = {}
  for seed = 1, most do
    if known[seed] then seeds[#seeds + 1] = seed end
  end
  return table.concat(seeds, " ")
end

local function seeds_of(row)
  return finished.seeds({ row = row }, results:by_configuration().c, results)
end

t.test("a run that ended by itself is finished, a failed or missing one is not", function()
  for seed, wanted in ipairs { true, true, false, true, false } do
    t.equal(finished.is_done({ id = "run" .. seed, row = {} }, results) or false, wanted)
  end
  t.equal(named(seeds_of({}).done, 5), "1 2 4")
end)

t.test("of a seed the run counts that came to its end, then the latest", function()
  local function chosen(...)
    local ids = {}
    for i, run in ipairs(finished.of_seeds { ... }) do ids[i] = run.id end
    return table.concat(ids, " ")
  end
  local function run(id, seed, status, date) return { id = id, seed = seed, status = status, date = date } end
  t.equal(chosen(run("a", "2", "done", "2"), run("b", "1", "done", "1"), run("c", "2", "done", "1")), "a b")
  t.equal(chosen(run("a", "1", "failed", "2"), run("b", "1", "done", "1"), run("c", "1", "failed", "3")), "b")
  t.equal(chosen(run("a", "1", "done", "1"), run("b", "1", "diverged", "2")), "b")
  t.equal(chosen(run("a", "1", "done", "1"), run("b", "1", "done", "1")), "b")
  t.equal(chosen(run("a", "1", "failed"), run("b", "1", "failed")), "b")
end)

t.test("a finished run whose row names another loss is looked through again", function()
  t.equal(seeds_of({}).renew[4], "run4")
  t.equal(named(seeds_of({}).renew, 5), "4")
  t.equal(named(seeds_of({ reach = { "valid_bits", 2.0 } }).renew, 5), "1 2")
end)

t.test("where the curve is gone nobody takes a loss for one that was never reached", function()
  local function renewed(wanted)
    training.renew_reach({ row = { reach = wanted, model = rnn, task = rnn } }, results, "reaches")
    local row = results:find "reaches"
    return row.reach .. ": " .. row.tokens_to_reach
  end
  local function tokens(wanted)
    local said, stderr = {}, io.stderr
    io.stderr = { write = function(_, text) said[#said + 1] = text end }
    local good, list = pcall(reach.of_runs, { results:find "reaches" }, wanted, results)
    io.stderr = stderr
    t.check(good, list)
    return list[1], table.concat(said)
  end
  results:put { run_id = "reaches", identity = 2, configuration = "d", seed = 1, status = "done", step = 2,
    reach = "valid_bits 2.0", tokens_to_reach = 64 }
  t.equal(renewed { "valid_bits", 3.0 }, "valid_bits 2.0: 64")
  local found, said = tokens { "valid_bits", 3.0 }
  t.equal(found, nil)
  t.contains(said, "curves/reaches.csv is gone: nobody can tell")
  t.equal(select(2, tokens { "valid_bits", 3.0 }), "") -- it is said once
  t.equal(tokens { "valid_bits", 2.0 }, 64)
  results:write_curve("reaches", { { step = 1, tokens = 32, valid_bits = 2.9 } })
  t.equal(tokens { "valid_bits", 3.0 }, 32)
  t.equal(renewed { "valid_bits", 3.0 }, "valid_bits 3.0: 32")
  t.equal(renewed { "valid_bits", 1.0 }, "valid_bits 1.0: ")
end)

t.test("a run that others start from is finished with its weights", function()
  local row = { keep_weights = true }
  t.equal(named(seeds_of(row).done, 5), "")
  core.write_file(results:weights "run1", "weights")
  t.equal(named(seeds_of(row).done, 5), "1")
  t.check(finished.is_done({ id = "run1", row = row }, results))
  t.check(not finished.is_done({ id = "run2", row = row }, results))
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
