-- The recurrence encodings that experiments/rsa runs are those of Huang et al. 2023, Table 5.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local plan = require "longhaul.run.plan"
local scales = require "longhaul.run.scales"
local script = require "longhaul.script"

-- A cell of RSA-XL is printed twice, differently (rsa_xl:alt: not run). Two cells print five counts
-- of six; they add up to the eight dilations beside them, so what is lost is a zero.
local misprint = { ["(0,0,0,4,4)"] = "(0,0,0,0,4,4)" }

local function numbers(text)
  local list = {}
  for number in text:gmatch "%d+" do list[#list + 1] = number end
  return table.concat(list, ",")
end

t.test("heads and dilations of every cell", function()
  local bench, rows = script.load("experiments/rsa/table5.lua", { scale = "paper" }), {}
  for _, row in ipairs(bench.rows) do rows[row.slug .. " " .. row.dataset] = row.model end
  local option = { rem_head_counts = "rsa_kinds", dilation_factors = "rsa_dilation" }
  local seen = { rsa_kinds = 0, rsa_dilation = 0 }
  for _, record in ipairs((csv.read "results/published/rsa_table5.csv")) do
    local name, model = option[record.metric], rows[record.model .. " " .. record.row]
    if name and model then
      t.equal(numbers(model:spelled(name) or ""), numbers(misprint[record.value] or record.value))
      seen[name] = seen[name] + 1
    end
  end
  t.equal(#bench.rows, 48)
  t.equal(seen.rsa_kinds, 48)
  t.equal(seen.rsa_dilation, 44) -- four cells have no dilated heads
end)

t.test("rows that are only timed read few windows at every scale, at `small` those of kept runs", function()
  for _, scale in ipairs(scales) do
    for _, row in ipairs(script.load("experiments/rsa/figure7.lua", { scale = scale }).rows) do
      t.equal(row.task:option "evaluate_windows", scale == "smoke" and 16 or 1024)
    end
  end
end)

-- A memory needs windows that move on by no more than they observe, at every horizon.
t.test("XL forecasts every horizon at every scale", function()
  for _, scale in ipairs(scales) do
    local settings = { scale = scale, device = "cpu", results = "none", seeds = 1 }
    local runs, declared = plan.of(script.load("experiments/rsa/table1.lua", settings), settings), 0
    for _, run in ipairs(runs) do
      if run.row.model.name == "series_xl" then
        local info = identity.task_info(run.row.task)
        t.check(core.describe(run.row.model.options, info, info.length).total > 0)
        declared = declared + 1
      end
    end
    t.equal(declared, #runs // 3, scale) -- Informer, LogSparse and this
  end
end)

t.finish()
