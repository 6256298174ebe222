-- Step times by one protocol: all rows of a dataset in one process, warm-up steps each, then rounds
-- in which every row takes one full training step in turn, so that a slow phase of the machine hits
-- all alike. Median and quartiles go into runs.csv, relative times against the baseline row timed
-- with them. Rows that do not fit into memory together are timed in parts, each with the baseline.
--
-- What has a step time is not timed again unless --force asks for it.
local core = require "longhaul.core"
local ranks = require "longhaul.ranks"

local timing = {}

-- Warm-up steps and rounds.
local protocol = {
  smoke = { 1, 3 }, small = { 2, 9 }, medium = { 3, 21 }, gpu = { 5, 51 }, paper = { 5, 51 },
}

-- One part never holds more sessions than this, or more than this share of the memory.
local most, share = 48, 0.5

local function key_of(run) return run.row.label .. "\n" .. run.row.dataset end

-- Runs by dataset; the first seed stands for all.
local function groups_of(runs)
  local groups, by_dataset, seen = {}, {}, {}
  for _, run in ipairs(runs) do
    local dataset = run.row.dataset
    if not by_dataset[dataset] then
      by_dataset[dataset] = { dataset = dataset }
      groups[#groups + 1] = by_dataset[dataset]
    end
    if not seen[key_of(run)] then table.insert(by_dataset[dataset], run) end
    seen[key_of(run)] = true
  end
  return groups
end

-- What runs.csv knows of each row: its peak memory, and whether it has a step time.
local function known_rows(results, scale)
  local known = {}
  for _, row in ipairs(results:rows()) do
    if row.scale == scale and row.status == "done" then
      known[row.row .. "\n" .. row.dataset] = {
        bytes = tonumber(row.peak_memory_bytes) or 0, timed = (row.step_time_ms or "") ~= "",
      }
    end
  end
  return known
end

local function is_timed(group, known)
  for _, run in ipairs(group) do
    local row = known[key_of(run)]
    if row and not row.timed then return false end
  end
  return true
end

-- The group's runs in parts that fit into memory; the baseline is in each.
local function parts_of(group, known, settings)
  local base, parts, used = nil, {}, math.huge
  for _, run in ipairs(group) do
    if run.row.label == settings.baseline and known[key_of(run)] then base = run end
  end
  local base_bytes = base and known[key_of(base)].bytes or 0
  for _, run in ipairs(group) do
    local row = known[key_of(run)]
    if row and run ~= base then
      local part = parts[#parts]
      if not part or #part >= most or used + row.bytes > share * settings.memory then
        part = { base }
        parts[#parts + 1] = part
        used = base_bytes
      end
      part[#part + 1] = run
      used = used + row.bytes
    end
  end
  if #parts == 0 and base then parts[1] = { base } end
  return parts
end

local function time_part(part, settings)
  local sessions = {}
  local plan = protocol[settings.scale]
  local good, times = pcall(function()
    for i, run in ipairs(part) do sessions[i] = settings.open(run) end
    local times = core.time_steps(sessions, plan[1], plan[2])
    for i, session in ipairs(sessions) do
      times[i].inference_memory_bytes = session:inference_memory()
    end
    return times
  end)
  for _, session in ipairs(sessions) do session:close() end
  if not good then error("step times: " .. times, 0) end
  return times
end

local function fill(row, time, base)
  row.step_time_ms, row.step_time_q1_ms, row.step_time_q3_ms = time.median_ms, time.q1_ms,
    time.q3_ms
  row.tokens_per_second = time.tokens_per_step / (time.median_ms / 1000)
  row.peak_memory_bytes = time.peak_memory_bytes
  row.inference_memory_bytes = time.inference_memory_bytes
  row.relative_step_time = base and time.median_ms / base or nil
end

local function record(part, times, results, baseline)
  local base, by_key = nil, {}
  for i, run in ipairs(part) do
    by_key[key_of(run) .. "\n" .. run.scale .. "\n" .. run.device] = times[i]
    if run.row.label == baseline then base = times[i].median_ms end
  end
  results:update(function(rows)
    for _, row in ipairs(rows) do
      local time = by_key[table.concat({ row.row, row.dataset, row.scale, row.device }, "\n")]
      if time and row.status == "done" then fill(row, time, base) end
    end
  end)
end

-- The parts to time: a line per part with the places of its runs in the group. Rank 0 has read the
-- results, and every rank must time the same.
local function choose_parts(group, known, settings)
  local place, lines = {}, {}
  for i, run in ipairs(group) do place[run] = i end
  if not settings.force and is_timed(group, known) then return "" end
  for i, part in ipairs(parts_of(group, known, settings)) do
    local places = {}
    for k, run in ipairs(part) do places[k] = place[run] end
    lines[i] = table.concat(places, " ")
  end
  return table.concat(lines, "\n")
end

local function read_parts(group, text)
  local parts = {}
  for line in text:gmatch("[^\n]+") do
    local part = {}
    for place in line:gmatch("%d+") do part[#part + 1] = group[tonumber(place)] end
    parts[#parts + 1] = part
  end
  return parts
end

--- Times the rows of `runs` that are done. `settings`: scale, force, baseline (a label or nil),
--- open (makes a session for a run), memory (bytes of the machine).
function timing.measure(runs, results, settings)
  local known = ranks.first and known_rows(results, settings.scale)
  for _, group in ipairs(groups_of(runs)) do
    local text = ranks.decide(function() return choose_parts(group, known, settings) end)
    for i, part in ipairs(read_parts(group, text)) do
      if ranks.first then
        io.stderr:write(("timing steps: %d rows of %s, interleaved%s\n"):format(#part,
          group.dataset, i > 1 and (" (part %d)"):format(i) or ""))
      end
      local times = time_part(part, settings)
      if ranks.first then record(part, times, results, settings.baseline) end
    end
  end
end

return timing
