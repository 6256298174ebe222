-- JSON as Lua values: what is what, and where it is none.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"

t.test("values have their kinds", function()
  local value = core.parse_json [[
    {"items": [{"name": "train/a.txt"}, {"name": "b \"quoted\" \u00e9"}],
      "count": 2.5, "last": true, "next": null, "none": []}]]
  t.equal(#value.items, 2)
  t.equal(value.items[1].name, "train/a.txt")
  t.equal(value.items[2].name, 'b "quoted" é')
  t.equal(value.count, 2.5)
  t.equal(value.last, true)
  t.equal(value.next, nil)
  t.equal(#value.none, 0)
end)

t.test("a text or a number alone is JSON, too", function()
  t.equal(core.parse_json '"x"', "x")
  t.equal(core.parse_json "-3e2", -300.0)
  t.equal(core.parse_json "null", nil)
  t.equal(core.parse_json " 7\n", 7.0)
end)

t.test("what is no JSON is refused with its place", function()
  t.fails(function() core.parse_json '{"a": }' end, "no JSON at byte 7")
  local value, why = core.parse_json_or_refusal '{"a": }'
  t.equal(value, nil)
  t.equal(why, "no JSON at byte 7")
  t.equal(select("#", core.parse_json_or_refusal "null"), 1)
  t.equal(core.parse_json "7", 7.0)
  t.fails(function() core.parse_json "" end, "no JSON at byte")
  t.fails(function() core.parse_json "<html>" end, "no JSON at byte 1")
  t.fails(function() core.parse_json '{"a": 1} {"a": 2}' end, "something behind the value at byte 10")
  t.fails(function() core.parse_json(("["):rep(100000)) end, "no JSON at byte")
end)

t.test("a text is not cut at a NUL", function()
  t.fails(function() core.parse_json [[{"a": "b\u0000c"}]] end, "a NUL character at byte 9")
  t.fails(function() core.parse_json [[{"a\u0000b": 1}]] end, "a NUL character at byte 4")
  t.fails(function() core.parse_json "1\0 2" end, "a NUL byte at byte 2")
  t.fails(function() core.parse_json '"b\0c"' end, "a NUL byte at byte 3")
  t.equal(core.parse_json [["\\u0000"]], [[\u0000]])
end)

t.finish()
