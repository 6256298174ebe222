-- "Encoding Recurrence into Transformers", Table 3 (a): defect detection with CodeT5-small, plain and with RSA.
local lh = require "longhaul"
local code = lh.include "code.lua"

local bench = lh.experiment "rsa-table3a"
bench:seeds(code.seeds)

for _, row in ipairs { { "CodeT5-small", code.plain }, { "RSA-CodeT5-small", code.rsa } } do
  bench:row {
    row[1], model = row[2], task = code.task, train = code.train, dataset = "devign", weights = code.weights,
  }
end

bench:table {
  columns = { "accuracy", "valid_error_percent", "parameters", "relative_step_time" }, baseline = "CodeT5-small",
  published = "rsa_table3",
}
return bench
