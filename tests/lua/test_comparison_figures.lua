-- The tables of findings that are of the comparison say what its files do: marks, spreads, seeds, edges of what was
-- tried, and no times of two rounds beside each other.
local t = dofile "tests/test.lua"
local filed = dofile "tests/lua/filed.lua"
local core = require "longhaul.core"

local folder = os.tmpname()
os.remove(folder)

local function write(path, columns, lines)
  core.make_folder((folder .. "/" .. path):match "^(.*)/")
  filed.write(folder .. "/" .. path, columns, lines)
end

write("m/own/table.csv", { "row", "dataset", "metric", "measured", "spread", "best", "tie" }, {
  { "far", "one", "accuracy", 0.25, 0.125, "", "no" }, { "near, fed back", "one", "accuracy", 0.5, 0.25, "", "yes" },
  { "first", "one", "accuracy", 0.75, 0, "yes", "" }, { "fixed", "one", "accuracy", 0.125, "", "", "" },
})
write("m/lengths/table.csv", { "row", "dataset", "metric", "measured" }, {
  { "first 8", "costs", "step_time_ms", 2 }, { "first 8", "costs", "peak_memory_bytes", 2 ^ 21 },
  { "far 8", "costs", "step_time_ms", 3 }, { "far 8", "costs", "peak_memory_bytes", 2 ^ 20 },
})

-- Of each row two seeds, the second recorded first.
local function runs_of(rows)
  local list = {}
  for _, row in ipairs(rows) do
    for seed = 2, 1, -1 do
      list[#list + 1] = { row[1] .. seed, row[1], "one", seed, "small", "cpu", "done", row[1], "2026-01-01",
        "steps=4 rate=" .. row[2] .. " final_rate=9", row[3] or "rate=" .. row[2], seed / 4, seed / 8, 2 }
    end
  end
  return list
end

write("m/own/runs.csv", { "run_id", "row", "dataset", "seed", "scale", "device", "status", "configuration", "date",
  "train_options", "tuned", "accuracy", "mse", "identity" },
  runs_of { { "far", 0.1 }, { "near, fed back", 0.03 }, { "first", 0.1 }, { "fixed", 0.1, "" } })
write("m/own/probes.csv", { "run_id", "name", "value" },
  { { "far1", "context_recall_8", 0.25 }, { "far2", "context_recall_8", 0.5 }, { "far1", "context_recall_16", 1 },
    { "far1", "context_kept_8", 9 }, { "first1", "context_recall_8", 1 } })
write("m/own-trials-round1/runs.csv", { "dataset", "train_options" },
  { { "one", "rate=0.03 final_rate=0" }, { "one", "steps=4 rate=0.1" }, { "two", "rate=9" } })
write("m/own/best_at.csv", { "dataset", "row", "over", "at", "loss", "spread", "place" }, {
  { "one", "first", "seconds", 5, 2, 0.25, "best" }, { "one", "near, fed back", "seconds", 5, 2.5, 0, "tie" },
  { "one", "fixed", "seconds", 5, 3, 0, "tie" }, { "one", "far", "seconds", 5, 4, 0, "4" },
  { "one", "far", "flops", 5, 1, 0, "best" } })
write("m/lengths/exponents.csv", { "row", "measure", "over", "exponent", "standard_error", "below", "below_from",
  "below_rounds" }, {
  { "first", "time", "length", "0.985", "0.015", "", "", "" },
  { "first", "memory", "length", 1, 0, "", "", "" },
  { "far", "time", "length", 1, 0, "first", "12", "several" },
  { "far", "memory", "length", 2, 0, "first", "none", "" } })

local known = assert(loadfile "scripts/known-figures.lua")(folder .. "/")

t.test("means have their spread, the best and ties their marks", function()
  t.equal(filed.lines_of(known.marked("m/own/table.csv", "accuracy", "%.1f", 100)), "| far | 25.0 ±12.5 |\n"
    .. "| near, fed back | ≈ 50.0 ±25.0 |\n| first | **75.0 ±0.0** |\n| fixed | 12.5 |")
end)

t.test("seeds stand in their order, a column in a format of its own", function()
  t.equal(filed.lines_of(known.by_seed("m/own", "%.2f",
    { { "right", "accuracy", "one" }, { "off", "mse", "one", "%.3f" } }, { "first", "far" })),
    "| first | 0.25 / 0.50 | 0.125 / 0.250 |\n| far | 0.25 / 0.50 | 0.125 / 0.250 |")
  t.fails(function() known.by_seed("m/own", "%.2f", { { "right", "bleu", "one" } }, { "far" }) end, "no bleu of 'far'")
  t.fails(function() known.by_seed("m/own", "%.2f", { { "right", "mse", "two" } }, { "far" }) end,
    "no runs of 'far' on two")
end)

t.test("a profile is the mean over the seeds that have the probe, of its part alone", function()
  local shown = known.profile("m/own", "one", "%.3f", { { "8", "recall", 8 }, { "kept", "kept", 8 } })
  t.contains(shown, "| far | 0.375 | 9.000 |\n| near, fed back |  |  |\n| first | 1.000 |  |")
end)

t.test("who leads at a moment, and who ties", function()
  t.equal(filed.lines_of(known.leaders("m/own", "seconds", { 5 })),
    "| one | 5 | first, 2.000 ±0.250 | 2 | near, fed back; fixed |")
  t.fails(function() known.leaders("m/own", "seconds", { 6 }) end, "nobody is the best of one at 6 seconds")
end)

t.test("rows at an edge are those that were tuned, by the rates of their data", function()
  t.equal(filed.lines_of(known.edges "m/own"), "| one | 3 | 0.03 to 0.1 | 1: near, fed back | 2: far; first |")
  t.equal(known.at_edge("m/own", "lowest"), 1)
  t.equal(known.at_edge("m/own", "highest", { "one" }), 2)
end)

t.test("times of two rounds are not compared, other costs are", function()
  t.equal(filed.lines_of(known.costs_by_length("m/lengths", { 8 })), "| first | 2.0 | 0.985 ±0.015 |  | 2.0 | 1.000 |\n"
    .. "| far | 3.0 | 1.000 ±0.000 | other round | 1.0 | 2.000 |")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
