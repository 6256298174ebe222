-- Training steps beside those of other libraries, in one call: every model in f32 and bf16, and its
-- peers of tests/peers in each setting that a user would try (PyTorch with and without
-- torch.compile, bf16 by autocast, JAX).
local core = require "longhaul.core"
local peer = require "longhaul.bench.peer"

local peers = {}

local warmup = 2

-- What is compared at each width: our options, and for a peer that reads no exported run the same
-- shape in words. The text has 4096 tokens a step.
local text = "name=generate:books documents=20 document_bytes=65536 "

local function block_stack(model, more)
  return function(width)
    return {
      model = { model, ("%s width=%d heads=%d window=%d dropout=0"):format(more, width, width // 64,
        width) },
      task = { "language_model", text .. ("segment=%d batch=%d"):format(4 * width, 1024 // width) },
      train = "warmup=10",
      size = ("width %d, window %d, 4096 tokens"):format(width, width), exported = true, jax = true,
    }
  end
end

local function shaped(name, size, options, task, shape)
  return function(width)
    local sizes = { width = width, heads = width // 64, hidden = 4 * width, half = width // 2 }
    local function filled(form) return (form:gsub("{(%w+)}", sizes)) end
    return {
      model = { name, filled(options) }, task = task, train = "optimizer=adamw rate=1e-4",
      size = ("width %d, %s"):format(width, size),
      script = name, shape = filled(shape),
    }
  end
end

local language = { "language_model", text .. "segment=1024 batch=4" }

local entries = {
  { "slide", block_stack("slide", "layers=13") },
  { "brt fixed:skip", block_stack("brt", "layers=12 recurrence=fixed:skip") },
  { "gpt2", shaped("gpt2", "4 layers, window 256, 4096 tokens",
    "layers=4 width={width} heads={heads} context=256 window=256 dropout=0 recompute=false",
    language, "layers=4 width={width} heads={heads} rows=4 length=1024 window=256 vocabulary=256") },
  { "transformer_xl", shaped("transformer_xl", "4 layers, span 256, 4096 tokens",
    "layers=4 width={width} heads={heads} span=256 dropout=0",
    { "language_model", text .. "segment=256 batch=16" },
    "layers=4 width={width} heads={heads} rows=16 length=256 span=256 vocabulary=256") },
  { "reformer", shaped("reformer", "4 layers, length 1024, 2 rounds, 4096 tokens",
    "layers=4 width={width} heads={heads} rounds=2 chunk=64 positions=32,32 position_widths="
    .. "{half},{half}", language,
    "layers=4 width={width} heads={heads} rows=4 length=1024 rounds=2 chunk=64 vocabulary=256") },
  { "informer", shaped("informer", "384 steps to 192, 32 windows",
    "layers=2 decoder_layers=1 width={width} heads={heads} hidden={hidden} dropout=0 distil=true",
    { "forecasting", "name=generate:seasonal seq_len=384 label_len=192 pred_len=192 batch=32" },
    "layers=2 decoder_layers=1 width={width} heads={heads} hidden={hidden} rows=32 observed=384 "
      .. "predicted=192 channels=7") },
}

local settings = {
  { "PyTorch f32", "torch", "--precision f32 --eager" },
  { "PyTorch f32, compiled", "torch", "--precision f32" },
  { "PyTorch bf16", "torch", "--precision bf16 --eager" },
  { "PyTorch bf16, compiled", "torch", "--precision bf16" },
  { "JAX f32", "jax", "" },
}

local function session_of(case, precision, total)
  return core.session {
    model = core.options("model", case.model[1], case.model[2]),
    task = core.options("task", case.task[1], case.task[2]),
    train = core.options("train", "train",
      ("%s steps=%d log_every=%d precision=%s"):format(case.train, total, total,
      precision)),
    seed = 1, device = "cpu",
  }
end

-- Our own steps, both precisions in turn where this machine has bf16; why not, else.
local function own_times(case, rounds)
  local total = warmup + rounds + 1
  local sessions = { session_of(case, "f32", total) }
  local has_bf16, half = pcall(session_of, case, "bf16", total)
  if has_bf16 then sessions[2] = half end
  local times = core.time_steps(sessions, warmup, rounds)
  local info = sessions[1]:info()
  for _, session in ipairs(sessions) do session:close() end
  return times, info, not has_bf16 and half
end

-- A peer's step, from an exported run or from its shape; nil and why where it fails.
local function ask(case, library, arguments, rounds)
  local total = warmup + rounds + 1
  local words = ("--warmup %d --threads %d %s"):format(warmup, core.machine().threads, arguments)
  if not case.exported then
    return pcall(peer.run, "standard.py",
      ("%s %s --steps %d %s"):format(case.script, case.shape, rounds, words))
  end
  local session <close> = session_of(case, "f32", total)
  return pcall(peer.train, session, total, library == "jax" and "block_stack_jax.py"
    or "block_stack.py", words)
end

-- A line of the printed table, and the same as rows of bench.csv. `to`: { name, ms, bytes } of what
-- it is held against.
local function report(rows, name, size, line, to)
  local function add(metric, value, unit, base)
    rows[#rows + 1] = { benchmark = ("%s, %s"):format(name, line.title), size = size,
      metric = metric, value = value,
      unit = unit, ratio_to = base and to.title, ratio = base and value / base }
    if line.library then peer.mark(rows[#rows], line.library, line.version) end
  end
  add("step_time_ms", line.ms, "ms", to and to.ms)
  if line.bytes then add("peak_memory_bytes", line.bytes, "bytes", to and to.bytes) end
  print(("  %-24s %9.1f  %8.1f to %8.1f %9s%s"):format(line.title, line.ms, line.q1, line.q3,
    line.bytes and ("%.0f MB"):format(line.bytes / 2 ^ 20) or "",
    to and ("   %.2f of %s"):format(line.ms / to.ms, to.title) or ""))
end

local function line_of(title, values, library)
  return { title = title, ms = values.step_time_ms or values.median_ms, q1 = values.step_time_q1_ms
    or values.q1_ms,
    q3 = values.step_time_q3_ms or values.q3_ms, bytes = values.peak_memory_bytes,
    library = library,
    version = library and values[library] }
end

-- The fastest of the lines whose titles begin so.
local function fastest(lines, title)
  local best
  for _, line in ipairs(lines) do
    if line.title:find(title, 1, true) == 1 and (not best or line.ms < best.ms) then best = line end
  end
  return best
end

-- A line of each setting of the libraries that are here, as far as there is a peer in them.
local function peer_lines(case, libraries, rounds)
  local lines = {}
  for _, setting in ipairs(settings) do
    local title, library, arguments = table.unpack(setting)
    local is_there = libraries[library] and (library == "torch" or case.jax)
    local good, values = true, nil
    if is_there then good, values = ask(case, library, arguments, rounds) end
    if not good then print(("  %-24s failed: %s"):format(title, tostring(values):match "[^\n]*$")) end
    lines[#lines + 1] = good and values and line_of(title, values, library) or nil
  end
  return lines
end

local function compare(rows, name, case, libraries, rounds)
  local size = case.size
  print(("\n%s, %s"):format(name, size))
  local times, info, lack = own_times(case, rounds)
  local others = peer_lines(case, libraries, rounds)
  report(rows, name, size, line_of("longhaul f32", times[1]), fastest(others, "PyTorch f32"))
  if times[2] then
    report(rows, name, size, line_of("longhaul bf16", times[2]), fastest(others, "PyTorch bf16"))
    rows[#rows + 1] = { benchmark = name, size = size, metric = "bf16_over_f32",
      value = times[2].median_ms / times[1].median_ms,
      unit = "", ratio_to = "longhaul f32", ratio = times[2].median_ms / times[1].median_ms }
    print(("  bf16 takes %.2f of f32's time"):format(times[2].median_ms / times[1].median_ms))
  elseif lack then
    print("  no bf16 here: " .. tostring(lack):match "^[^\n]*")
  end
  for _, line in ipairs(others) do report(rows, name, size, line) end
  return { data = info.data, data_digest = info.digest }
end

-- The entries with `text` in their title; nil: all.
local function meant(text)
  local list = {}
  for _, entry in ipairs(entries) do
    if not text or entry[1]:find(text, 1, true) then list[#list + 1] = entry end
  end
  return list
end

--- The titles of all models with `text` in them (nil: all).
function peers.titles(text)
  local titles = {}
  for i, entry in ipairs(meant(text)) do titles[i] = entry[1] end
  return titles
end

--- Compares the models whose title has `only` in it, at each of `widths`, over `rounds` steps;
--- `measured(work)` is called with what adds rows.
function peers.run(rows, measured, only, widths, rounds)
  local libraries = { torch = peer.version "torch", jax = peer.version "jax" }
  for _, width in ipairs(widths) do
    for _, entry in ipairs(meant(only)) do
      local case = entry[2](width)
      measured(rows, function() return compare(rows, entry[1], case, libraries, rounds) end)
    end
  end
  if not libraries.torch then print "no PyTorch here (PYTHON=... names another interpreter)" end
end

return peers
