-- What nvcc makes the kernels of, files and its flags in the Makefile, and a digest of each: a table of
-- machine code names them, so that where there is no nvcc it can be told that the table is older.
local sources = {}

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- Comments and blank space change no machine code. A text with the beginning of a comment in it would
-- hide what follows: no source has one.
local function bare(text)
  return (text:gsub("/%*.-%*/", ""):gsub("//[^\n]*", ""):gsub("%s+", ""))
end

-- FNV-1a of 64 bits: what is looked for is a change, not a forgery.
local function digest(text)
  local sum = 0xcbf29ce484222325
  for i = 1, #text do sum = (sum ~ text:byte(i)) * 0x100000001b3 end
  return ("%016x"):format(sum)
end

-- Adds a file and, by way of it, the headers of this tree that it includes.
local function add(path, digests)
  if digests[path] then return end
  local text = read(path)
  digests[path] = digest(bare(text))
  for header in text:gmatch '#%s*include%s+"(.-)"' do add(header, digests) end
end

-- The flags with the lines that go on behind a backslash.
local function flags()
  return ("\n" .. read "Makefile"):gsub("\\\n", ""):match "\nnvccflags :=([^\n]*)" or error("Makefile: no nvccflags", 0)
end

--- The digests now, by path.
function sources.digests()
  local digests = { ["Makefile:nvccflags"] = digest(bare(flags())) }
  local pipe <close> = assert(io.popen "ls kernels/cuda/*.cu")
  for path in pipe:lines() do add(path, digests) end
  return digests
end

--- The line of a table for one file.
function sources.line(path, sum) return ("# source %s %s"):format(path, sum) end

--- The digests that a table has, by path.
function sources.read(path)
  local digests = {}
  for source, sum in read(path):gmatch "# source (%S+) (%x+)\n" do digests[source] = sum end
  return digests
end

return sources
