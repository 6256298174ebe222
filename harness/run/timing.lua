-- Step times by one protocol: all rows of a dataset in one process, warm-up steps each, then rounds
-- of steps in which every row takes one full training step in turn, so that a slow phase of the
-- machine hits all alike. Median and quartiles go into timings.csv, a record for each row under the
-- id of the round. Rows that do not fit into memory together are timed in parts, a round each, with
-- the baselines of the experiment's tables in every one.
--
-- What was timed on this machine while it was idle, beside the baselines, in as many rounds as are
-- asked for, is not timed again unless --force asks for it; what was timed while the machine was busy
-- is, once it is idle.
local core = require "longhaul.core"
local identity = require "longhaul.run.identity"
local others = require "longhaul.run.others"
local provenance = require "longhaul.run.provenance"
local ranks = require "longhaul.run.ranks"
local step_times = require "longhaul.run.step_times"

local timing = {}

-- Warm-up steps and measured ones.
local protocol = {
  smoke = { 1, 3 }, small = { 2, 9 }, study = { 2, 9 }, medium = { 3, 21 }, gpu = { 5, 51 },
  paper = { 5, 51 },
}

--- How many steps of a row are taken at a scale.
function timing.steps(scale) return protocol[scale][1] + protocol[scale][2] end

-- One part never holds more sessions than this, or more than this share of the memory that is free by their peaks:
-- many, since only rows of one round are compared, but sessions take up to half as much again.
local most, share = 192, 0.6

-- ---- what is to be timed ----

-- Runs by dataset, each configuration once: arrays of runs with `dataset`, `bases` (the runs of
-- baselines) and `is_base`.
local function groups_of(runs, bases)
  local groups, by_dataset, seen = {}, {}, {}
  local function add(run, group)
    local id = run.identity.configuration
    if not seen[id] then table.insert(group, run) end
    seen[id] = true
  end
  for _, run in ipairs(runs) do
    local dataset = run.row.dataset
    if not by_dataset[dataset] then
      by_dataset[dataset] = { dataset = dataset, bases = {}, is_base = {} }
      groups[#groups + 1] = by_dataset[dataset]
    end
    add(run, by_dataset[dataset])
  end
  for _, base in ipairs(bases) do
    local group = by_dataset[base.row.dataset]
    if group then
      add(base, group)
      table.insert(group.bases, base)
      group.is_base[base.identity.configuration] = true
    end
  end
  return groups
end

-- By configuration: the peak memory of a finished run, false where runs failed.
local function memory_of(results)
  local bytes = {}
  for id in pairs(results:by_configuration()) do
    local done = results:last_done(id)
    bytes[id] = done ~= nil and (tonumber(done.peak_memory_bytes) or 0)
  end
  return bytes
end

-- The runs of a group that can be timed: the finished ones; and baselines that another run of the
-- script is to train.
local function able(group, bytes)
  local list = {}
  for _, run in ipairs(group) do
    local id = run.identity.configuration
    if bytes[id] or (bytes[id] == nil and group.is_base[id]) then list[#list + 1] = run end
  end
  return list
end

-- "timed" (in as many idle rounds as are asked for), "busy" (in as many, but not all of them idle) or
-- "missing": what is known of a group's rows here.
local function state_of(list, group, known, settings)
  local state, bases, device = "timed", {}, group[1].device
  local here = provenance.here(settings.machine, device)
  here.threads, here.ranks = settings.machine.threads, ranks.size
  for _, run in ipairs(list) do
    local id = run.identity.configuration
    if group.is_base[id] then bases[#bases + 1] = id end
  end
  for _, run in ipairs(list) do
    local all, idle = 0, 0
    for _, record in ipairs(known:beside(run.identity.configuration, bases)) do
      local is_here = step_times.are_of_one_place(record, here)
      all, idle = all + (is_here and 1 or 0), idle + (is_here and record.busy ~= "yes" and 1 or 0)
    end
    if all < settings.rounds then return "missing" end
    if idle < settings.rounds then state = "busy" end
  end
  return state
end

-- Bytes that the sessions of a rank could take on a device: of a processor's memory the ranks of the
-- machine have a part each, while each has a GPU of its own.
local function memory_on(device)
  local near = ranks.near()
  return core.device_memory(device) // (device == "cpu" and near or 1)
end

-- The runs in parts that fit into memory; the baselines are in each.
local function parts_of(list, group, bytes, memory)
  local bases, parts, base_bytes, used = {}, {}, 0, math.huge
  local function size_of(run) return bytes[run.identity.configuration] or 0 end
  for _, run in ipairs(list) do
    if group.is_base[run.identity.configuration] then
      bases[#bases + 1] = run
      base_bytes = base_bytes + size_of(run)
    end
  end
  for _, run in ipairs(list) do
    if not group.is_base[run.identity.configuration] then
      if #parts == 0 or #parts[#parts] >= most
        or used + size_of(run) > share * memory then
        parts[#parts + 1] = { table.unpack(bases) }
        used = base_bytes
      end
      table.insert(parts[#parts], run)
      used = used + size_of(run)
    end
  end
  if #parts == 0 and #bases > 0 then parts[1] = bases end
  return parts
end

-- ---- measuring ----

--- Model FLOPs utilisation of a session's steps. Backward costs twice a forward pass; what
--- checkpoints and reversible layers compute again is not counted. Nil where it is above 1: then the
--- rate of matrix products was measured too low, as on a machine that others used just then.
function timing.utilisation(flops_per_token, time)
  local mfu = 3 * flops_per_token * time.tokens_per_step / (time.median_ms / 1000) / time.matrix_rate
  return mfu <= 1 and mfu or nil
end

-- The times of the sessions' steps, and the rate of matrix products that they have for themselves, which
-- is measured once for each precision of the round.
local function measure_part(part, sessions, plan)
  local times, rates = core.time_steps(sessions, plan[1], plan[2]), {}
  for i, session in ipairs(sessions) do
    local precision = part[i].row.train:option "precision"
    rates[precision] = rates[precision] or core.sum_ranks(session:matrix_rate())
    times[i].matrix_rate = rates[precision]
  end
  return times
end

-- What follows from them, and memory.
local function describe(sessions, times)
  for i, session in ipairs(sessions) do
    times[i].mfu = timing.utilisation(session:info().flops_per_token, times[i])
    times[i].inference_memory_bytes = session:inference_memory()
  end
end

local function time_part(part, settings)
  local sessions = {}
  local plan = protocol[settings.scale]
  local good, times, seen = pcall(function()
    for i, run in ipairs(part) do sessions[i] = settings.open(run) end
    local times, seen = others.watch(function() return measure_part(part, sessions, plan) end, true)
    describe(sessions, times)
    return times, seen
  end)
  for _, session in ipairs(sessions) do session:close() end
  if not good then error("step times: " .. times, 0) end
  return times, seen
end

-- The records of a round.
local function records_of(part, times, seen, settings)
  local plan, machine, date, ids, records = protocol[settings.scale], settings.machine,
    os.date "!%Y-%m-%dT%H:%M:%SZ", {}, {}
  for i, run in ipairs(part) do ids[i] = run.identity.configuration end
  local round = core.hash(("%s %.9f %s"):format(date, core.clock(), table.concat(ids, " "))):sub(1,
    16)
  for i, run in ipairs(part) do
    local time = times[i]
    records[i] = provenance.fill({
      round = round, configuration = ids[i], row = run.row.label, dataset = run.row.dataset,
      scale = run.scale,
      device = run.device, ranks = ranks.size, data = identity.task_info(run.row.task).data,
      data_digest = run.identity.data_digest,
      precision = run.row.train:option "precision", step_time_ms = time.median_ms,
      step_time_q1_ms = time.q1_ms,
      step_time_q3_ms = time.q3_ms,
      tokens_per_second = time.tokens_per_step / (time.median_ms / 1000),
      tokens_per_step = time.tokens_per_step, matrix_rate = time.matrix_rate, mfu = time.mfu,
      peak_memory_bytes = time.peak_memory_bytes,
      inference_memory_bytes = time.inference_memory_bytes, steps = plan[2], warmup = plan[1],
      load = seen.load,
      busy = seen.busy, date = date,
    }, machine)
  end
  return records
end

local function say(...) io.stderr:write((...):format(select(2, ...)), "\n") end

-- A task without a name has no data set to tell.
local function on_dataset(group) return group.dataset ~= "" and " of " .. group.dataset or "" end

-- The parts to time: a line per part with the places of its runs in the group. Rank 0 has read the
-- results, and every rank must time the same.
local function choose_parts(group, results, settings, memory)
  local place, lines, bytes = {}, {}, memory_of(results)
  for i, run in ipairs(group) do place[run] = i end
  local list = able(group, bytes)
  local state = settings.force and "missing"
    or state_of(list, group, step_times.of(results), settings)
  if state == "timed" then return "" end
  if state == "busy" then
    -- ranks that wait for this one cannot be told from others
    local load = ranks.size == 1 and others.now()
    if load then
      say("step times%s were measured while the machine was busy, and others use %.1f of its processors now: "
        .. "left for a run when it is idle", on_dataset(group), load)
      return ""
    end
  end
  for i, part in ipairs(parts_of(list, group, bytes, memory)) do
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

-- Configuration -> that of the baseline on the same dataset which runs.csv shows it against: the
-- first table's.
local function shown_against(groups)
  local baselines = {}
  for _, group in ipairs(groups) do
    for _, run in ipairs(group.bases[1] and group or {}) do
      baselines[run.identity.configuration] = group.bases[1].identity.configuration
    end
  end
  return baselines
end

-- A round of the parts of a group that `text` names.
local function measure_round(group, text, results, settings)
  for i, part in ipairs(read_parts(group, text)) do
    if ranks.first then
      say("timing steps: %d rows%s, interleaved%s", #part, on_dataset(group),
        i > 1 and (" (part %d)"):format(i) or "")
    end
    local times, seen = time_part(part, settings)
    if ranks.first then
      results:add_timings(records_of(part, times, seen, settings))
      if seen.busy == "yes" then
        say("others used %.1f processors meanwhile: marked as busy, to be measured again when the machine is idle",
          seen.load)
      end
    end
  end
end

--- Times what is done of `runs` and not timed yet. `settings`: scale, force, rounds (idle ones that
--- each row is to have), bases (the baselines' runs in the order of the tables), open (makes a session
--- for a run), machine (core.machine()).
function timing.measure(runs, results, settings)
  local groups = groups_of(runs, settings.bases)
  local left = groups
  for _ = 1, settings.rounds do
    local again = {}
    for _, group in ipairs(left) do
      local memory = memory_on(group[1].device)
      local text = ranks.decide(function() return choose_parts(group, results, settings, memory) end)
      measure_round(group, text, results, settings)
      if text ~= "" then again[#again + 1] = group end
    end
    left = again
  end
  if ranks.first then step_times.project(results, shown_against(groups)) end
end

return timing
