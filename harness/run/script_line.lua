-- The line of a script that called into the library, which messages begin with.
local script_line = {}

-- The library's files are embedded under these names, whatever the folder it runs in.
local own = { "^@harness/", "^@datasets/" }

local function is_own(source)
  for _, pattern in ipairs(own) do
    if source:match(pattern) then return true end
  end
  return false
end

--- "sweep.lua:12"; "" when there is none.
function script_line.text()
  for level = 2, 20 do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    if info.currentline > 0 and not is_own(info.source) then
      return ("%s:%d"):format(info.short_src, info.currentline)
    end
  end
  return ""
end

--- Raises `message` at the script's line.
function script_line.fail(message)
  local line = script_line.text()
  error(line ~= "" and line .. ": " .. message or message, 0)
end

return script_line
