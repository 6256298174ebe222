-- Classes of values that scripts hold. Their methods can be called and not exchanged: no field
-- leads to the table of them, and getmetatable gives a name.
local script_line = require "longhaul.run.script_line"

local class = {}

-- What is no field of its own is a method, or what the object was made with for good.
local function assign(object, key, value)
  if object[key] ~= nil then
    error(("'%s' of a %s cannot be changed"):format(tostring(key), getmetatable(object)), 2)
  end
  rawset(object, key, value)
end

--- A class: `make(fields, fixed)` makes an object of the table `fields`, to which those of `fixed`
--- (or nil) belong for good; `is(value)` tells whether a value is one. `events`: further
--- metamethods.
function class.new(name, methods, events)
  local made, behind, common = {}, { __index = methods }, nil
  local function metatable(index)
    local meta = { __index = index, __newindex = assign, __name = name, __metatable = name }
    for event, handler in pairs(events or {}) do meta[event] = handler end
    return meta
  end
  function made.make(fields, fixed)
    if fixed then return setmetatable(fields, metatable(setmetatable(fixed, behind))) end
    common = common or metatable(methods)
    return setmetatable(fields, common)
  end
  function made.is(value) return getmetatable(value) == name end
  --- Its methods refuse what a dot hands them, `bench.row { ... }`: a value that has no such method stands where the
  --- object should, or what stands for one by its metatable.
  function made.guard()
    local kind = name:match "[^.]*$"
    for key, method in pairs(methods) do
      methods[key] = function(self, ...)
        if type(self) ~= "table" or self[key] ~= methods[key] then
          script_line.fail(("%s is called with a colon, %s:%s, not with a dot"):format(key, kind, key))
        end
        return method(self, ...)
      end
    end
  end
  return made
end

return class
