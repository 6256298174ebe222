-- Who is best at a moment: the loss at the last point that a row has reached in so many seconds of
-- its own steps, or FLOPs; best, ties and rows that have not come so far.
local t = dofile "tests/test.lua"
local best_at = require "longhaul.report.best_at"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local curves = require "longhaul.report.curves"
local lh = require "longhaul"

-- Losses by seed at steps 10, 20, 30; what a step costs.
local rows = {
  quick = { time = 100, flops = 2, seeds = { { 5, 4, 3 }, { 5.2, 4.2, 3.2 }, { 5.1, 4.1, 3.1 } } },
  slow = { time = 1000, flops = 1, seeds = { { 4, 2, 1 }, { 4.2, 2.2, 1.2 }, { 4.1, 2.1, 1.1 } } },
  noisy = { time = 100, flops = 2, seeds = { { 6, 5, 4 }, { 4, 3, 2 }, { 5.4, 4.4, 3.4 } } },
  untimed = { flops = 2, seeds = { { 1, 1, 1 } } },
}

local experiment = { rows = {} }
for _, label in ipairs { "quick", "slow", "noisy", "untimed" } do
  table.insert(experiment.rows, { label = label, dataset = "books" })
end

local results = { scale = "small", device = "cpu" }

function results:group(label)
  local done = {}
  for seed in ipairs(rows[label].seeds) do
    done[seed] = { run_id = label .. seed, seed = tostring(seed) }
  end
  if self.shuffled == label then table.insert(done, 1, table.remove(done)) end
  return { done = done }
end

function results:value(label, metric)
  return metric == "step_time_ms" and rows[label].time or metric == "flops_per_token"
    and rows[label].flops or nil
end

function results:status(label)
  if self.lacking == label then return "partial", self.why end
  return self.stale == label and "stale" or "done"
end

-- As Results:apart: the rows of `others` were timed in another round.
function results:apart(names, cells)
  t.equal(names[1], "step_time_ms")
  local others, count = self.others or {}, 0
  for _, cell in ipairs(cells) do count = count + (others[cell.row.label] and 1 or 0) end
  return count > 0 and count < #cells
end

function results:reason() return nil, self.busy end

function results:learns_nothing(label) return self.constant == label end

local from = {}

function from:read_curve(id)
  local label, seed = id:match "^(%a+)(%d)$"
  local points = {}
  for i, loss in ipairs(rows[label].seeds[tonumber(seed)]) do
    points[i] = { step = 10 * i, tokens = 1000 * i, loss_bits = loss }
  end
  return points
end

-- "quick 3.1 30 best" of each row at a moment.
local function at(over, moment)
  local lines = {}
  for _, r in ipairs(best_at.records(experiment, { [over] = { moment } }, results, from)) do
    lines[#lines + 1] = ("%s %.2f %d %s%s"):format(r.row, r.loss, r.step, r.place or r.status,
      r.ended == "yes" and " ended" or "")
  end
  return table.concat(lines, ", ")
end

t.test("in seconds: what has no point yet, or no step time, is left out", function()
  t.equal(at("seconds", 0.5), "")
  t.equal(at("seconds", 2.5), "quick 4.10 20 best, noisy 4.13 20 tie")
end)

t.test("in seconds: a slow row is best once it has had the time, a tie is by paired differences", function()
  t.equal(at("seconds", 25), "slow 2.10 20 best, quick 3.10 30 2 ended, noisy 3.13 30 tie ended")
end)

t.test("a row has ended once all of its seeds have, whichever patience ended first", function()
  local quick = rows.quick.seeds
  rows.quick.seeds = { { 5, 4 }, { 5.2, 4.2, 3.2 }, { 5.1, 4.1, 3.1 } }
  t.equal(at("seconds", 2.5), "quick 4.10 20 best, noisy 4.13 20 tie")
  t.equal(at("seconds", 4), "noisy 3.13 30 best ended, quick 3.43 20 tie ended")
  rows.quick.seeds = { { 5, 4 }, { 5.2, 4.2, 3.2, 3.1 }, { 5.1, 4.1, 3.1 } }
  t.equal(at("seconds", 3.5), "noisy 3.13 30 best ended, quick 3.43 20 tie")
  rows.quick.seeds = quick
end)

t.test("pairs are of one seed, whatever the order of the runs", function()
  local noisy = rows.noisy.seeds
  rows.noisy.seeds = { { 5.05, 4.05 }, { 5.25, 4.25 }, { 5.15, 4.15 } } -- quick's and a little more
  results.shuffled = "quick"
  t.equal(at("seconds", 2.5), "quick 4.10 20 best, noisy 4.15 20 2 ended")
  results.shuffled, rows.noisy.seeds = nil, noisy
end)

t.test("in FLOPs: three passes a token; one seed where others have three has no place", function()
  -- 100 tokens a step: 600 of quick, 300 of slow
  t.equal(curves.per_step(results, experiment.rows[1], curves.of(from, results:group "quick", "loss_bits"),
    "flops"), 600)
  t.equal(at("flops", 6000), "untimed 1.00 10 done, slow 2.10 20 best, quick 5.10 10 2, noisy 5.13 10 3")
end)

t.test("fewer than three seeds make no ties: places are by loss, and it is said", function()
  local kept = {}
  for label, row in pairs(rows) do kept[label], row.seeds = row.seeds, { row.seeds[1], row.seeds[2] } end
  t.equal(at("seconds", 2.5), "noisy 4.00 20 best, quick 4.10 20 2")
  local folder, lines, print_of_lua = os.tmpname(), {}, print
  os.remove(folder)
  core.make_folder(folder)
  print = function(line) lines[#lines + 1] = line end
  best_at.write(experiment, { seconds = { 2.5 } }, results, from, folder)
  print = print_of_lua
  t.contains(table.concat(lines, "\n"), "Fewer than 3 seeds tell no difference from chance.")
  t.equal(csv.read(folder .. "/best_at.csv")[1].seeds, "2")
  os.execute("rm -r '" .. folder .. "'")
  for label, row in pairs(rows) do row.seeds = kept[label] end
end)

t.test("the time of a busy machine is none", function()
  results.busy = true
  t.equal(at("seconds", 2.5), "")
  results.busy = nil
end)

t.test("seconds of several rounds give no place, FLOPs do; it is said and stands in the file", function()
  results.others = { slow = true }
  t.equal(at("seconds", 2.5), "quick 4.10 20 best, noisy 4.13 20 tie") -- slow has not come so far
  t.equal(at("seconds", 25), "slow 2.10 20 done, quick 3.10 30 done ended, noisy 3.13 30 done ended")
  t.contains(at("flops", 6000), "best")
  local folder, said = os.tmpname(), {}
  os.remove(folder)
  core.make_folder(folder)
  local real = print
  print = function(text) said[#said + 1] = text end
  local good, failure = pcall(best_at.write, experiment, { seconds = { 25 } }, results, from, folder)
  print = real
  t.check(good, failure)
  t.contains(table.concat(said, "\n"),
    "books, after 25s, by steps of several rounds, which give no places: slow 2.100, ")
  local written = csv.read(folder .. "/best_at.csv")
  t.equal(written[1].rounds .. written[1].place, "several")
  results.others = nil
end)

t.test("what is not of today's runs has no place, and none is tied with it", function()
  results.stale = "slow"
  t.equal(at("seconds", 25), "slow 2.10 20 stale, quick 3.10 30 best ended, noisy 3.13 30 tie ended")
  results.stale = nil
end)

t.test("what has no place takes none from the others, whatever round it was timed in", function()
  local ranked = "slow 2.10 20 stale, quick 3.10 30 best ended, noisy 3.13 30 tie ended"
  results.others, results.stale = { slow = true }, "slow"
  t.equal(at("seconds", 25), ranked)
  results.stale, results.lacking, results.why = nil, "slow", "seed 4 diverged"
  t.equal(at("seconds", 25), (ranked:gsub("stale", "partial")))
  results.others, results.lacking, results.why = nil, nil, nil
end)

t.test("what lacks seeds that others have, or that diverged, has no place", function()
  local slow, all = rows.slow.seeds, { { 4, 2, 1 }, { 4.2, 2.2, 1.2 } }
  results.lacking, rows.slow.seeds = "slow", all
  t.equal(at("seconds", 25), "slow 2.10 20 partial, quick 3.10 30 best ended, noisy 3.13 30 tie ended")
  rows.slow.seeds = slow -- three of more that are planned
  t.contains(at("seconds", 25), "slow 2.10 20 best, quick 3.10 30 2 ended")
  results.why = "seed 4 diverged"
  t.contains(at("seconds", 25), "slow 2.10 20 partial, quick 3.10 30 best ended")
  results.lacking, results.why = nil, nil
end)

t.test("a row that learns nothing lacks no seeds, and takes the tests of none from the others", function()
  local untimed = rows.untimed
  rows.untimed, results.constant = { time = 100, flops = 2, seeds = { { 9, 9, 9 } } }, "untimed"
  t.equal(at("seconds", 2.5), "quick 4.10 20 best, noisy 4.13 20 tie, untimed 9.00 20 tie")
  rows.untimed, results.constant = untimed, nil
end)

t.test("the step of a row is that of the seed which is the least far", function()
  local quick = rows.quick.seeds
  rows.quick.seeds = { { 5, 4 }, { 5.2 }, { 5.1, 4.1 } }
  t.contains(at("seconds", 2.5), "quick 4.43 10 ")
  rows.quick.seeds = quick
end)

t.test("no test is of the seeds that both happen to have", function()
  local quick, slow, group = rows.quick.seeds, rows.slow.seeds, results.group
  rows.quick.seeds = { { 5 }, { 5.2 }, { 5.1 }, { 5.5 } }
  rows.slow.seeds = { { 4 }, { 4.2 }, { 4.1 }, { 4.5 } }
  function results:group(label)
    local made = group(self, label)
    if label == "quick" then made.done[4].seed = "5" end
    return made
  end
  local found = at("flops", 6000)
  t.contains(found, "slow 4.20 10 best")
  t.contains(found, "quick 5.20 10 tie")
  rows.quick.seeds, rows.slow.seeds, results.group = quick, slow, group
end)

t.test("the first three of a moment are printed", function()
  local lines, print_of_lua, folder = {}, print, os.tmpname()
  os.remove(folder)
  core.make_folder(folder)
  print = function(line) lines[#lines + 1] = line end
  best_at.write(experiment, { flops = { 6000 }, seconds = { 3.6e24 } }, results, from, folder)
  print = print_of_lua
  os.execute("rm -r '" .. folder .. "'")
  t.contains(lines[2], "books, after 1000000000000000000000h") -- which no integer holds
  t.contains(lines[3], "quick 5.100")
  t.check(not lines[3]:find "noisy", "the fourth")
end)

t.test("moments are numbers above zero", function()
  t.contains(select(2, pcall(function() lh.experiment("m"):best_at { seconds = { 1, 0 } } end)),
    "best_at: field 'seconds' has 0")
  t.contains(select(2, pcall(function() lh.experiment("m"):best_at { second = { 1 } } end)), "second")
end)

t.finish()
