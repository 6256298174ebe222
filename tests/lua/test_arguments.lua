-- What scripts may call refuses values of a wrong type in words of its own: no message is that of a line of ours,
-- which says "attempt to index" of a variable that nobody has written.
local t = dofile "tests/test.lua"
local lh = require "longhaul"

local nothing = {} -- stands for nil in a list
local values = { nothing, 0, -1, 0 / 0, "x", "", true, {}, { 1 }, { {} }, { x = 1 }, print, { "x" }, { { "a", 1 } },
  { "x", model = 1 }, { parameters = 1 }, lh.train {}, lh.models.lstm {} }

local function value_of(place) return values[place] ~= nothing and values[place] or nil end

-- The messages of ours that `call` gives, with two arguments of any kind behind `first` (nil: none).
local function internal_messages(call, first)
  local list = {}
  for i = 1, #values do
    for j = 1, #values, 3 do
      local words = { value_of(i), value_of(j) }
      if first then words = { first, value_of(i), value_of(j) } end
      local good, message = pcall(call, table.unpack(words, 1, first and 3 or 2))
      local text = good and "" or tostring(message)
      if text:find "harness/" or text:find "attempt to" or text:find "bad argument" then list[#list + 1] = text end
    end
  end
  return list
end

local function check(name, call, first)
  t.test(name .. " refuses in words", function()
    local list = internal_messages(call, first)
    t.check(#list == 0, ("%d messages, the first: %s"):format(#list, list[1]))
  end)
end

local function check_all(name, functions)
  for key, value in pairs(functions) do
    if type(value) == "function" then check(("%s.%s"):format(name, key), value) end
  end
end

check_all("lh", lh)
check_all("lh.data", lh.data)
check_all("lh.predicate", lh.predicate)
check("lh.models.brt", lh.models.brt)
for _, name in ipairs { "language_model", "forecasting", "recall", "scripted_tokens" } do
  check("lh.tasks." .. name, lh.tasks[name])
end
local bench, model = lh.experiment "arguments", lh.models.lstm {}
for _, name in ipairs { "row", "seeds", "table", "plot", "fit", "best_at", "sample", "claim" } do
  check("bench:" .. name, bench[name], bench)
end
for _, name in ipairs { "with", "option", "spelled" } do check("spec:" .. name, model[name], model) end

t.test("lh.tune says what it refuses", function()
  local by = "valid_bits_per_token"
  for words, options in pairs {
    ["field 'by' names a metric"] = { rate = { 1, 2 } },
    ["no metric 'valid_bits_per_tokens' (did you mean 'valid_bits_per_token'?)"] = { rate = { 1, 2 }, by = by .. "s" },
    ["no loss or score of the validation split"] = { rate = { 1, 2 }, by = "bits_per_token" },
    ["'rate' takes the values that are tried"] = { rate = 1, by = by },
    ["'rate' tries 1 twice"] = { rate = { 1, 2, 1.0 }, by = by },
    ["tune: seeds must be a positive integer, not '0'"] = { rate = { 1, 2 }, by = by, seeds = 0 },
    ["nothing is tried"] = { by = by },
  } do
    t.fails(function() lh.tune(options) end, words)
  end
end)

t.finish()
