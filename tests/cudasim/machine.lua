-- What the column `machine` says of runs on the processor and on the GPU, a line each.
--   longhaul lua tests/cudasim/machine.lua
local provenance = require "longhaul.run.provenance"

for _, device in ipairs { "cpu", "cuda" } do
  print(device .. ": " .. provenance.fill({ device = device }).machine .. ".")
end
