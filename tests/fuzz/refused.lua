-- For Lua readers under a fuzzer: what a refusal may be.

--- Calls f(...): true and what it gives, or false where it refused with a text. A text that begins
--- with a line of the
-- library is no refusal but a mistake of ours, and is raised again.
return function(f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then return table.unpack(results, 1, results.n) end
  local message = results[2]
  if type(message) ~= "string" or message:find "^harness/" or message:find "^datasets/"
    or message == "" then
    error(("no refusal: %s"):format(tostring(message)), 0)
  end
  return false, message
end
