-- The time of a step on a device that is not here: by hand from a call's bytes, FLOPs and launches.
local t = dofile "tests/test.lua"
local cost = require "longhaul.run.cost"

-- A device whose rates are of round numbers.
local device = { bandwidth = 1e3, f32 = 1e4, tf32 = 1e5, bf16 = 1e6, multiprocessors = 10, launch = 0.5 }

local function call_of(more)
  local call = { kernel = "k", class = "stream", precision = "f32", products = 0, flops = 0, read = 0, written = 0,
    launches = 0, serial = 0 }
  for name, value in pairs(more) do call[name] = value end
  return call
end

local function estimate(calls, model_flops)
  return cost.estimate({ calls = calls, tokens = 100, model_flops = model_flops or 0 }, device)
end

local function seconds(more)
  local _, sum = estimate { call_of(more) }
  return sum.seconds
end

t.test("a call takes the longer of arithmetic and memory, and its launches besides", function()
  t.near(seconds { flops = 5000 }, 1, 1e-12) -- half of the rate of f32
  t.near(seconds { read = 600, written = 250 }, 1, 1e-12) -- 0.85 of the bandwidth
  t.near(seconds { flops = 5000, read = 1700, launches = 3 }, 2 + 1.5, 1e-12)
  t.near(seconds { serial = 100 }, 1, 1e-12) -- bytes of one multiprocessor of ten
end)

t.test("products go at the rate of their precision where they have tensor cores", function()
  t.near(seconds { class = "product", precision = "bf16", products = 870000 }, 1, 1e-12)
  t.near(seconds { class = "product", precision = "tf32", products = 87000 }, 1, 1e-12)
  t.near(seconds { class = "reference", precision = "bf16", products = 350 }, 1, 1e-12)
  t.near(seconds { class = "registers", precision = "bf16", products = 4000 }, 1, 1e-12)
end)

t.test("calls of a kernel are one row, the longest row first, and what each is bound by", function()
  local rows, sum = estimate {
    call_of { kernel = "small", launches = 1 },
    call_of { kernel = "products", class = "product", precision = "bf16", products = 870000, launches = 1 },
    call_of { kernel = "copies", read = 425, launches = 1 }, call_of { kernel = "copies", written = 850, launches = 1 },
  }
  local texts = {}
  for i, row in ipairs(rows) do
    texts[i] = ("%s %d %d %g %g %g %s"):format(row.kernel, row.calls, row.launches, row.flops, row.bytes, row.seconds,
      row.bound)
  end
  t.equal(table.concat(texts, "; "), "copies 2 2 0 1275 2.5 memory; products 1 1 870000 0 1.5 arithmetic; "
    .. "small 1 1 0 0 0.5 launches")
  t.equal(("%d %d %g %g %s"):format(sum.calls, sum.launches, sum.seconds, sum.tokens_per_second, sum.bound),
    "4 4 4.5 22.2222 launches")
end)

t.test("rows of one time are in the order of their names", function()
  local rows = estimate { call_of { kernel = "b", read = 1 }, call_of { kernel = "a", read = 1 } }
  t.equal(rows[1].kernel, "a")
end)

t.test("the share is of the fastest rate that the step uses", function()
  local _, f32 = estimate({ call_of { flops = 5000 } }, 2000)
  t.near(f32.share, 0.2, 1e-12)
  local _, both = estimate({ call_of { flops = 5000 }, call_of { precision = "bf16", class = "product" } }, 2000)
  t.near(both.share, 0.002, 1e-12)
end)

t.test("a device that there is not is refused with those there are", function()
  t.equal(cost.device("h200").name, "h200")
  t.fails(function() cost.device "h20" end, "no device 'h20' (did you mean 'h200'?)")
end)

t.finish()
