-- What nvcc made of the kernels, for one architecture, against what was made before:
-- lua5.4 scripts/machine-code.lua CUOBJDUMP sm_90 RELEASE TABLE.csv DYNAMIC.csv OBJECT ... > NEW.csv
-- A kernel that multiplies on tensor cores has to take its operands from shared memory by LDSM: generic
-- loads or exchanges (MOVM) in it are refused, and so are more bytes on its stack than `most_stack`, which
-- a table that is renewed with them would let pass. Refused, too, are more registers, more bytes on the stack
-- (spills, mostly) or fewer LDSM or LDGSTS (copies to shared memory that nobody waits for yet) in any
-- kernel than TABLE has for it, where that is of the same RELEASE of nvcc; of another, no more than what
-- no table is needed for is looked for, which is said. So is a predicate of VIMNMX.RELU anywhere: nvcc 13.0
-- makes it of `max(0, min(x, n)) == n`, and on an H200 it held of smaller x, too. Prints the new table, whose
-- first lines name the release
-- and the sources, with their digests: tests/lint/machine_code.lua sees by them that a table is older.
-- `warps` is the occupancy: of the 64 that a multiprocessor can keep, those that registers and shared
-- memory have room for. What a kernel has of shared memory when it is launched is in no object: DYNAMIC.csv
-- has it (kernel,bytes) of the kernels on tensor cores, each of which needs its line; it is not asked of others.

local lists = dofile "harness/run/lists.lua"
local sources = dofile "scripts/cuda-sources.lua"

local cuobjdump, architecture, release, table_path, dynamic_path = arg[1], arg[2], arg[3], arg[4], arg[5]
local columns = { "registers", "threads", "warps", "stack", "shared", "dynamic", "tensor", "ldsm", "ldgsts", "generic",
  "movm" }
local unlisted = { "relu" } -- refused in any kernel, and in no table

local function run(command)
  local pipe <close> = assert(io.popen(command))
  local text = pipe:read "a"
  assert(pipe:close(), command)
  return text
end

-- "attend_tiles<128, false>" of a mangled name: what a lambda is called is left out, since it changes
-- from compiler to compiler.
local function plain(demangled)
  local name = demangled:gsub("^void ", ""):gsub("%(bool%)([01])", { ["0"] = "false", ["1"] = "true" })
  name = name:gsub("%(int%)", ""):gsub("^.-::([%w_]+[<(])", "%1")
  local base, of = name:match "^([%w_]+)<(.-)>%("
  if not base then return name:match "^[%w_]+" end
  return of:find "[^%w_, ]" and base or base .. "<" .. of:gsub(", ", " ") .. ">"
end

-- Function names in the order of `text`, demangled and plain.
local function names_in(text)
  local mangled = {}
  for name in text:gmatch "Function%s*:?%s*([%w_$]+):?\n" do mangled[#mangled + 1] = name end
  local named, i = {}, 0
  if #mangled == 0 then return named end
  for line in run("c++filt " .. table.concat(mangled, " ")):gmatch "[^\n]+" do
    i = i + 1
    named[mangled[i]] = plain(line)
  end
  return named
end

local function count(code, pattern)
  return select(2, code:gsub(pattern, ""))
end

-- Of several kernels with one name, such as those of lambdas, the most of each, but the fewest warps.
local function take(rows, key, row)
  local known = rows[key] or {}
  rows[key] = known
  for _, list in ipairs { columns, unlisted } do
    for _, column in ipairs(list) do
      local worse = column == "warps" and math.min or math.max
      known[column] = worse(known[column] or row[column] or 0, row[column] or known[column] or 0)
    end
  end
end

-- Threads of a block at most, by kernel: its launch bounds.
local function threads_in(elf)
  local threads = {}
  for name, attributes in elf:gmatch "\n%.nv%.info%.([%w_$]+)\n(.-)\n\n" do
    local x, y, z = attributes:match "EIATTR_MAX_THREADS\n[^\n]*\n%s*Value:%s+(%w+) (%w+) (%w+)"
    if x then threads[name] = tonumber(x) * tonumber(y) * tonumber(z) end
  end
  return threads
end

-- A multiprocessor of compute capability 9.0, by the occupancy calculator of the toolkit: registers are
-- given to warps in units of 256, to four warps at once, and a block has 1 KiB of shared memory taken.
local sm = { warps = 64, blocks = 32, registers = 65536, unit = 256, schedulers = 4, shared = 228 * 1024, taken = 1024 }

local function resident_warps(registers, threads, shared)
  local of_block = (threads + 31) // 32
  local of_warp = (registers * 32 + sm.unit - 1) // sm.unit * sm.unit
  local by_registers = sm.registers // of_warp // sm.schedulers * sm.schedulers
  local by_shared = sm.shared // math.max(shared, sm.taken)
  return of_block * math.min(sm.blocks, by_shared, math.min(sm.warps, by_registers) // of_block)
end

-- Bytes of dynamic shared memory, by kernel.
local function read_dynamic(path)
  local bytes = {}
  for line in io.lines(path) do
    local kernel, count = line:match "^(.+),(%d+)$"
    if kernel then bytes[kernel] = tonumber(count) end
  end
  return bytes
end

local function read_object(path, rows, dynamic)
  local file = path:match "([^/]+)%.%w+$"
  local usage = run(("%s -arch %s -res-usage %s"):format(cuobjdump, architecture, path))
  local code = run(("%s -arch %s -sass %s"):format(cuobjdump, architecture, path))
  local bounds = threads_in(run(("%s -arch %s -elf %s"):format(cuobjdump, architecture, path)))
  local named = names_in(usage)
  for name, registers, stack, shared in
    usage:gmatch "Function ([%w_$]+):%s+REG:(%d+) STACK:(%d+) SHARED:(%d+)" do
    local used, static, threads = tonumber(registers), tonumber(shared), bounds[name] or 1024
    local launched = dynamic[named[name]] or 0
    take(rows, file .. "," .. named[name], { registers = used, stack = tonumber(stack), shared = static,
      dynamic = launched, threads = threads, warps = resident_warps(used, threads, static + launched) })
  end
  for name, body in code:gmatch "Function : ([%w_$]+)\n(.-)%f[\0.]%.%.%.%." do
    take(rows, file .. "," .. named[name], {
      tensor = count(body, "%sHMMA%."), ldsm = count(body, "%sLDSM%."),
      ldgsts = count(body, "%sLDGSTS%."), movm = count(body, "%sMOVM%."),
      generic = count(body, "%sLD%.") + count(body, "%sST%."),
      relu = count(body, "MNMX%S*RELU%S* R%d+, P%d"),
    })
  end
end

-- Its rows, and of which release it is.
local function read_table(path)
  local rows, of = {}, ""
  for line in io.lines(path) do
    of = line:match "^# nvcc (.+)$" or of
    local key, rest = line:match "^([^,]+,[^,]+),(.+)$"
    if key and not line:match "^file," then
      local row, i = {}, 0
      for number in rest:gmatch "%d+" do
        i = i + 1
        row[columns[i]] = tonumber(number)
      end
      rows[key] = row
    end
  end
  return rows, of
end

-- Forty registers spilt, where the widest heads spill up to 38, for dropout and at the edge of a window.
local most_stack = 160

-- What is wrong with a kernel, if anything.
local function faults(row, known, same_release)
  local found = {}
  local function say(...) found[#found + 1] = string.format(...) end
  if row.tensor > 0 and row.generic > 0 then say("%d generic loads or stores", row.generic) end
  if row.movm > 0 then say("%d MOVM", row.movm) end
  if row.relu > 0 then say("%d VIMNMX.RELU with a predicate", row.relu) end
  if row.tensor > 0 and row.dynamic == 0 then say("no line of %s", dynamic_path) end
  if row.tensor > 0 and row.stack > most_stack then
    say("%d of stack, %d at most on tensor cores", row.stack, most_stack)
  end
  if not same_release then return found end
  if not known then
    say "no line of the table"
    return found
  end
  for _, column in ipairs { "registers", "stack", "shared", "dynamic" } do
    if row[column] > known[column] then
      say("%d of %s, %d in the table", row[column], column, known[column])
    end
  end
  for _, column in ipairs { "warps", "ldsm", "ldgsts" } do
    if row[column] < known[column] then
      say("%d of %s, %d in the table", row[column], column, known[column])
    end
  end
  return found
end

local rows, dynamic = {}, read_dynamic(dynamic_path)
for i = 6, #arg do read_object(arg[i], rows, dynamic) end
local known, known_release = read_table(table_path)
local same_release, bad = known_release == release, 0
if not same_release then
  io.stderr:write(("machine code: registers and spills are not compared: the table is of nvcc %s, this is %s\n"):format(
    known_release, release))
end
print("# nvcc " .. release)
local digests = sources.digests()
for _, path in ipairs(lists.keys(digests)) do print(sources.line(path, digests[path])) end
print("file,kernel," .. table.concat(columns, ","))
for _, key in ipairs(lists.keys(rows)) do
  local line = { key }
  for _, column in ipairs(columns) do line[#line + 1] = rows[key][column] end
  print(table.concat(line, ","))
  for _, fault in ipairs(faults(rows[key], known[key], same_release)) do
    bad = bad + 1
    io.stderr:write(("machine code: %s: %s\n"):format(key:gsub(",", ": ", 1), fault))
  end
end
for _, key in ipairs(lists.keys(known)) do
  if same_release and not rows[key] then
    bad = bad + 1
    io.stderr:write(("machine code: %s: in the table, but not there\n"):format(key:gsub(",", ": ", 1)))
  end
end
os.exit(bad == 0)
