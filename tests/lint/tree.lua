-- What the lint scripts share: the files of the tree, and one line per offence.
local tree = { roots = "kernels harness models datasets experiments plots scripts tests" }
local offences = 0

-- Paths under the roots that end in one of the extensions, sorted.
function tree.files(extensions, roots)
  local wanted, list = {}, {}
  for extension in extensions:gmatch("%S+") do wanted[extension] = true end
  local found = assert(io.popen("find " .. (roots or tree.roots) .. " -type f 2>/dev/null"))
  for path in found:lines() do
    if wanted[path:match("%.([^./]+)$")] then list[#list + 1] = path end
  end
  found:close()
  table.sort(list)
  return list
end

-- The keys of a table, sorted.
function tree.keys(of)
  local keys = {}
  for key in pairs(of) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

function tree.lines(path)
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line end
  return lines
end

function tree.offence(path, line, ...)
  offences = offences + 1
  print(("%s:%d: %s"):format(path, line, string.format(...)))
end

function tree.finish()
  os.exit(offences == 0)
end

return tree
