-- Seeded mistakes: applies each of tests/mutants/list/*.lua to a copy of the tree, builds what its
-- tests need, runs them, and puts the text back. A mistake that no test sees is a survivor.
--
--   lua5.4 tests/mutants/run.lua check                  is every text there exactly once?
--   lua5.4 tests/mutants/run.lua pending RESULTS        ids that have no "caught" in RESULTS
--   lua5.4 tests/mutants/run.lua tests RESULTS          the tests that those name
--   lua5.4 tests/mutants/run.lua green TREE TEST        must pass without a mistake
--   lua5.4 tests/mutants/run.lua one TREE RESULTS ID    applies one, adds a row to RESULTS
--   lua5.4 tests/mutants/run.lua sum RESULTS            prints survivors and the sum
-- lua5.4 tests/mutants/run.lua newest RESULTS         its header and the newest row of each, in the
-- lists' order
--   lua5.4 tests/mutants/run.lua differing TREE         of the files named on standard input
--
-- A list returns groups; a group is {file = , tests = , mistakes...}, and a mistake is {search,
-- replacement, what it is, tests = }. The search text is taken literally. Tests, one or more:
--   tests/models/test_gpt2.c            a test program; test_gpt2.c:name is one test of it
--   kernel:softmax, sim:softmax         conformance of a kernel, on the CPU or the simulator
--   double:tests/gradients/test_ops.c   a test program of the double build
--   tests/lua/test_report.lua, tests/harness/test_run.sh
-- ONLY=pattern (a Lua pattern) keeps the mistakes whose list, file or description match.
local names = { "kernels", "cuda", "engine", "train", "tasks", "datasets", "models", "layers",
  "lua", "report",
                "experiments" }
local columns = { "id", "list", "file", "mistake", "verdict", "test", "seconds", "commit" }
local only = os.getenv "ONLY" or ""
-- a run keeps a copy, so that the tree may change meanwhile
local lists = os.getenv "MUTANTS" or "tests/mutants/list"

-- ---- The list ---------------------------------------------------------------------------------

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- A short name that stays the same while the mistake does (FNV-1a).
local function id_of(...)
  local hash = 0xcbf29ce484222325
  for byte in table.concat({ ... }, "\0"):gmatch "." do
    hash = (hash ~ byte:byte()) * 0x100000001b3
  end
  return ("%08x"):format((hash ~ (hash >> 32)) & 0xffffffff)
end

local function mutants_of(list, into)
  for _, group in ipairs(dofile(("%s/%s.lua"):format(lists, list))) do
    for _, entry in ipairs(group) do
      local search, replacement, mistake = table.unpack(entry)
      into[#into + 1] = {
        id = id_of(group.file, search, replacement), list = list, file = group.file,
        search = search,
        replacement = replacement, mistake = mistake, tests = entry.tests or group.tests,
      }
    end
  end
end

local function wanted(mutant)
  return ("%s %s %s"):format(mutant.list, mutant.file, mutant.mistake):find(only) ~= nil
end

local function exists(path)
  local file <close> = io.open(path)
  return file ~= nil
end

local function load_mutants()
  local all, seen = {}, {}
  for _, list in ipairs(names) do
    if exists(("%s/%s.lua"):format(lists, list)) then mutants_of(list, all) end
  end
  for _, mutant in ipairs(all) do
    if seen[mutant.id] then error(mutant.file .. ": listed twice: " .. mutant.search) end
    seen[mutant.id] = mutant
  end
  return all, seen
end

local function occurrences(text, part)
  local count, from = 0, 1
  while true do
    local first, last = text:find(part, from, true)
    if first == nil then return count end
    count, from = count + 1, last + 1
  end
end

-- Nil, or why a mistake cannot be applied.
local function fault_of(mutant)
  local file = io.open(mutant.file, "rb")
  if file == nil then return "no such file" end
  local text <const> = file:read "a"
  file:close()
  local count = occurrences(text, mutant.search)
  if count ~= 1 then return ("the text is there %d times, not once"):format(count) end
  if mutant.search == mutant.replacement then return "the replacement changes nothing" end
  if mutant.tests == nil then return "names no test" end
end

local commands = {}

local function check()
  local faults = 0
  for _, mutant in ipairs((load_mutants())) do
    local fault = wanted(mutant) and fault_of(mutant)
    if fault then
      faults = faults + 1
      print(("tests/mutants/list/%s.lua: %s: %s:\n  %s"):format(mutant.list, mutant.file, fault,
        mutant.search))
    end
  end
  return faults == 0
end
commands.check = check

-- ---- Results ----------------------------------------------------------------------------------

local function quoted(text)
  return '"' .. tostring(text):gsub('"', '""') .. '"'
end

-- Rows by id, the last one of each; the first two fields and the verdict are never quoted.
local function read_results(path)
  local rows = {}
  local file = io.open(path)
  if file == nil then return rows end
  for line in file:lines() do
    local id, verdict, test = line:match '^(%x+),.*",(%a+),([^,]*),[%d.]+,[^,]*$'
    if id then rows[id] = { verdict = verdict, test = test, line = line } end
  end
  file:close()
  return rows
end

local function add_result(path, mutant, verdict, test, seconds)
  local file = assert(io.open(path, "a"))
  local row = { mutant.id, mutant.list, mutant.file, quoted(mutant.mistake), verdict, test,
                ("%.1f"):format(seconds), os.getenv "COMMIT" or "" }
  if file:seek "end" == 0 then file:write(table.concat(columns, ","), "\n") end
  file:write(table.concat(row, ","), "\n")
  file:close()
end

local function pending(results)
  local rows, out = read_results(results), {}
  for _, mutant in ipairs((load_mutants())) do
    local row = rows[mutant.id]
    if wanted(mutant) and not (row and row.verdict == "caught") then out[#out + 1] = mutant end
  end
  return out
end

function commands.pending(results)
  for _, mutant in ipairs(pending(results)) do print(mutant.id) end
  return true
end

function commands.tests(results)
  local seen = {}
  for _, mutant in ipairs(pending(results)) do
    for test in mutant.tests:gmatch "%S+" do
      if not seen[test] then print(test) end
      seen[test] = true
    end
  end
  return true
end

function commands.sum(results)
  local rows, count = read_results(results), { caught = 0, survived = 0, broken = 0, none = 0 }
  for _, mutant in ipairs((load_mutants())) do
    if wanted(mutant) then
      local verdict = (rows[mutant.id] or { verdict = "none" }).verdict
      count[verdict] = count[verdict] + 1
      if verdict ~= "caught" then
        print(("%-8s %s: %s\n         %s"):format(verdict, mutant.file, mutant.mistake,
          mutant.search))
      end
    end
  end
  if count.broken + count.none > 0 then
    print(("%d broken, %d not run"):format(count.broken, count.none))
  end
  print(("%d caught, %d survived of %d"):format(count.caught, count.survived,
    count.caught + count.survived))
  return count.broken + count.none == 0
end

-- What tests/mutants/results.csv has: mistakes that left the lists are gone, those that were run
-- again are there once.
function commands.newest(results)
  local rows = read_results(results)
  print(table.concat(columns, ","))
  for _, mutant in ipairs((load_mutants())) do
    if rows[mutant.id] then print(rows[mutant.id].line) end
  end
  return true
end

-- ---- Building and running ---------------------------------------------------------------------

-- The settings of make, the target, and the command of a test.
local function command_of(test)
  local kind, rest = test:match "^(%a+):(.*)$"
  if kind == "kernel" then
    local program = "build/werror/tests/kernels/conformance"
    return "", program, ("LH_CPU_ISA=scalar %s --mode test --kernel %s"):format(program, rest)
  elseif kind == "sim" then
    local program = "build/sim-werror/tests/kernels/conformance"
    return "CUDA=sim", program,
      ("%s --backend cudasim --mode test --kernel %s"):format(program, rest)
  end
  local build = kind == "double" and "build/double-werror/" or "build/werror/"
  local path, name = (kind == "double" and rest or test):match "^([^:]+):?(.*)$"
  if path:find "%.c$" then
    local program = build .. path:gsub("%.c$", "")
    return kind == "double" and "REAL=double" or "", program, program
      .. (name ~= "" and " --only " .. name or "")
  end
  local program = build .. "longhaul"
  local environment = ("LONGHAUL_BIN=%s LH_TEST_PLUGINS=%stests/plugins "):format(program, build)
  if path:find "%.lua$" and not read(path):find "^%-%- runner: lua5.4" then
    return "", program, environment .. program .. " lua " .. path
  end
  return "", program, environment .. (path:find "%.lua$" and "lua5.4 " or "") .. path
end

local function shell(tree, command, log)
  local script = ("cd %s && { %s; } >%s 2>&1 </dev/null"):format(tree, command, log)
  return os.execute("bash -c " .. "'" .. script:gsub("'", "'\\''") .. "'") == true
end

-- "green", "red" or "broken": the tree does not build.
local function outcome(tree, test)
  local settings, target, command = command_of(test)
  local log = "../" .. tree:match "[^/]+$" .. ".log"
  local made = shell(tree, ("make -j1 -s WERROR=1 %s %s"):format(settings, target), log)
  if not made then return "broken" end
  local limits = "ulimit -t 150; export TMPDIR=$PWD/../" .. tree:match "[^/]+$"
    .. ".tmp; mkdir -p $TMPDIR; timeout 400 "
  return shell(tree, limits .. "env " .. command, log) and "green" or "red"
end

-- Tests that are red without a mistake: they decide nothing, and a line a test stands beside the
-- copies.
local function red_file(tree) return tree:match "^(.*)/" .. "/red" end

function commands.green(tree, test)
  local found = outcome(tree, test)
  if found ~= "green" then
    local file <close> = assert(io.open(red_file(tree), "a"))
    file:write(test, "\n")
    print(("%s is %s without any mistake: see %s.log"):format(test, found, tree))
  end
  return found == "green"
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

local function apply(text, mutant)
  local first, last = text:find(mutant.search, 1, true)
  return text:sub(1, first - 1) .. mutant.replacement .. text:sub(last + 1)
end

-- The verdict, and the test that saw the mistake.
local function verdict_of(tree, mutant)
  local red, asked = exists(red_file(tree)) and "\n" .. read(red_file(tree)) or "", false
  for test in mutant.tests:gmatch "%S+" do
    if not red:find("\n" .. test .. "\n", 1, true) then
      local found = outcome(tree, test)
      if found == "broken" then return "broken", test end
      if found == "red" then return "caught", test end
      asked = true
    end
  end
  return asked and "survived" or "broken", ""
end

-- The CPU's kernels are compiled for several instruction sets, of which kernel: runs one; the
-- objects of the others pass for new, which saves most of the time.
local function keep_other_sets(tree, mutant)
  local name = mutant.file:match "^kernels/cpu/([%w_]+)%.c$"
  if name and not mutant.tests:find "%.%w+" then
    shell(tree, ("touch -c build/werror/kernels/cpu/%s.avx2.o build/werror/kernels/cpu/%s.avx512.o"):format(name, name),
      "/dev/null")
  end
end

function commands.one(tree, results, id)
  local _, by_id = load_mutants()
  local mutant = by_id[id]
  local path = tree .. "/" .. mutant.file
  local text <const>, start = read(path), os.time()
  write(tree .. ".mistake", path)
  write(path, apply(text, mutant))
  keep_other_sets(tree, mutant)
  local verdict, test = verdict_of(tree, mutant)
  write(path, text)
  os.remove(tree .. ".mistake")
  keep_other_sets(tree, mutant)
  local seconds = os.time() - start
  add_result(results, mutant, verdict, test, seconds)
  print(("%-8s %4d s  %s: %s  [%s]"):format(verdict, seconds, mutant.file, mutant.mistake, test))
  return true
end

-- Of the files that standard input names, those that are not the same in a copy.
function commands.differing(tree)
  for path in io.lines() do
    local copy = tree .. "/" .. path
    if not exists(copy) or read(copy) ~= read(path) then print(path) end
  end
  return true
end

local command = commands[arg[1]]
if command == nil then error("no such command: " .. tostring(arg[1])) end
os.exit(command(table.unpack(arg, 2)), true)
