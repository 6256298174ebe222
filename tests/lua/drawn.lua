-- What a made chart hands to its template, for tests of it:
--
--   local drawn = dofile "tests/lua/drawn.lua"
--   drawn.setting(made, "series")
local drawn = {}

local function named(pairs_of_names, what, name)
  for _, pair in ipairs(pairs_of_names) do
    if pair[1] == name then return pair[2] end
  end
  error(("no %s %s"):format(what, name))
end

function drawn.block(made, name) return named(made.blocks, "block", name) end

function drawn.setting(made, name) return named(made.settings, "setting", name) end

return drawn
