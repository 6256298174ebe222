-- What a step, a pass and a session of a row cost on this machine, measured before it is run: a few
-- steps in memory that nobody keeps. Measured once: rates.csv of the cache folder has them by
-- machine, kernels, threads, build and what is computed. What was measured while others used the machine is
-- measured again once they do not.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local others = require "longhaul.run.others"
local provenance = require "longhaul.run.provenance"
local work = require "longhaul.run.work"

local probes = {}

---@class longhaul.probes
local Probes = {}
Probes.__index = Probes

local key_columns = { "machine", "kernels", "threads", "device", "code_version", "signature" }
-- The last is empty where the machine was idle, the others never.
local number_columns = { "open_s", "step_s", "pass_s", "tokens", "flops", "parameters",
  "peak_memory_bytes", "load" }
local full_columns = { "threads", table.unpack(number_columns, 1, #number_columns - 1) }
local columns = table.move(number_columns, 1, #number_columns, #key_columns + 1,
  { table.unpack(key_columns) })

-- A step of more than this many seconds is not tried; nor are more rows after this many.
local longest_step, most_seconds = 2, 60

-- Nor is one of more positions: what it takes beside its products is no part of its FLOPs, nor what it
-- takes of memory.
local most_positions = 2 ^ 20

-- ---- the file ----

-- Without a cache folder nothing is kept.
local function file_of()
  local folder = core.cache_folder()
  return folder ~= "" and folder .. "/rates.csv" or nil
end

local function is_of(self, record)
  return provenance.are_of_one_machine(record, self) and record.device == self.device
    and record.code_version == self.code_version
end

local function key_of(probe) return probe.signature .. " " .. probe.threads end

-- The records of the file. Whatever is in the way of it, it is only a cache.
local function records_of(path)
  local good, records = pcall(function()
    local list = csv.read(path, columns)
    csv.check_numbers(path, list, full_columns, number_columns)
    return list
  end)
  return good and records or {}
end

local function read(self)
  local path = file_of()
  if not path then return end
  for _, record in ipairs(records_of(path)) do
    if is_of(self, record) then
      local probe = {}
      for _, name in ipairs(number_columns) do probe[name] = tonumber(record[name]) end
      probe.signature, probe.threads = record.signature, tonumber(record.threads)
      self.known[key_of(probe)] = probe
    end
  end
end

-- Leaves out what was measured while others used the machine, if they do not now.
local function forget_busy(self)
  local busy = {}
  for key, probe in pairs(self.known) do
    if probe.load then busy[#busy + 1] = key end
  end
  if #busy == 0 or others.now() then return end
  for _, key in ipairs(busy) do self.known[key] = nil end
end

--- What is known on this machine, for runs on a device. `settings`: machine (core.machine()),
--- device, open (makes a session for a run; nil: nothing is measured).
function probes.open(settings)
  local machine = settings.machine
  local here = provenance.here(machine, settings.device)
  local self = setmetatable({
    machine = here.machine, kernels = here.kernels, all_threads = machine.threads,
    device = settings.device, code_version = machine.version, open = settings.open, known = {},
    fresh = {}, spent = 0, by_group = {},
  }, Probes)
  read(self)
  if self.open then forget_busy(self) end
  return self
end

--- Keeps what is new for the next time. Records of other builds on this machine go.
function Probes:close()
  local path = file_of()
  if not path or not next(self.fresh) then return end
  pcall(function()
    core.make_folder(core.cache_folder())
    local lock <close> = core.lock(path .. ".lock")
    local kept = {}
    for _, record in ipairs(records_of(path)) do
      local outdated = record.machine == self.machine and record.code_version ~= self.code_version
      if not outdated and not (is_of(self, record) and self.fresh[key_of(record)]) then
        kept[#kept + 1] = record
      end
    end
    for _, probe in pairs(self.fresh) do
      kept[#kept + 1] = setmetatable({}, { __index = function(_, name)
        return probe[name] or self[name]
      end })
    end
    csv.write(path, columns, kept)
  end)
  self.fresh = {}
end

-- ---- measuring ----

-- Options of training by which a step takes another time or another amount of memory: momentum has a
-- tensor for every parameter.
local costly = { "precision", "optimizer", "momentum", "segments_per_step", "accumulate", "swap_parameters" }

-- What the cost of a step depends on.
local function signature_of(row)
  local words = { row.model.name, row.model.text, row.task.name, row.task.text }
  for _, name in ipairs(costly) do words[#words + 1] = row.train:spelled(name) end
  return core.hash(table.concat(words, "\n"), 16)
end

-- Rows that differ in data alone, or in what a script tunes, have steps of about one price for a
-- FLOP: one of them is measured.
local function group_of(row)
  local info = identity.task_info(row.task)
  return table.concat({ (row.tried_for or row).label, row.model.name, info.rows, info.length,
    row.train:option "precision", row.train:option "segments_per_step" }, "\n")
end

-- One step after another, or the first alone where that is longer than was thought.
local function time_steps(session)
  local first = core.time_steps({ session }, 0, 1)[1]
  return first.median_ms > 1000 * longest_step and first or core.time_steps({ session }, 0, 3)[1]
end

local function try(self, run)
  local begin = core.clock()
  local session <close> = self.open(run)
  local opened = core.clock()
  local times = time_steps(session)
  local stepped = core.clock()
  session:inference_memory() -- two batches, without gradients
  local passed, info = core.clock(), session:info()
  self.spent = self.spent + passed - begin
  return {
    open_s = opened - begin, step_s = times.median_ms / 1000, pass_s = (passed - stepped) / 2,
    tokens = times.tokens_per_step, flops = work.of(run.row).step, parameters = info.parameters,
    peak_memory_bytes = info.peak_memory_bytes,
  }
end

-- On so many threads, after which the program has its own again.
local function measure(self, run, threads)
  core.set_threads(threads)
  local good, probe, seen = pcall(others.watch, function() return try(self, run) end)
  core.set_threads(self.all_threads)
  if not good then error(probe, 0) end
  probe.signature, probe.threads = signature_of(run.row), threads
  probe.load = seen.busy == "yes" and seen.load or nil
  return probe
end

-- Whether a row can be measured in a moment.
local function is_short(self, row)
  if not self.open or self.spent > most_seconds then return false end
  local info = identity.task_info(row.task)
  if info.rows * info.length * row.train:option "segments_per_step" > most_positions then return false end
  self.rate = self.rate or core.matmul_rate(512, 1, true)
  return work.of(row).step / (0.3 * self.rate) < longest_step
end

--- What a step of this row or of one like it costs on so many threads: open_s, step_s, pass_s (of a
--- batch without gradients), tokens and flops of the step, parameters, peak_memory_bytes, load
--- (processors that others used meanwhile, nil where the machine was idle); nil where none was
--- measured. Fails as the row would.
function Probes:of(run, threads)
  local key = key_of { signature = signature_of(run.row), threads = threads }
  local group = group_of(run.row) .. "\n" .. threads
  local probe = self.known[key] or self.by_group[group]
  if not probe and is_short(self, run.row) then
    probe = measure(self, run, threads)
    self.known[key], self.fresh[key] = probe, probe
  end
  self.by_group[group] = self.by_group[group] or probe
  return probe
end

return probes
