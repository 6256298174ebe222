-- Whether what lies under results/reference can be relied on:
--
--   lua5.4 scripts/check-reference.lua [FOLDER]           names what cannot; exit code 1
--   lua5.4 scripts/check-reference.lua [FOLDER] shrink    takes what is mended out of legacy.csv
--
-- Runs, step times, benchmarks and a card's checks are of clean commits of this history and dated, runs are
-- identified by the content of their data, each the only one of its cell and seed, and no cell of a
-- table is stale, lacks seeds or has no run in any folder of its machine.
-- <FOLDER>/legacy.csv (folder, reason, wrong) names the folders that wait to be measured again and
-- how many lines of each are wrong in which way ("12 dirty; 8 undated"); neither may it name
-- others, so that it only shrinks. Which commits there are is left out where git or the history is
-- missing.
local lists = dofile(arg[0]:match "^(.-)[^/]*$" .. "../harness/run/lists.lua")

local root = "results/reference"
local shrinks = false
for _, word in ipairs(arg) do
  if word == "shrink" then shrinks = true else root = word end
end

local identity_now = 2
local offences = 0

local function offence(...)
  offences = offences + 1
  print(string.format(...))
end

-- ---- files ----

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function lines_of(command)
  local list = {}
  local pipe <close> = assert(io.popen(command .. " 2>/dev/null"))
  for line in pipe:lines() do list[#list + 1] = line end
  return list, pipe:close() == true
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- The field at `at` of a text, and where it ends.
local function field_at(path, text, at)
  if text:sub(at, at) ~= '"' then
    local stop = text:find("[,\r\n]", at) or #text + 1
    return text:sub(at, stop - 1), stop
  end
  local stop = at
  repeat
    stop = text:find('"', stop + 1, true) or error(path .. ": a quote is never closed", 0)
    local doubled = text:sub(stop + 1, stop + 1) == '"'
    if doubled then stop = stop + 1 end
  until not doubled
  return text:sub(at + 1, stop - 1):gsub('""', '"'), stop + 1
end

-- The records of a CSV file, keyed by its header, and the set of the header's names.
local function records_of(path)
  local text, rows, row, at = read(path), {}, {}, 1
  while at <= #text do
    local field, stop = field_at(path, text, at)
    row[#row + 1] = field
    local ending = text:match("^\r?\n", stop)
    if ending or stop > #text then
      rows[#rows + 1], row = row, {}
      at = stop + #(ending or "\n")
    else
      at = stop + 1
    end
  end
  local header, records, known = rows[1] or {}, {}, {}
  for _, name in ipairs(header) do known[name] = true end
  for i = 2, #rows do
    if #rows[i] ~= #header then
      error(("%s:%d: %d fields, but the header has %d"):format(path, i, #rows[i], #header), 0)
    end
    records[i - 1] = {}
    for c, name in ipairs(header) do records[i - 1][name] = rows[i][c] end
  end
  return records, known
end

-- ---- commits ----

local has_history
do
  local answer, good = lines_of "git rev-parse --is-shallow-repository"
  has_history = good and answer[1] == "false"
end

local commits = {}

-- Whether git knows a commit; true where it cannot be told.
local function is_commit(name)
  if not has_history then return true end
  if commits[name] == nil then
    commits[name] = name:match "^%x+$" ~= nil
      and select(2, lines_of("git cat-file -e " .. quoted(name .. "^{commit}")))
  end
  return commits[name]
end

-- ---- what can be wrong ----

-- Each check calls `wrong(kind)` for what is wrong with a record of a file.

-- Its build must be of a clean commit. Rows of before had no column `dirty` and wrote "-dirty"
-- behind the version.
local function check_source(record, wrong)
  local version, dirty = record.code_version or "", record.dirty or ""
  local commit = version:gsub("%-dirty$", "")
  if dirty == "yes" or commit ~= version then wrong "dirty" end
  if commit == "" or commit == "unknown" or dirty == "unknown" then
    wrong "no commit"
  elseif not is_commit(commit) then
    wrong "unknown commit"
  end
end

local function check_date(record, wrong)
  if not (record.date or ""):match "^%d%d%d%d%-%d%d%-%d%d" then wrong "undated" end
end

local function check_timing(record, wrong)
  check_source(record, wrong)
  check_date(record, wrong)
end

local function check_run(record, wrong)
  local number = tonumber(record.identity)
  check_timing(record, wrong)
  if number ~= identity_now then wrong("identity " .. (number and math.tointeger(number) or 1)) end
end

local cell_columns = { "row", "dataset", "seed", "scale", "device", "precision" }

-- Whether a run of the same cell and seed stood before it: one of the two is of a script that is no
-- more. Trials differ by what was tried.
local function is_repeated(record, seen)
  local key = {}
  for i, name in ipairs(cell_columns) do key[i] = record[name] or "" end
  local cell = table.concat(key, "\n")
  local before = seen[cell]
  seen[cell] = true
  return before and not (record.experiment or ""):find("-trials", 1, true)
end

local function check_runs()
  local seen = {}
  return function(record, wrong)
    check_run(record, wrong)
    if is_repeated(record, seen) then wrong "superseded runs" end
  end
end

-- PyTorch's lines are of no build of ours.
local function check_benchmark(record, wrong)
  if not (record.compiler or ""):find "^PyTorch" then check_source(record, wrong) end
  check_date(record, wrong)
end

local bad_cells = { stale = true, partial = true, ["other data"] = true }

local function cell_key(record, dataset)
  return table.concat({ record.row, dataset or "", record.scale or "" }, "\n")
end

-- The cells that a machine's runs have, with a data set and, for costs of all, without.
local function cells_of(machine)
  local cells = {}
  for _, path in ipairs(lines_of(("ls %s/*/runs.csv"):format(quoted(root .. "/" .. machine)))) do
    for _, run in ipairs((records_of(path))) do
      cells[cell_key(run, run.dataset)], cells[cell_key(run, "")] = true, true
    end
  end
  return cells
end

local by_machine = {}

-- A table of an experiment may be of the runs of another.
local function check_cells(folder)
  local machine = folder:match "^[^/]+"
  by_machine[machine] = by_machine[machine] or cells_of(machine)
  return function(record, wrong)
    if bad_cells[record.status] then wrong(record.status .. " cells") end
    local has_run = by_machine[machine][cell_key(record, record.dataset)]
    if record.measured ~= "" and not has_run then wrong "no runs" end
  end
end

local function check_of(folder, file, columns)
  if folder:match "/bench$" then return check_benchmark end
  if file == "runs.csv" then return check_runs() end
  local is_card = folder:match "/gpu%-%w+$" and file == "summary.csv" -- of scripts/gpu-check.sh
  if file == "timings.csv" or is_card then return check_timing end
  local is_table = columns.metric and columns.measured and columns.status -- of whatever name
  return is_table and check_cells(folder) or nil
end

-- What is wrong with a folder: kind -> { count = 12, text = "12 of 40 lines of runs.csv" }.
local function wrongs_of(folder)
  local wrongs = {}
  for _, file in ipairs(lines_of(("ls %s"):format(quoted(root .. "/" .. folder)))) do
    local records, columns
    if file:match "%.csv$" then
      records, columns = records_of(("%s/%s/%s"):format(root, folder, file))
    end
    local check, counts = records and check_of(folder, file, columns), {}
    for _, record in ipairs(check and records or {}) do
      check(record, function(kind) counts[kind] = (counts[kind] or 0) + 1 end)
    end
    for kind, count in pairs(counts) do
      local text = ("%d of %d lines of %s"):format(count, #records, file)
      local before = wrongs[kind]
      wrongs[kind] = { count = count + (before and before.count or 0),
        text = before and before.text .. ", " .. text or text }
    end
  end
  return wrongs
end

-- ---- the list of what waits ----

local list_path = root .. "/legacy.csv"

-- folder -> { reason, wrong = counts by kind }; and the folders in order.
local function read_list()
  local listed, order = {}, {}
  if not io.open(list_path) then return listed, order end
  for i, record in ipairs((records_of(list_path))) do
    local wrong = {}
    for count, kind in (record.wrong or ""):gmatch "(%d+) ([^;]+)" do wrong[kind] = tonumber(count) end
    if listed[record.folder] then
      offence("%s:%d: %s stands there twice", list_path, i + 1, record.folder)
    end
    listed[record.folder] = { reason = record.reason or "", wrong = wrong, line = i + 1 }
    order[#order + 1] = record.folder
    if listed[record.folder].reason == "" then
      offence("%s:%d: %s: no reason", list_path, i + 1, record.folder)
    end
  end
  return listed, order
end

-- Kinds that can be told apart here.
local function is_told(kind) return has_history or kind ~= "unknown commit" end

local function compare(folder, wrongs, entry)
  for _, kind in ipairs(lists.keys(wrongs)) do
    if not entry or wrongs[kind].count > (entry.wrong[kind] or 0) then
      offence("%s/%s: %s: %s", root, folder, kind, wrongs[kind].text)
    end
  end
  for _, kind in ipairs(lists.keys(entry and entry.wrong or {})) do
    local count = wrongs[kind] and wrongs[kind].count or 0
    if count < entry.wrong[kind] and is_told(kind) then
      offence("%s:%d: %s has %s '%s': `lua5.4 scripts/check-reference.lua shrink`", list_path,
        entry.line, folder, count == 0 and "no" or "only " .. count, kind)
    end
  end
end

local function field(text)
  return text:find '[,"\n]' and '"' .. text:gsub('"', '""') .. '"' or text
end

-- The list without what is mended; nothing is added to it.
local function shrink(listed, order, found)
  local lines = { "folder,reason,wrong" }
  for _, folder in ipairs(order) do
    local left = {}
    for _, kind in ipairs(lists.keys(listed[folder].wrong)) do
      local count, now = listed[folder].wrong[kind], (found[folder] or {})[kind]
      if now and is_told(kind) then count = math.min(count, now.count) end
      if now or (found[folder] and not is_told(kind)) then
        left[#left + 1] = ("%d %s"):format(count, kind)
      end
    end
    if #left > 0 then
      lines[#lines + 1] = ("%s,%s,%s"):format(folder, field(listed[folder].reason),
        field(table.concat(left, "; ")))
    end
  end
  local file = assert(io.open(list_path .. ".new", "w"))
  assert(file:write(table.concat(lines, "\n"), "\n"))
  assert(file:close())
  assert(os.rename(list_path .. ".new", list_path))
end

-- ---- all ----

local found, folders = {}, {}
local paths, is_there = lines_of(("find %s -mindepth 1 -type d"):format(quoted(root)))
if not is_there then offence("%s: no such folder", root) end
table.sort(paths)
for _, path in ipairs(paths) do
  local folder = path:sub(#root + 2)
  found[folder] = wrongs_of(folder)
  folders[#folders + 1] = folder
end
local listed, order = read_list()
if shrinks then
  shrink(listed, order, found)
else
  for _, folder in ipairs(folders) do compare(folder, found[folder], listed[folder]) end
  for _, folder in ipairs(order) do
    if not found[folder] then
      offence("%s:%d: there is no folder %s: `lua5.4 scripts/check-reference.lua shrink`",
        list_path, listed[folder].line, folder)
    elseif not next(listed[folder].wrong) then
      offence("%s:%d: %s: nothing is said to be wrong", list_path, listed[folder].line, folder)
    end
  end
end
os.exit(offences == 0)
