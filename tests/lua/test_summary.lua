-- Runs in words: what is named, what is counted only.
local t = dofile "tests/test.lua"
local summary = require "longhaul.report.summary"

local function runs_on(...)
  local list = {}
  for i, machine in ipairs { ... } do list[i] = { machine = machine } end
  return list
end

t.test("different values are named once each, and those beyond the most are counted", function()
  t.equal(summary.different(runs_on("a", "b", "a", "", "c"), "machine", 3), "a; b; c")
  t.equal(summary.different(runs_on("a", "b", "c", "d"), "machine", 3), "a; b; c; 1 more")
  t.equal(summary.different(runs_on("a", "b", "c", "d"), "machine", 2), "a; b; 2 more")
  t.equal(summary.different(runs_on(""), "machine", 2), "")
  t.equal(summary.count(runs_on("a", "b", "a"), "machine"), 2)
end)

t.test("of names the first are told", function()
  t.equal(summary.first({ "a", "b" }, 2), "a, b")
  t.equal(summary.first({ "a", "b", "c" }, 2), "a, b and 1 more")
end)

t.test("days go from the first to the last, whatever the order of the runs", function()
  local runs = { { date = "2026-11-21T01:00:00Z" }, { date = "2026-11-20T23:00:00Z" }, { date = "2026-11-22" }, {} }
  t.equal(summary.days(runs), "2026-11-20 to 2026-11-22")
  t.equal(summary.days { runs[1], runs[1] }, "2026-11-21")
  t.equal(summary.days { {} }, "")
end)

t.test("data sets are in the order of the rows, each once", function()
  t.equal(table.concat(summary.datasets { { dataset = "b" }, { dataset = "a" }, { dataset = "b" } }, " "), "b a")
end)

t.finish()
