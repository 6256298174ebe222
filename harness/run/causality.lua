-- A plug-in's model that looks ahead is not trained: its row would stand before honest ones.
local causality = {}

-- What was found to be causal in this process.
local passed = {}

--- Refuses a session to train a model of class `name` whose options and task `...` spell.
function causality.check(session, name, ...)
  local key = table.concat({ name, ... }, "\n")
  if passed[key] then return end
  local fault = session:causality_fault()
  if fault then error(("%s is not trained: %s; see `longhaul check %s`"):format(name, fault, name), 0) end
  passed[key] = true
end

return causality
