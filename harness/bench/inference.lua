-- GPT-2 small with drawn weights: a pass over windows and greedy generation, beside PyTorch doing
-- the same in the same call where it is installed.
local core = require "longhaul.core"
local peer = require "longhaul.bench.peer"

local bench = {}

local batch, window, prompt, count = 4, 128, 32, 24
local function vocabulary_of_bytes()
  local tokenizer <close> = core.tokenizer "bytes"
  return tokenizer:vocabulary()
end

local function median(times)
  table.sort(times)
  return times[(#times + 1) // 2]
end

local function timed(action)
  local start = core.clock()
  local result = action()
  return core.clock() - start, result
end

-- Writes the weights that both read; gives the seconds of a pass over `batch` windows of the
-- generator's text, and what the session says of these.
local function forward_seconds(options, weights)
  local corpus = ("name=generate:books documents=8 document_bytes=8192 segment=%d batch=%d"):format(
    window, batch)
  local session <close> = core.session {
    model = options, task = core.options("task", "language_model", corpus .. " evaluate_batches=1"),
    train = core.options("train", "train", "optimizer=sgd momentum=0"), seed = 1, device = "cpu",
  }
  session:save_weights(weights, true)
  local times = {}
  for i = 1, 6 do times[i] = timed(function() return session:evaluate("train") end) end
  table.remove(times, 1)
  return median(times), session:info()
end

local function token_seconds(options, weights)
  local vocabulary = vocabulary_of_bytes()
  local generator <close> = core.generator {
    model = options, vocabulary = vocabulary, weights = weights, seed = 1, device = "cpu",
  }
  local tokens, times, drawn = {}, {}, {}
  for i = 0, prompt - 1 do tokens[i + 1] = (7 * i * i + 3 * i) % vocabulary end
  generator:feed(tokens)
  for i = 1, count do
    times[i], drawn[i] = timed(function() return generator:next(0, 0, 1) end)
  end
  return median(times), table.concat(drawn, " ")
end

-- One line, and a row of the CSV file.
local function report(rows, name, seconds, other, info)
  local ratio = other and seconds / tonumber(other)
  rows[#rows + 1] = {
    benchmark = name, size = "GPT-2 small, bytes", metric = "seconds", value = seconds, unit = "s",
    ratio_to = other and "PyTorch", ratio = ratio, data = info and info.data, data_digest = info
      and info.digest,
  }
  print(("  %-34s %9.2f ms%s"):format(name, 1000 * seconds,
    other and ("   PyTorch %9.2f ms   ratio %.2f"):format(1000 * tonumber(other), ratio) or ""))
end

--- Adds rows to `rows`.
function bench.run(rows, threads)
  local options, weights = core.options("model", "gpt2", "dropout=0 recompute=false"), os.tmpname()
    .. ".safetensors"
  local forward, info = forward_seconds(options, weights)
  local token, drawn = token_seconds(options, weights)
  local torch = peer.version "torch"
    and peer.run("gpt2.py", ("%s 12 %d %d %d %d %d"):format(weights, threads,
    batch, window, prompt, count))
  os.remove(weights)
  print("\nGPT-2 small" .. (torch and ", beside PyTorch " .. torch.torch
    or "; no PyTorch here (PYTHON=... names another interpreter)"))
  report(rows, ("evaluation of %d x %d tokens"):format(batch, window), forward, torch
    and torch.forward_seconds, info)
  report(rows, "generation, one token", token, torch and torch.token_seconds)
  if torch and torch.tokens ~= drawn then print("  the two drew different tokens") end
end

return bench
