-- The table of machine code is of the CUDA sources as they are: only nvcc can make it, and few machines
-- have one, but a source that changed since is seen by its digest.
local tree = dofile "tests/lint/tree.lua"
local sources = dofile "scripts/cuda-sources.lua"

local now, known = sources.digests(), sources.read "kernels/cuda/machine_code.csv"
local paths = {}
for path in pairs(now) do paths[path] = true end
for path in pairs(known) do paths[path] = true end

for _, path in ipairs(tree.keys(paths)) do
  if now[path] ~= known[path] then
    tree.offence(path, 1, "%s since machine_code.csv was made: run `make cuda` and take build/werror/machine_code.csv",
      not known[path] and "new" or now[path] and "changed" or "gone")
  end
end
tree.finish()
