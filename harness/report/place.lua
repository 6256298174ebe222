-- Finds files that come with the program: in the folder it is called from, beside the program's
-- build folder, or where `make install` put them, the whole prefix moved or not.
local core = require "longhaul.core"

local place = {}

--- The path of `name` ("plots/style.gp"), or nil.
function place.find(name)
  local program = core.program_folder()
  local above = program .. "/.."
  for _, root in ipairs { ".", above, above .. "/..", above .. "/../..", above .. "/share/longhaul",
    core.machine().share } do
    local path = root == "." and name or root .. "/" .. name
    if core.exists(path) then return path end
  end
  return nil
end

return place
