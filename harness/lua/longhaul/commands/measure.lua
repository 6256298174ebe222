-- bench: training steps against the machine's own matrix-product rate, and beside those of other
-- libraries.
local command = require "longhaul.command"
local core = require "longhaul.core"
local inference = require "longhaul.bench.inference"
local lines = require "longhaul.bench.lines"
local peer = require "longhaul.bench.peer"
local peers = require "longhaul.bench.peers"
local provenance = require "longhaul.run.provenance"

-- Three sizes; four segments' lengths in all; batch so that a step has 4096 to 8192 tokens.
local sizes = {
  { width = 128, window = 128, segment = 512, batch = 8 },
  { width = 256, window = 256, segment = 1024, batch = 4 },
  { width = 512, window = 512, segment = 4096, batch = 1 },
}

local warmup = 2
local peer_widths = { 128, 256 }

-- Options at a size, from a format of width, heads and window.
local function windowed(text)
  return function(size)
    return text:format(size.width, size.width // 64, size.window)
  end
end

local stack = "width=%d heads=%d window=%d dropout=0 "

-- All have about the parameters of slide: 156 width^2 in layers.
local models = {
  { "slide", "slide", windowed(stack .. "layers=13") },
  { "brt fixed:skip", "brt", windowed(stack .. "layers=12 recurrence=fixed:skip") },
  { "brt fixed:skip feedback", "brt",
    windowed(stack .. "layers=12 recurrence=fixed:skip feedback=true") },
  { "compressive", "compressive", function(size)
    return windowed "layers=10 width=%d heads=%d block=%d dropout=0"(size)
      .. (" memory=%d compressed_memory=%d"):format(size.window // 2, size.window // 2)
  end },
  { "rmt", "rmt", function(size) -- memory tokens in the release's share, 10 to a block of 150
    return windowed "layers=12 width=%d heads=%d block=%d dropout=0"(size)
      .. (" memory_tokens=%d"):format(size.window // 15)
  end },
  { "mamba2", "mamba2", function(size)
    local layers = 156 * size.width / (6 * size.width + 128) -- a layer: 6 width^2 + 2 state width
    return ("layers=%d width=%d state=64"):format(math.floor(layers + 0.5), size.width)
  end },
  { "gated_deltanet", "gated_deltanet", function(size)
    return windowed "layers=11 width=%d heads=%d head_width=48"(size)
      .. (" hidden=%d"):format(8 * size.width // 3)
  end },
  { "routing", "routing", function(size) -- a layer: 15.5 width^2
    return ("layers=10 width=%d heads=%d window=%d clusters=%d"):format(size.width,
      size.width // 64, size.window // 2, size.segment // size.window)
  end },
}

-- `total`: steps in all, without a point of the loss curve before their end.
local function session(model, size, total)
  local corpus = "name=generate:books documents=20 document_bytes=65536"
  local task = ("%s segment=%d batch=%d"):format(corpus, size.segment, size.batch)
  local train = ("warmup=10 steps=%d log_every=%d"):format(total, total)
  return core.session {
    model = core.options("model", model[2], model[3](size)),
    task = core.options("task", "language_model", task),
    train = core.options("train", "train", train), seed = 1, device = "cpu",
  }
end

local function rates(rows, cores)
  local peak = 0
  for threads = 1, math.min(2, cores) do
    for _, kind in ipairs { { "sgemm (OpenBLAS)", false }, { "sgemm (our tiles)", true } } do
      local rate = core.matmul_rate(1024, threads, kind[2])
      if not kind[2] then peak = math.max(peak, rate) end
      rows[#rows + 1] = { benchmark = kind[1], size = ("1024^3, %d threads"):format(threads),
        metric = "rate", value = rate, unit = "FLOP/s", threads = threads }
      print(("%-22s %d threads  %7.1f GFLOP/s"):format(kind[1], threads, rate / 1e9))
    end
  end
  return peak
end

-- The engine's own part of an op, on one thread.
local function overhead(rows)
  local threads = core.machine().threads
  core.set_threads(1)
  local forward, backward = core.op_rate(1000)
  core.set_threads(threads)
  for _, pass in ipairs { { "forward", forward }, { "backward", backward } } do
    rows[#rows + 1] = { benchmark = "an op of the engine", size = "16 numbers", metric = pass[1]
      .. "_us",
      value = 1e6 * pass[2], unit = "us", threads = 1 }
  end
  print(("%-22s forward %.2f us, backward %.2f us"):format("an op of the engine", 1e6 * forward,
    1e6 * backward))
end

-- Adds a row of the CSV file: what was measured of a benchmark at a size, and what it is compared with.
local function add(part, benchmark, row)
  row.benchmark, row.size = benchmark, part.name
  part.rows[#part.rows + 1] = row
end

-- One line of the printed table, and the same as rows of the CSV file. `slide`: ms of a step of the first model.
local function report(part, benchmark, time, flops_per_token, slide)
  local rate = time.tokens_per_step / (time.median_ms / 1000)
  local flops = 3 * flops_per_token * rate
  local ratio, of_peak = time.median_ms / slide, flops / part.peak
  add(part, benchmark, { metric = "step_time_ms", value = time.median_ms, unit = "ms", ratio_to = models[1][1],
    ratio = ratio })
  add(part, benchmark, { metric = "tokens_per_second", value = rate, unit = "tokens/s" })
  add(part, benchmark, { metric = "flops", value = flops, unit = "FLOP/s", ratio_to = "sgemm (OpenBLAS)",
    ratio = of_peak })
  add(part, benchmark, { metric = "peak_memory_bytes", value = time.peak_memory_bytes, unit = "bytes" })
  add(part, benchmark, { metric = "allocations_after_warmup", value = time.allocations_after_warmup, unit = "calls" })
  print(("  %-24s %8.1f  %7.1f to %7.1f %10.0f %9.1f %8.1f%% %9.2f"):format(benchmark, time.median_ms,
    time.q1_ms, time.q3_ms, rate, flops / 1e9, 100 * of_peak, ratio))
  if time.allocations_after_warmup > 0 then
    print(("  %-24s %d allocations in steady state"):format("", time.allocations_after_warmup))
  end
end

-- Gives what was read: { data, data_digest }.
local function steps(rows, size, peak, rounds)
  local sessions, total = {}, warmup + rounds + 1
  for i, model in ipairs(models) do sessions[i] = session(model, size, total) end
  local times = core.time_steps(sessions, warmup, rounds)
  local part = { rows = rows, peak = peak, name = ("width %d, window %d, segment %d, batch %d"):format(size.width,
    size.window, size.segment, size.batch) }
  print("\n" .. part.name)
  print(("  %-24s %8s  %18s %10s %9s %9s %9s"):format("training step", "ms", "quartiles",
    "tokens/s",
    "GFLOP/s", "of sgemm", "of slide"))
  local info = sessions[1]:info()
  for i, model in ipairs(models) do
    report(part, model[1], times[i], sessions[i]:info().flops_per_token, times[1].median_ms)
    add(part, model[1], { metric = "loss_bits", value = peer.mean_loss(sessions[i]), unit = "bits" })
    sessions[i]:close()
  end
  return { data = info.data, data_digest = info.digest }
end

-- LSH attention against full attention: one round, chunks of 64.
local function attention(rows, length)
  local time, part = core.lsh_rate(length, 1, 64), { rows = rows,
    name = ("length %d, 1 round, chunk 64"):format(length) }
  local function add_ms(metric, seconds, ratio_to, of)
    add(part, "LSH attention", { metric = metric, value = 1e3 * seconds, unit = "ms", ratio_to = ratio_to,
      ratio = seconds / of })
  end
  print(("\nLSH attention, %s: %.1f ms forward, %.1f of full attention's speed; %.1f ms with "
    .. "backward, %.1f;"):format(part.name,
    1e3 * time.lsh, time.full / time.lsh, 1e3 * time.lsh_training,
      time.full_training / time.lsh_training))
  print(("  sorting and reaching rows in that order %.1f ms, %.1f%% of forward"):format(
    1e3 * time.order,
    100 * time.order / time.lsh))
  add_ms("forward_ms", time.lsh, "full attention", time.full)
  add_ms("step_time_ms", time.lsh_training, "full attention", time.full_training)
  add_ms("order_ms", time.order, "LSH attention", time.lsh)
end

-- Does `work`, whose lines have the load and the time of its beginning, and the data that it says
-- it read.
local function measured(rows, work)
  local first, before = #rows + 1, provenance.fill {}
  local read = work() or {}
  for i = first, #rows do
    local row = rows[i]
    row.data, row.data_digest = row.data or read.data, row.data_digest or read.data_digest
    for name, value in pairs(before) do
      if row[name] == nil then row[name] = value end
    end
  end
end

-- A predicate of the parts of a benchmark: whether --only means them.
local function wanted_of(only)
  local function wanted(name) return not only or name:find(only, 1, true) ~= nil end
  local names, some = { "lsh", "gpt2", "peers" }, false
  for i, size in ipairs(sizes) do table.insert(names, i, "width " .. size.width) end
  for _, name in ipairs(names) do some = some or wanted(name) end
  if not some then
    command.misuse(("bench has no '%s'; there are: %s"):format(only, table.concat(names, ", ")))
  end
  return wanted
end

-- --model is said of the peers.
local function check_model(values)
  local titles = peers.titles(values.model)
  if #titles == 0 then
    command.misuse(("no peer's model has '%s' in its name; there are: %s"):format(values.model,
      table.concat(peers.titles(), ", ")))
  end
end

local function bench(values)
  check_model(values)
  local wanted = wanted_of(values.only or values.model and "peers")
  local machine, rounds = core.machine(), command.integer(values, "rounds", 7)
  local path = (values.results or "results") .. "/bench/bench.csv"
  core.make_folder(path:match "^(.*)/")
  local rows, save = {}, lines.writer(path)
  local function kept(_, work)
    measured(rows, work)
    save(rows)
  end
  print(("%s, %d threads, %s, %s"):format(machine.cpu, machine.threads, machine.blas,
    machine.kernels))
  local peak
  kept(rows, function() peak = rates(rows, machine.cores) end)
  kept(rows, function() overhead(rows) end)
  for _, size in ipairs(sizes) do
    if wanted("width " .. size.width) then
      kept(rows, function() return steps(rows, size, peak, rounds) end)
    end
  end
  if wanted "lsh" then kept(rows, function() attention(rows, 16384) end) end
  if wanted "gpt2" then kept(rows, function() inference.run(rows, machine.threads) end) end
  if wanted "peers" then
    peers.run(rows, kept, values.model, peer_widths, rounds)
  end
  if not values.only and not values.model then lines.write(path, rows) end
  print("\n" .. path)
end

return {
  {
    name = "bench", summary = "measure training steps and matrix products", run = bench,
      usage = "bench [--rounds N] [--only TEXT] [--model NAME]",
    options = {
      { "rounds=", "timed rounds (default 7)", "N" },
        { "only=", "only what contains this, 'width 256', lsh, gpt2 or peers", "TEXT" },
      { "model=", "the peers of models with this in their name, and nothing else", "NAME",
        words = peers.titles(), open = true },
      { "results=", "folder for results (default results)", "FOLDER" },
    },
  },
}
