-- "Encoding Recurrence into Transformers", Table 3 (a): defect detection with CodeT5-small, plain
-- and with RSA.
-- At `study` 0.2 hours of two cores.
local lh = require "longhaul"
local code = lh.include "code.lua"

local bench = lh.experiment "rsa-table3a"
bench:seeds(code.seeds)
code.add_rows(bench)

bench:table {
  columns = { "accuracy", "parameters", "relative_step_time" }, baseline = "CodeT5-small",
  published = "rsa_table3",
}
return bench
