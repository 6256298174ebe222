-- What a training step should take on a GPU, by arithmetic: the calls of its kernels
-- (kernels/cost/) over the rates of a device. An estimate; docs/performance.md has steps that were measured beside it.
local core = require "longhaul.core"
local lists = require "longhaul.run.lists"

local cost = {}

--- Bytes/s of memory, FLOP/s by precision, multiprocessors, seconds of a launch within a graph.
cost.devices = {
  { name = "h200", bandwidth = 4.2e12, f32 = 54e12, tf32 = 395e12, bf16 = 790e12,
    multiprocessors = 132, launch = 2e-6,
    source = "memory and bf16 measured; f32 and tf32: of the data sheet's 67 and 494 TFLOP/s the "
      .. "share that bf16 reached, 0.8" },
  { name = "h100", bandwidth = 2.9e12, f32 = 54e12, tf32 = 395e12, bf16 = 790e12,
    multiprocessors = 132, launch = 2e-6,
    source = "of the SXM data sheet's 3.35 TB/s, 67, 494 and 989 TFLOP/s the shares that an H200 "
      .. "reached" },
}

-- Shares of these rates that a kernel reaches, by its class: of arithmetic, of memory. Those of attention
-- are what an H200 showed first on 2026-11-29 (profile.csv and attention.csv in
-- results/reference/nvidia-h200/gpu-speed-81fb07c5); until then they stood at 0.2 to 0.35 by reading. In bf16
-- attention was made quicker after that: a layer of slide takes 0.7 of its time since. The others are from
-- the review of the sources: the card came within 5 % of those of products, and of elementwise kernels
-- within a third.
local shares = {
  -- elementwise kernels and norms take 28 to 36 ms where their bytes at full rate take 28
  stream = { arithmetic = 0.5, memory = 0.85 },
  -- the products of a step of 12 layers of 1024 take 42 to 48 ms, 38 at full rate
  product = { arithmetic = 0.87, memory = 0.85 },
  -- with position vectors, and of LSH: what makes the step of transformer_xl as long as it was in bf16
  -- (0.054) and in tf32 (0.075); 0.15 by reading
  tile = { arithmetic = 0.06, memory = 0.85 },
  -- in tf32: the same of slide; 0.2 by reading
  stripe = { arithmetic = 0.07, memory = 0.85 },
  -- heads of 128 reached 0.165, and of 64 0.139
  forward = { arithmetic = 0.15, memory = 0.85 },
  -- heads of 128 reached 0.15, and of 64 0.10
  backward = { arithmetic = 0.12, memory = 0.85 },
  forward_biased = { arithmetic = 0.13, memory = 0.85 },
  backward_biased = { arithmetic = 0.115, memory = 0.85 },
  -- attention in f32 takes 200 to 280 ms for 0.45 TFLOP
  reference = { arithmetic = 0.035, memory = 0.5 },
  -- hashing: 32 multiplications and additions with 9 loads of shared memory, a clock each beside 8 of
  -- arithmetic, leave 0.47
  registers = { arithmetic = 0.4, memory = 0.85 },
}

-- Classes that multiply without tensor cores.
local in_f32 = { reference = true, registers = true }

--- The row of a device; an error that names those there are.
function cost.device(name)
  return lists.named(cost.devices, name)
    or error(("no device '%s'%s"):format(name, core.did_you_mean(name, lists.names(cost.devices))), 0)
end

-- Seconds of arithmetic, of memory, and of what other work waits for.
local function seconds_of(call, device)
  local share = shares[call.class]
  local rate = in_f32[call.class] and device.f32 or device[call.precision]
  local arithmetic = call.products / (rate * share.arithmetic)
    + call.flops / (device.f32 * shares.stream.arithmetic)
  local memory = (call.read + call.written) / (device.bandwidth * share.memory)
  local waiting = call.launches * device.launch
    + call.serial * device.multiprocessors / device.bandwidth
  return arithmetic, memory, waiting
end

local function add(row, call, device)
  local arithmetic, memory, waiting = seconds_of(call, device)
  row.calls = row.calls + 1
  row.launches = row.launches + call.launches
  row.flops = row.flops + call.products
  row.bytes = row.bytes + call.read + call.written
  row.seconds = row.seconds + math.max(arithmetic, memory) + waiting
  row.waiting = row.waiting + waiting
  if arithmetic > memory then
    row.arithmetic = row.arithmetic + arithmetic
  else
    row.memory = row.memory + memory
  end
end

local function empty(kernel)
  return { kernel = kernel, calls = 0, launches = 0, flops = 0, bytes = 0, seconds = 0,
    arithmetic = 0, memory = 0, waiting = 0 }
end

local function bound_of(row)
  local most = math.max(row.arithmetic, row.memory, row.waiting)
  return most == row.arithmetic and "arithmetic" or most == row.memory and "memory" or "launches"
end

--- Of what core.step_cost counted: rows by kernel, the longest first, { kernel, calls, launches,
--- flops, bytes, seconds, bound }, and their sum with tokens_per_second and `share`, that of the
--- rate of bf16 (of f32 where nothing is in bf16) which the model's own FLOPs reach.
function cost.estimate(counted, device)
  local rows, by_kernel, sum, rate = {}, {}, empty "sum", device.f32
  for _, call in ipairs(counted.calls) do
    local row = by_kernel[call.kernel]
    if not row then
      row = empty(call.kernel)
      by_kernel[call.kernel], rows[#rows + 1] = row, row
    end
    add(row, call, device)
    add(sum, call, device)
    rate = math.max(rate, device[call.precision])
  end
  for _, row in ipairs(rows) do row.bound = bound_of(row) end
  table.sort(rows, function(a, b)
    if a.seconds ~= b.seconds then return a.seconds > b.seconds end
    return a.kernel < b.kernel
  end)
  sum.bound = bound_of(sum)
  sum.tokens_per_second = counted.tokens / sum.seconds
  sum.share = counted.model_flops / sum.seconds / rate
  return rows, sum
end

return cost
