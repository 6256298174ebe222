-- The FLOPs column of Yoshida et al. 2020, Tables 1 and 2, as the experiments count it at scale
-- `paper`.
local t = dofile "tests/test.lua"
local script = require "longhaul.script"
local published = require "longhaul.report.published"

for _, name in ipairs { "table1", "table2" } do
  t.test(name, function()
    local bench = script.load("experiments/gpt2_recurrent/" .. name .. ".lua", { scale = "paper" })
    local paper = published.table("gpt2_recurrent_" .. name)
    t.equal(#bench.rows, #paper.rows)
    for _, row in ipairs(bench.rows) do
      local value = paper.value(row.slug, "kaplan_flops_per_token", row.dataset)
      t.equal(("%.2e"):format(row.values.kaplan_flops_per_token), ("%.2e"):format(value))
    end
  end)
end

t.finish()
