-- Lines that fit a terminal: where they break, and where the rest of them begins.
local t = dofile "tests/test.lua"
local fold = require "longhaul.run.fold"

local function lines(...) return table.concat(fold.line(...), "|") end

t.test("a line that fits stays, to the last column", function()
  t.equal(lines("one two", 7), "one two")
  t.equal(lines("one two", 6), "one|two")
  t.equal(lines("±1 ±2", 5), "±1 ±2")
end)

t.test("what follows is as far in as the line", function()
  t.equal(lines("  one two three", 9), "  one two|  three")
  t.equal(lines("  one two three", 9, "    "), "  one two|    three")
end)

t.test("an entry of a list goes on below what is said of it", function()
  t.equal(lines("  --set X  changes options of rows", 24), "  --set X  changes|           options of|           rows")
  t.equal(lines("  a name of some length  what it is", 26), "  a name of some length|  what it is",
    "unless less than half is left there")
end)

t.test("a word is never broken", function()
  t.equal(lines("a really-long-word b", 6), "a|really-long-word|b")
  t.equal(lines("really-long-word", 6), "really-long-word")
end)

t.test("a text keeps its lines", function()
  t.equal(fold.text("a b\n\n  c d", 4), "a b\n\n  c\n  d")
  t.equal(fold.text("a b c d e f", nil), "a b c d e f")
  t.equal(fold.text("", 10), "")
end)

t.test("Chinese, Japanese, Korean and emoji take two columns, accents of their own none", function()
  t.equal(fold.columns "全注意力", 8)
  t.equal(fold.columns "ひらがな 한글", 13)
  t.equal(fold.columns "🙂a", 3)
  t.equal(fold.columns "café ±1 Ωλ", 10)
  t.equal(fold.columns "cafe\u{301}", 4)
  t.equal(fold.columns "\xff\xfe", 2)
  t.equal(fold.table { { "全注意", "1" }, { "window", "2" } }, "全注意  1\nwindow  2")
  t.equal(fold.table { { "é", "1" }, { "window", "2" } }, "é       1\nwindow  2")
end)

t.test("columns of a table stand below each other, and those that do not fit below the others", function()
  local rows = { { "", "one", "two" }, { "a", "±1", "" }, { "bcd", "", "10" } }
  t.equal(fold.table(rows), "     one  two\na    ±1\nbcd       10")
  t.equal(fold.table(rows, 13), fold.table(rows))
  t.equal(fold.table(rows, 12), "     one\na    ±1\nbcd\n\n     two\na\nbcd  10")
  t.equal(fold.table(rows, 2), fold.table(rows, 12))
  t.equal(fold.table { { "a" }, { "b" } }, "a\nb")
end)

t.finish()
