-- Checks for Lua tests, run from the root of the tree:
--
--   local t = dofile "tests/test.lua"
--   t.test("sum of two", function() t.equal(sum(1, 2), 3) end)
--   t.finish()
--
-- A failed check ends its test with one line, and a test that checks nothing fails; finish() prints
-- "N skipped", where some were, then "N passed, N failed", and exits.
local t = {}
local passed, failed, skipped, checks = 0, 0, 0, 0

local function show(value)
  return type(value) == "string" and ("%q"):format(value) or tostring(value)
end

local function fail(...)
  error(string.format(...), 3)
end

function t.test(name, body)
  checks = 0
  local ok, message = xpcall(body, function(text)
    if type(text) == "string" or getmetatable(text) == t.skips then return text end
    return debug.traceback(show(text))
  end)
  if ok and checks == 0 then ok, message = false, "no check made" end
  if ok then
    passed = passed + 1
  elseif getmetatable(message) == t.skips then
    skipped = skipped + 1
    print(("%s: skipped: %s"):format(name, message.reason))
  else
    failed = failed + 1
    print(name .. ": " .. message)
  end
end

function t.check(condition, message)
  checks = checks + 1
  if not condition then fail("%s", message or "check failed") end
end

function t.equal(actual, expected)
  checks = checks + 1
  if actual ~= expected then fail("is %s, expected %s", show(actual), show(expected)) end
end

function t.near(actual, expected, tolerance)
  checks = checks + 1
  if not (math.abs(actual - expected) <= tolerance) then
    fail("is %.17g, expected %.17g within %g", actual, expected, tolerance)
  end
end

-- The text must hold this part, taken literally.
function t.contains(text, part)
  checks = checks + 1
  if not tostring(text):find(part, 1, true) then fail("%s lacks %s", show(text), show(part)) end
end

-- The call must raise an error whose text holds this part.
function t.fails(body, part)
  checks = checks + 1
  local ok, message = pcall(body)
  if ok then fail("no error, expected one with %s", show(part)) end
  if not tostring(message):find(part, 1, true) then
    fail("error %s, expected in it %s", show(message), show(part))
  end
end

-- What t.skip raises.
t.skips = {}

-- Ends a test that cannot be made here; it is printed and counted as skipped.
function t.skip(reason) error(setmetatable({ reason = reason }, t.skips), 0) end

function t.finish()
  if passed + failed + skipped == 0 then
    failed = 1
    print("no test ran")
  end
  if skipped > 0 then print(("%d skipped"):format(skipped)) end
  print(("%d passed, %d failed"):format(passed, failed))
  os.exit(failed == 0, true)
end

return t
