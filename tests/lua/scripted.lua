-- Scripts as texts: dofile "tests/lua/scripted.lua".
local script = require "longhaul.script"

local scripted = { path = os.tmpname() }

--- A beginning of five lines: an experiment `bench`, a task of words, a model and a training.
scripted.start = [[
local lh = require "longhaul"
local bench = lh.experiment "test"
local task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 3 }, segment = 64 }
local model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }
local train = lh.train { steps = 2 }
]]

--- Loads a script with this text, at `path`; gives the experiment.
function scripted.load(text, scale)
  local file <close> = assert(io.open(scripted.path, "w"))
  assert(file:write(text))
  file:close()
  return script.load(scripted.path, { scale = scale or "smoke" })
end

return scripted
