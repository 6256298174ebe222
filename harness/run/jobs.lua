-- Rows side by side: each run of a plan in a process of its own, this same program told to do that
-- one run, with a share of the processor's threads. Nothing is scheduled beyond what fits: threads,
-- memory, and a run after the one whose weights it starts from. What a worker leaves in the results
-- folder is what a single process would have left.
local core = require "longhaul.core"
local progress = require "longhaul.run.progress"
local work = require "longhaul.run.work"

local jobs = {}

-- How a process ends that has stopped with a checkpoint (`longhaul help`).
local interrupted_code = 130

-- A process takes this beside the memory of its pool: program, libraries, data.
local process_bytes = 150 * 2 ^ 20

-- Of what is free, so much may be promised.
local memory_share = 0.9

--- What a run is expected to need, from the peak of its pool that was measured before.
function jobs.need_of(peak_bytes) return peak_bytes and peak_bytes + process_bytes end

--- Whether a run that needs so many bytes can begin beside others: `running` has need and used of
--- each, `available` is what the machine could lend now. Of a run that is unknown (nil) the most
--- that another needs is expected; while nothing is known at all it must wait.
function jobs.fits(need, running, available)
  local promised, most = 0, 0
  for _, other in ipairs(running) do
    if not other.need then return false end
    promised = promised + math.max(0, other.need - other.used)
    most = math.max(most, other.need)
  end
  return (need or most) <= memory_share * available - promised
end

--- How a plan of `count` runs is divided while most of it waits: the threads of a run of this row, and
--- how many such runs go on side by side. `asked`: nil (one after the other), "auto" or a number.
function jobs.lanes(row, asked, all, count)
  if not asked then return all, 1 end
  if asked ~= "auto" then
    local lanes = math.max(1, math.min(asked, count))
    return math.max(1, all // lanes), lanes
  end
  local threads = work.threads(row, all)
  return threads, math.max(1, math.min(all // threads, count))
end

--- A note where the threads of `machine`, or the runs that are `asked` side by side, are more than its
--- processors; else nil. It is done all the same, since results do not depend on it.
function jobs.note(machine, asked)
  local more = tonumber(asked) or 0
  local what = more > machine.threads and "runs side by side" or "threads"
  more = math.max(more, machine.threads)
  if more <= machine.cores then return nil end
  return ("%d %s on %d processor%s take turns, and nothing is done sooner"):format(more, what, machine.cores,
    machine.cores == 1 and "" or "s")
end

--- How the threads are divided: how many a run gets while `running` use `used` of `all` and
--- `waiting` wait; 0: it has to wait. `most` is how many run side by side, nil to go by what a row
--- can fill.
function jobs.share(row, most, all, used, running, waiting)
  if not most then
    local wanted = work.threads(row, all)
    if wanted > all - used then return 0 end
    return waiting == 1 and all - used or wanted
  end
  if running >= most then return 0 end
  return (jobs.lanes(row, most, all, running + waiting))
end

-- ---- starting ----

local function is_under_way(self, id)
  for _, list in ipairs { self.waiting, self.running } do
    for _, entry in ipairs(list) do
      if entry.run.id == id then return true end
    end
  end
  return false
end

local function used_threads(self)
  local sum = 0
  for _, entry in ipairs(self.running) do sum = sum + entry.threads end
  return sum
end

-- The first that can begin, by its place among those that wait, and its threads.
local function next_entry(self)
  local used, available = used_threads(self), (core.memory())
  for i, entry in ipairs(self.waiting) do
    local threads = jobs.share(entry.run.row, self.most, self.threads, used, #self.running,
      #self.waiting)
    local begins = threads > 0 and not (entry.after and is_under_way(self, entry.after))
      and not (entry.alone and #self.running > 0)
    if begins and (#self.running == 0
      or jobs.fits(self.needs[entry.run.identity.configuration], self.running, available)) then
      return i, threads
    end
  end
end

local function start(self, place, threads)
  local entry = table.remove(self.waiting, place)
  entry.threads, entry.used, entry.text = threads, 0, ""
  entry.need = self.needs[entry.run.identity.configuration]
  entry.process = core.start_process(self.words(entry, threads))
  self.running[#self.running + 1] = entry
  self.forecast:begin(entry.run)
end

local function start_all(self)
  repeat
    local place, threads = next_entry(self)
    if place then start(self, place, threads) end
  until not place
end

-- ---- what workers say ----

-- The most that runs of the configuration were seen to need counts from now on.
local function hear_memory(self, entry, bytes)
  local id = entry.run.identity.configuration
  entry.used = bytes
  entry.need = math.max(entry.need or 0, bytes)
  self.needs[id] = math.max(self.needs[id] or 0, bytes)
end

local function hear(self, entry, line)
  local record = progress.record_of(line)
  if not record then
    entry.last = line
    if not self.said[line] then self.board:say(line) end
    self.said[line] = true
    return
  end
  hear_memory(self, entry, record.bytes)
  self.board:show(entry.title, record)
  if record.title == entry.title then self.forecast:show(entry.run, record.step, record.steps) end
end

-- Whether the worker is still there.
local function listen(self, entry)
  local text = entry.process:read()
  while text and text ~= "" do
    entry.text = entry.text .. text
    for line in entry.text:gmatch("([^\n]*)\n") do hear(self, entry, line) end
    entry.text = entry.text:match("[^\n]*$")
    text = entry.process:read()
  end
  return text ~= nil
end

-- ---- ends ----

-- What became of a worker: "done", "failed", "interrupted", or "again" for one that was killed.
local function outcome_of(self, entry, code)
  if code == 0 then return "done" end
  if code == interrupted_code then return "interrupted" end
  if code > 0 then return "failed" end
  if self.stopping then return "interrupted" end
  return entry.alone and "failed" or "again"
end

local explain = {}

-- The worker has said why; where that was an error of the program, not which run.
function explain.failed(entry, code)
  if code < 0 then return ("its process was ended by signal %d again"):format(-code) end
  if entry.last and entry.last:sub(1, #entry.title) == entry.title then return nil end
  return ("failed: %s"):format(entry.last or ("exit code %d"):format(code))
end

function explain.again(_, code)
  return ("its process was ended by signal %d (9 is also what a system without memory sends): "
    .. "goes on from its checkpoint, "
    .. "alone, when the others have ended"):format(-code)
end

local function finish(self, entry)
  local code = entry.process:wait()
  local outcome = outcome_of(self, entry, code)
  self.board:finish(entry.title, explain[outcome] and explain[outcome](entry, code))
  if outcome == "again" then
    entry.alone = true
    table.insert(self.waiting, entry)
    self.forecast:put_back(entry.run)
    return
  end
  self.forecast:finish(entry.run, outcome == "done")
  self.outcomes[entry.run] = outcome
  self.failed = self.failed or outcome == "failed"
end

local function listen_to_all(self)
  local left = {}
  for _, entry in ipairs(self.running) do
    if listen(self, entry) then left[#left + 1] = entry else finish(self, entry) end
  end
  self.running = left
end

local function stop_all(self)
  self.stopping = true
  for _, entry in ipairs(self.running) do entry.process:stop() end
end

local function loop(self)
  while #self.running > 0 or (#self.waiting > 0 and not self.stopping) do
    if not self.stopping then start_all(self) end
    local processes = {}
    for i, entry in ipairs(self.running) do processes[i] = entry.process end
    core.await(processes, 1)
    listen_to_all(self)
    local stops = core.interrupted() or (self.failed and self.fail_fast)
    if stops and not self.stopping then stop_all(self) end
    self.board:tick()
  end
end

--- Runs them all. `sweep`: waiting (entries of run, title and `after`, the id of a run to wait
--- for), most (side by side; nil: as many as fill the threads), threads, words(entry, threads) (of
--- a worker's command line), needs (bytes by configuration, as far as known), board, forecast,
--- fail_fast (one that fails stops the others).
--- Gives the outcome by run, "done", "failed" or "interrupted", and whether all were asked to stop;
--- a run that was never begun has none.
function jobs.run(sweep)
  local self = setmetatable({ running = {}, outcomes = {}, said = {}, stopping = false },
    { __index = sweep })
  local good, message = core.catching_signals(function() return pcall(loop, self) end)
  for _, entry in ipairs(self.running) do entry.process:close() end
  self.board:leave()
  if not good then error(message, 0) end
  return self.outcomes, self.stopping
end

return jobs
