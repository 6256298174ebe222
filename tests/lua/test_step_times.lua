-- Which record of timings.csv counts for a row, and what a rank takes for the work of others.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local others = require "longhaul.run.others"
local ranks = require "longhaul.run.ranks"
local step_times = require "longhaul.run.step_times"

t.test("of two rounds of one moment the later line counts", function()
  local made = step_times.of { timings = function(_, read)
    return read { { round = "1", configuration = "c", date = "2026-01-01", step_time_ms = 1, busy = "no" },
      { round = "2", configuration = "c", date = "2026-01-01", step_time_ms = 2, busy = "no" } }
  end }
  t.equal(made:latest("c").step_time_ms, 2)
end)

-- Rounds as a store reads them.
local function read_rounds(records)
  return step_times.of { timings = function(_, read) return read(records) end }
end

t.test("a round that stands twice in a file is one", function()
  local record = { round = "1", configuration = "a", date = "2026-01-01", step_time_ms = "1", busy = "no" }
  local made = read_rounds { record, { round = "2", configuration = "a", date = "2026-01-02", busy = "no" },
    setmetatable({ step_time_ms = "3" }, { __index = record }) }
  t.equal(#made:idle("a", {}), 2)
  t.equal(made:beside("a", {})[2].step_time_ms, "1")
end)

t.test("a row is beside others in a round that has all of them", function()
  local made = read_rounds {
    { round = "1", configuration = "a", date = "2026-01-01" },
    { round = "1", configuration = "b", date = "2026-01-01" },
    { round = "1", configuration = "c", date = "2026-01-01" },
    { round = "2", configuration = "a", date = "2026-01-02" },
    { round = "2", configuration = "c", date = "2026-01-02" },
  }
  local found = made:beside("a", { "b", "c" })
  t.equal(#found, 1)
  t.equal(found[1].round, "1")
  t.equal(#made:beside("a", { "c" }), 2)
end)

t.test("runs show the memory of the latest round, busy or not, and the times of the latest idle one", function()
  local rows = { { configuration = "a" } }
  step_times.project({
    timings = function(_, read)
      return read {
        { round = "1", configuration = "a", date = "2026-01-01", peak_memory_bytes = "100",
          step_time_ms = "1", busy = "no" },
        { round = "2", configuration = "a", date = "2026-01-02", peak_memory_bytes = "200",
          step_time_ms = "2", busy = "no" },
        { round = "3", configuration = "a", date = "2026-01-03", peak_memory_bytes = "300",
          step_time_ms = "3", busy = "yes" },
      }
    end,
    rows = function() return rows end,
    update = function(_, change) change(rows) end,
  }, {})
  t.equal(rows[1].peak_memory_bytes, "300")
  t.equal(rows[1].step_time_ms, "2")
end)

t.test("a ratio that no round has any more is none, and a mark of a busy machine is of times", function()
  local rows = { { configuration = "a", relative_step_time = "0.5" } }
  step_times.project({
    timings = function(_, read) return read {} end, rows = function() return rows end,
    update = function(_, change) change(rows) end,
  }, { a = "b" })
  t.equal(rows[1].relative_step_time, "")
  t.equal(step_times.busy_mark({ busy = "yes" }, "step_time_ms"), "~")
  t.equal(step_times.busy_mark({ busy = "yes" }, "bits_per_byte"), "")
end)

t.test("memory is that of as many ranks as the times", function()
  local rows = { { configuration = "a" } }
  step_times.project({
    timings = function(_, read)
      return read {
        { round = "1", configuration = "a", date = "2026-01-01", ranks = "1", peak_memory_bytes = "100",
          step_time_ms = "1", busy = "no" },
        { round = "2", configuration = "a", date = "2026-01-02", ranks = "2", peak_memory_bytes = "50",
          step_time_ms = "2", busy = "yes" },
      }
    end,
    rows = function() return rows end,
    update = function(_, change) change(rows) end,
  }, {})
  t.equal(rows[1].peak_memory_bytes, "100")
  t.equal(rows[1].step_time_ms, "1")
end)

t.test("a time of an unknown load is none of an idle machine", function()
  local made = read_rounds {
    { round = "1", configuration = "a", date = "2026-01-01", step_time_ms = 1, load = "", busy = "" },
  }
  local record, why, busy = made:latest "a"
  t.equal(record, nil)
  t.contains(why, "nobody knows")
  t.equal(busy.step_time_ms, 1)
end)

t.test("idle rounds are those of the place of the latest, and of no other", function()
  local function round(name, day, machine, kernels)
    return { round = name, configuration = "a", date = "2026-01-0" .. day, machine = machine,
      kernels = kernels or "k", busy = "no" }
  end
  local found = read_rounds { round("1", 1, "m"), round("2", 2, "other"), round("3", 3, "m"),
    round("0", 1, "m", "others") }:idle("a", {})
  t.equal(#found, 2)
  t.equal(found[1].round .. found[2].round, "31")
end)

t.test("quartiles are shares of the median", function()
  local q1, q3 = step_times.quartiles { step_time_q1_ms = "8", step_time_ms = "10", step_time_q3_ms = "15" }
  t.near(q1, 0.8, 1e-12)
  t.near(q3, 1.5, 1e-12)
  t.equal(step_times.quartiles { step_time_ms = "10" }, nil)
end)

-- What a rank finds that spends `own` of the second for which its processors were `used`,
-- beside another rank that spends 0.9 at `beside`.
local function found_by_rank(own, used, beside)
  local kept = { clock = core.clock, cpu_time = core.cpu_time, each = ranks.each }
  local now = 0
  core.clock = function() return now end
  core.cpu_time = function() return now * used, now * own, 1, "here" end
  local calls = 0
  function ranks.each(number)
    calls = calls + 1
    return { number, calls == 1 and (beside == "here" and number or number + 1) or 0.9 }
  end
  local _, seen = others.watch(function() now = 1 end, true)
  core.clock, core.cpu_time, ranks.each = kept.clock, kept.cpu_time, kept.each
  return seen
end

t.test("a rank is beside those that share its processors, and others are beside it", function()
  local seen = found_by_rank(0.4, 1, "elsewhere")
  t.equal(seen.busy, "yes")
  t.near(seen.load, 0.6, 1e-9)
  seen = found_by_rank(0.9, 1.8, "here")
  t.equal(seen.busy, "no")
  t.near(seen.load, 0, 1e-9)
  seen = found_by_rank(0.1, 1.5, "here")
  t.equal(seen.busy, "yes")
  t.near(seen.load, 0.25, 1e-9) -- each of the two says a half of what both see
end)

t.test("in less than a tick of the system's clock others use no more processors than there are", function()
  local kept, now = { clock = core.clock, cpu_time = core.cpu_time }, 0
  core.clock = function() return now end
  core.cpu_time = function() return now > 0 and 0.06 or 0, 0, 2 end
  local _, seen = others.watch(function() now = 0.005 end)
  core.clock, core.cpu_time = kept.clock, kept.cpu_time
  t.near(seen.load, 2, 1e-9)
  t.equal(seen.busy, "yes")
end)

t.finish()
