-- What stands below a table: which sentence belongs to which cells, and which rows a reason names.
local t = dofile "tests/test.lua"
local notes = require "longhaul.report.table_notes"
local tuning = require "longhaul.run.tuning"

local function cell(more)
  local made = { measured = 1, seeds = 3, status = "done", reasons = {} }
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

-- A table of one column; `cells` by the labels of its rows, in the order of `labels`.
local function made_of(labels, cells, more)
  local rows = {}
  for i, label in ipairs(labels) do rows[i] = { label = label, cells = { cells[label] or cell() } } end
  local made = { scale = "small", rows = rows, columns = { { metric = "bits_per_byte" } } }
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

local function text_of(...) return table.concat(notes.of(made_of(...)), "\n") end

t.test("a table without a fault has one sentence", function()
  local list = notes.of(made_of({ "a", "b" }, {}))
  t.equal(#list, 1)
  t.contains(list[1], "Scale small, 3 seeds, mean ± standard deviation; the best mean, ties not told apart, ")
  t.contains(text_of({ "a" }, { a = cell { seeds = 1 } }), "Scale small, 1 seed; the best measured value")
end)

t.test("a row has as many seeds as its measured cell with the fewest", function()
  local made = made_of({ "a", "b" }, {})
  made.columns[2] = { metric = "accuracy" }
  made.rows[1].cells = { cell { seeds = 1 }, cell() }
  t.contains(notes.of(made)[1], "1 to 3 seeds (fewer: a)")
  made.rows[1].cells = { cell(), cell { seeds = 0 } }
  made.rows[1].cells[2].measured = nil
  t.contains(notes.of(made)[1], "Scale small, 3 seeds,")
end)

t.test("a reason names its rows once each, the first three, and three reasons are told", function()
  local cells, labels = {}, { "a", "b", "c", "d" }
  for _, label in ipairs(labels) do cells[label] = cell { status = "stale", why = "width 8" } end
  t.contains(text_of(labels, cells), "Some rows are stale, and never the best: a, b, c and 1 more: width 8.")
  cells.d.why, cells.c.why, cells.b.why = "width 4", "width 3", "width 2"
  t.contains(text_of(labels, cells), "a: width 8; b: width 2; c: width 3; 1 more in the CSV file.")
  cells.b.why, cells.c, cells.d = nil, nil, nil
  t.contains(text_of(labels, cells), "never the best: a: width 8.")
  local twice = made_of({ "a" }, cells)
  twice.rows[1].cells[2], twice.columns[2] = cells.a, { metric = "accuracy" }
  t.contains(table.concat(notes.of(twice), "\n"), "never the best: a: width 8.")
end)

t.test("a mean of fewer data sets is told as such, on a busy machine as well", function()
  for _, status in ipairs { "fewer data sets", "busy, fewer data sets" } do
    t.contains(text_of({ "a", "b" }, { a = cell { status = status, why = "no latex" } }),
      "Some rows lack data sets that others have (part), and are never the best: a: no latex.")
  end
end)

t.test("a column says once why it is marked, empty or of fewer data sets", function()
  local busy = cell { reasons = { { busy = true, text = "was timed on a busy machine" } } }
  local text = text_of({ "a", "b" }, { a = busy, b = busy })
  local _, times = text:gsub("is marked ~ where a row was timed on a busy machine%.", "")
  t.equal(times, 1)
  t.contains(text_of({ "a" }, { a = cell { reasons = { { text = "has no words" } } } }),
    "is of fewer data sets where a row has no words.")
  local empty = cell { reasons = { { text = "has no words" } } }
  empty.measured = nil
  t.contains(text_of({ "a", "b" }, { a = empty }), "is empty where a row has no words.")
end)

t.test("what was left out is counted, and columns without a value are named", function()
  t.contains(text_of({ "a" }, {}, { left_out = 1 }), "1 run of other data or options was left out.")
  t.contains(text_of({ "a" }, {}, { left_out = 2 }), "2 runs of other data or options were left out.")
  t.contains(text_of({ "a" }, {}, { empty = { "words", "bytes" } }), "No row has a value of: words, bytes.")
  t.check(not text_of({ "a" }, {}, { left_out = 0, empty = {} }):find "left out", "nothing was left out")
end)

t.test("of runs that kept the best of validation brackets have the mean", function()
  local chosen, not_chosen = cell { selected = true }, cell { unselected = true }
  local text = text_of({ "a", "b" }, { a = chosen, b = not_chosen })
  t.contains(text, "A value is that of the seed with the best validation result; in brackets mean")
  t.contains(text, "A value without brackets is the mean over seeds")
  t.contains(text, "the best measured value of a column is marked *")
  t.check(not text_of({ "a" }, { a = cell { selected = true, seeds = 1 } }):find "brackets", "one seed has no mean")
end)

t.test("a smaller model than the paper's is told beside the paper's values alone", function()
  local larger = "The paper's models are larger: compare the order of the rows."
  t.contains(text_of({ "a" }, { a = cell { published = 2 } }), larger)
  t.check(not text_of({ "a" }, {}):find(larger, 1, true), "nothing is published")
  t.check(not text_of({ "a" }, { a = cell { published = 2 } }, { scale = "paper" }):find(larger, 1, true),
    "models of the paper's size")
  local unmeasured = cell { published = 2 }
  unmeasured.measured = nil
  t.check(not text_of({ "a", "b" }, { a = unmeasured }):find(larger, 1, true), "nothing stands beside it")
end)

t.test("one cost for several data sets is called a mean, unless a column is of one of them", function()
  local mean = "A cost is the mean over the data sets."
  local function of(column, several)
    return text_of({ "a" }, {}, { columns = { column }, several = several })
  end
  t.contains(of({ metric = "step_time_ms" }, true), mean)
  t.check(not of({ metric = "step_time_ms" }, false):find(mean, 1, true), "of one data set")
  t.check(not of({ metric = "step_time_ms", dataset = "books" }, true):find(mean, 1, true), "a column of one")
  t.check(not of({ metric = "bits_per_byte" }, true):find(mean, 1, true), "no cost")
  t.contains(of({ metric = "step_time_ms", apart = true }, false),
    "is of several rounds: only the relative step time compares rows.")
end)

t.test("what was chosen for a label of several data sets is told with the data set", function()
  local rows = {}
  for i, place in ipairs { { "LSTM", "books" }, { "LSTM", "latex" }, { "Slide", "books" } } do
    rows[i] = { label = place[1], dataset = place[2], tuned = { text = "rate=" .. i, edges = {} },
      tune = { by = "valid_bits_per_byte", choices = 3, seeds = 1, rounds = 1 } }
  end
  t.equal(tuning.sentence(rows), "Chosen by valid_bits_per_byte among 3 trials a row: LSTM (books) rate=1; "
    .. "LSTM (latex) rate=2; Slide rate=3.")
end)

t.test("many rows are counted, by what they chose and by the edge of it", function()
  local rows, values = {}, { { "rate=1", { "Lowest rate" } }, { "rate=2", {} }, { "rate=3", { "Highest rate" } } }
  for i = 1, 20 do
    local text, edges = table.unpack(values[i <= 9 and 1 or i <= 18 and 2 or 3])
    rows[i] = { label = "LSTM", dataset = "text " .. i, tuned = { text = text, edges = edges },
      tune = { by = "valid_bits_per_byte", choices = 3, seeds = 1, rounds = 1 } }
  end
  t.equal(tuning.sentence(rows), "Chosen by valid_bits_per_byte among 3 trials a row: rate=1 in 9 rows; rate=2 in 9; "
    .. "rate=3 in 2. At the edge of what was tried, beyond which better may lie: 11 of 20 rows. "
    .. "Highest rate: LSTM (text 19); LSTM (text 20). Lowest rate: 9 rows.")
end)

t.finish()
