-- The same work in other libraries (tests/peers), where they are installed: environment variable
-- PYTHON names an interpreter that has them, default python3.
local core = require "longhaul.core"

local peer = {}

-- What a Python command prints as "name,value" lines; nil and its last words when it fails.
local function values_of(arguments)
  local log = os.tmpname()
  local pipe <close> = assert(io.popen(("%s %s 2>%s"):format(os.getenv "PYTHON" or "python3",
    arguments, log)))
  local values = {}
  for line in pipe:lines() do
    local name, value = line:match "^([%w_]+),(.*)$"
    if name then values[name] = value end
  end
  local good = pipe:close()
  local words = core.read_file(log)
  os.remove(log)
  if not good then return nil, words:match "^(.-)%s*$":sub(-2000) end
  return values
end

--- The version of a library, "torch" or "jax"; nil where there is none.
function peer.version(library)
  local values = values_of(([[-c 'import %s; print("%s,%%s" %% %s.__version__)']]):format(library,
    library, library))
  return values and values[library]
end

local names = { torch = "PyTorch", jax = "JAX" }

--- Marks a line of bench.csv as a library's: nothing of our build made it.
function peer.mark(row, library, version)
  row.code_version, row.dirty, row.kernels, row.blas = "", "", "", ""
  row.compiler = ("%s %s"):format(names[library], version)
end

-- The numbers of an answer as numbers; a version is none.
local function with_numbers(values)
  for name, value in pairs(values) do
    if not names[name] then values[name] = tonumber(value) or value end
  end
  return values
end

--- What tests/peers/<script> finds, by name.
function peer.run(script, arguments)
  local values, words = values_of(("tests/peers/%s %s"):format(script, arguments))
  return values and with_numbers(values) or error(("tests/peers/%s: %s"):format(script, words), 0)
end

--- The first `batches` training steps of the session in tests/peers/<script>: step_time_ms,
--- step_time_q1_ms, step_time_q3_ms, peak_memory_bytes (of PyTorch's), loss_bits (mean over the
--- steps), losses (of each step, an array).
function peer.train(session, batches, script, arguments)
  local folder = os.tmpname()
  os.remove(folder)
  core.make_folder(folder)
  session:export(folder, batches)
  local good, values = pcall(peer.run, script, folder .. " " .. arguments)
  for _, name in ipairs { "/run.json", "/weights.safetensors", "/batches.safetensors", "" } do
    os.remove(folder .. name)
  end
  if not good then error(values, 0) end
  local losses = {}
  for loss in tostring(values.losses):gmatch "%S+" do losses[#losses + 1] = tonumber(loss) end
  values.losses = losses
  return values
end

--- Mean loss, bits per token, over all steps of a session that has taken all of its steps but the
--- last: takes that step, with training options `steps` and a `log_every` that is no smaller.
function peer.mean_loss(session)
  local loss
  session:train(nil, function(progress) loss = progress.loss_bits end)
  return loss
end

return peer
