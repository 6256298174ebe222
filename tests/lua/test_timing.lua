-- Step times: how they are measured, and what is kept of a round. The steps themselves are played by
-- sessions whose times are known; one test times real ones.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local lh = require "longhaul"
local others = require "longhaul.run.others"
local ranks = require "longhaul.run.ranks"
local runner = require "longhaul.run.runner"
local runs = dofile "tests/lua/runs.lua"
local store = require "longhaul.run.store"
local timing = require "longhaul.run.timing"
local timed = dofile "tests/lua/timed.lua"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

-- Sessions that take as long as their row's name says, "x 12" 12 ms, on a machine with this load.
local played = { parts = {}, load = 0, machine = 0, own = 0 }

local function play()
  core.time_steps = function(sessions)
    local times, part = {}, {}
    for i, session in ipairs(sessions) do
      times[i] = { median_ms = session.ms, q1_ms = session.ms - 1, q3_ms = session.ms + 2,
        tokens_per_step = 96,
        peak_memory_bytes = 1000 * session.ms }
      part[i] = session.label
    end
    played.parts[#played.parts + 1] = table.concat(part, ", ")
    core.sleep(10)
    return times
  end
  core.clock = function() return played.own end
  -- of two processors; this process uses one
  core.sleep = function(seconds)
    played.own = played.own + seconds
    played.machine = played.machine + seconds * (1 + played.load)
  end
  core.cpu_time = function() return played.machine, played.own, 2 end
end

local machine = lh.merged(core.machine(),
  { cpu = "test", threads = 2, version = "v1" })

local function measure_settings(bench, more)
  local bases = {}
  for _, label in ipairs(bench:baselines()) do
    for _, row in ipairs(bench.rows) do
      if row.label == label then bases[#bases + 1] = { row = row } end
    end
  end
  return lh.merged({
    scale = "small", machine = machine, bases = bases, rounds = 1, open = function(run)
      return { label = run.row.label, ms = tonumber(run.row.label:match "%d+"),
        close = function() end,
        inference_memory = function() return 7 end, matrix_rate = function() return 1e9 end,
        info = function() return { flops_per_token = 50 } end }
    end,
  }, more or {})
end

-- The runs of the rows that a filter takes, as the runner gives them to timing.
local function runs_of(bench, device, wanted)
  local list = {}
  for _, row in ipairs(bench.rows) do
    if not wanted or wanted(row) then
      local run = { experiment = bench.runs, row = row, seed = 1, scale = "small", device = device
        or "cpu" }
      run.identity = identity.of(run)
      list[#list + 1] = run
    end
  end
  return list
end

local function measure(bench, more, device, wanted)
  local list = runs_of(bench, device, wanted)
  local own = measure_settings(bench, more)
  for _, base in ipairs(own.bases) do
    base.experiment, base.seed, base.scale, base.device = bench.runs, 1, "small", device or "cpu"
    base.identity = identity.of(base)
  end
  played.parts = {}
  timing.measure(list, store.open(folder, bench.runs), own)
  return played.parts
end

local real = { time_steps = core.time_steps, clock = core.clock, sleep = core.sleep,
  cpu_time = core.cpu_time,
  device_name = core.device_name, device_memory = core.device_memory }

-- With played sessions; what is measured goes into a log of its own.
local function playing(body)
  return function()
    play()
    local stderr = io.stderr
    local said = {}
    io.stderr = setmetatable({},
      { __index = { write = function(_, ...) said[#said + 1] = table.concat { ... } end } })
    played.load = 0
    function core.device_name() return "a GPU" end
    function core.device_memory() return 2 ^ 40 end
    local good, message = pcall(body, said)
    for name, value in pairs(real) do core[name] = value end
    io.stderr = stderr
    if not good then error(message, 0) end
  end
end

local function prepared(name, labels, memory)
  local made = timed.bench(name, labels)
  for _, row in ipairs(made.rows) do
    runs.put(folder, made, { label = row.label, peak_memory_bytes = memory })
  end
  return made
end

local function rounds(name) return (csv.read(("%s/%s/timings.csv"):format(folder, name))) end

t.test("rows are timed side by side in one round with all that a reader asks for",
  playing(function()
  local made = prepared("side", { "base 10", "x 12", "y 4" })
  t.equal(table.concat(measure(made), "; "), "base 10, x 12, y 4")
  local list = rounds "side"
  t.equal(#list, 3)
  for _, record in ipairs(list) do
    t.equal(record.round, list[1].round)
    t.equal(table.concat({ record.machine, record.threads, record.ranks, record.precision,
      record.warmup, record.steps,
      record.busy, record.device, record.scale, record.dataset, record.code_version }, " "),
        "test 2 1 f32 2 9 no cpu small books v1")
  end
  local x = list[2]
  t.equal(x.configuration, runs.identity(made, "x 12").configuration)
  t.equal(table.concat({ x.row, x.step_time_ms, x.step_time_q1_ms, x.step_time_q3_ms,
    x.peak_memory_bytes,
    x.inference_memory_bytes, x.tokens_per_step }, " "), "x 12 12 11 14 12000 7 96")
  t.near(tonumber(x.tokens_per_second), 8000, 1e-9) -- 96 tokens in 12 ms
  -- three passes of 50 FLOP over 8000 tokens a second, of 1e9
  t.near(tonumber(x.mfu), 0.0012, 1e-12)
  t.near(tonumber(store.at(folder, "side"):rows()[3].relative_step_time), 0.4, 1e-12)
  t.equal(#measure(made), 0)
end))

t.test("as many rounds are timed as are asked for, those that are there counted", playing(function()
  local made = prepared("many", { "a 1", "b 2" })
  t.equal(#measure(made), 1)
  t.equal(#measure(made, { rounds = 3 }), 2)
  t.equal(#measure(made, { rounds = 3 }), 0)
  t.equal(#measure(made, { rounds = 2, force = true }), 2)
  t.equal(#rounds "many", 10)
  local other = prepared("many-idle", { "a 1", "b 2" })
  played.load = 0.75
  t.equal(#measure(other), 1)
  played.load = 0
  t.equal(#measure(other, { rounds = 2 }), 2) -- a round of a busy machine is none of the two
  t.equal(#measure(other, { rounds = 2 }), 0)
end))

t.test("what does not fit into memory is timed in parts, the baseline in each", playing(function()
  local made = prepared("parts", { "x 1", "base 2", "y 3", "z 4" }, 100)
  made.tables[1].baseline = "base 2"
  core.device_memory = function() return 350 end
  t.equal(table.concat(measure(made), "; "), "base 2, x 1; base 2, y 3; base 2, z 4")
  local seen = {}
  for _, record in ipairs(rounds "parts") do
    seen[record.round] = (seen[record.round] or "") .. record.row .. ","
  end
  local count = 0
  for _, rows in pairs(seen) do
    t.check(rows:find("^base 2,"), rows)
    count = count + 1
  end
  t.equal(count, 3)
end))

t.test("ranks of a machine share its memory, and have a GPU each", playing(function()
  local made, near = prepared("shared", { "base 2", "x 1", "y 3" }, 100), ranks.near
  function ranks.near() return 2 end
  core.device_memory = function(device) return device == "cpu" and 700 or 520 end
  local parts = table.concat(measure(made), "; ")
  for _, label in ipairs { "base 2", "x 1", "y 3" } do
    runs.put(folder, made, { label = label, device = "cuda", peak_memory_bytes = 100 })
  end
  local on_gpu = table.concat(measure(made, nil, "cuda"), "; ")
  ranks.near = near
  t.equal(parts, "base 2, x 1; base 2, y 3")
  t.equal(on_gpu, "base 2, x 1, y 3")
end))

t.test("every table's baseline is in the round, one that --only leaves out as well",
  playing(function()
  local made = prepared("both", { "a 1", "b 2", "c 3" })
  made:table { columns = { "relative_step_time" }, baseline = "c 3", name = "second" }
  t.equal(table.concat(measure(made, nil, "cpu", function(row) return row.label == "b 2" end),
    "; "), "a 1, c 3, b 2")
end))

t.test("the relative time is to the baseline of the first table", playing(function()
  local made = prepared("first", { "a 10", "b 20", "c 30" })
  made:table { columns = { "relative_step_time" }, baseline = "b 20", name = "second" }
  measure(made)
  local c = store.at(folder, "first"):rows()[3]
  t.near(tonumber(c.relative_step_time), 3, 1e-12)
end))

t.test("a round without the baseline that a table has by now does not count", playing(function()
  local made = prepared("later", { "a 10", "b 20", "c 30" })
  local function only(label) return measure(made, nil, "cpu", function(row) return row.label == label end) end
  t.equal(table.concat(only "b 20", "; "), "a 10, b 20")
  t.equal(table.concat(only "c 30", "; "), "a 10, c 30")
  made:table { columns = { "relative_step_time" }, baseline = "c 30", name = "second" }
  t.equal(table.concat(only "b 20", "; "), "a 10, c 30, b 20")
end))

t.test("what failed is not timed, a baseline that another run is to train is", playing(function()
  local made = timed.bench("able", { "a 1", "b 2", "c 3" })
  t.equal(table.concat(measure(made), "; "), "a 1") -- alone
  runs.put(folder, made, { label = "b 2" })
  runs.put(folder, made, { label = "c 3", status = "failed" })
  t.equal(table.concat(measure(made), "; "), "a 1, b 2")
  runs.put(folder, made, { label = "a 1", status = "failed" })
  t.equal(table.concat(measure(made, { force = true }), "; "), "b 2")
end))

t.test("a round that fails closes what it has opened, and says what failed", playing(function()
  local made, closed = prepared("closed", { "a 1", "b 2" }), 0
  local opened = measure_settings(made).open
  t.fails(function()
    measure(made, { open = function(run)
      if run.row.label == "b 2" then error("no memory", 0) end
      local session = opened(run)
      session.close = function() closed = closed + 1 end
      return session
    end })
  end, "step times: no memory")
  t.equal(closed, 1)
end))

t.test("another device's, machine's or number of threads' time does not stand for this one's",
  playing(function()
  local made = prepared("devices", { "a 1", "b 2" })
  for _, label in ipairs { "a 1", "b 2" } do
    runs.put(folder, made, { label = label, device = "cuda" })
  end
  t.equal(#measure(made, nil, "cuda"), 1)
  t.equal(rounds("devices")[1].machine, machine.cpu .. " with a GPU")
  t.equal(#measure(made, nil, "cuda"), 0)
  t.equal(#measure(made, nil, "cpu"), 1)
  t.equal(#measure(made, nil, "cpu"), 0)
  t.equal(#measure(made, { machine = lh.merged(machine, { threads = 1 }) }), 1)
  t.equal(#measure(made, { machine = lh.merged(machine, { cpu = "another" }) }), 1)
  t.equal(#measure(made, { machine = lh.merged(machine, { kernels = "others" }) }), 1)
  t.equal(#measure(made, { force = true }), 1)
end))

t.test("a row that is new is timed with the others", playing(function()
  local made = prepared("grows", { "a 1", "b 2" })
  measure(made)
  timed.row(made, "c 3")
  t.equal(#measure(made), 0) -- it was not run
  runs.put(folder, made, { label = "c 3" })
  t.equal(table.concat(measure(made), "; "), "a 1, b 2, c 3")
end))

t.test("a round on a busy machine is marked, and measured again when the machine is idle",
  playing(function(said)
  local made = prepared("busy", { "a 1", "b 2" })
  played.load = 0.75
  t.equal(#measure(made), 1)
  t.contains(table.concat(said), "others used 0.8 processors meanwhile: marked as busy")
  t.equal(rounds("busy")[1].busy, "yes")
  t.near(tonumber(rounds("busy")[1].load), 0.75, 1e-9)
  t.equal(store.at(folder, "busy"):rows()[1].step_time_ms, "")
  t.equal(store.at(folder, "busy"):rows()[1].peak_memory_bytes, "1000")
  t.equal(#measure(made), 0) -- still busy
  t.contains(table.concat(said), "left for a run when it is idle")
  t.equal(#measure(made, { rounds = 3 }), 2)
  local before = #table.concat(said)
  t.equal(#measure(made, { rounds = 3 }), 0)
  t.equal(select(2, table.concat(said):sub(before + 1):gsub("left for a run", "")), 1, "once for all rounds")
  played.load = 0
  t.equal(#measure(made), 1)
  t.equal(#rounds "busy", 8)
  t.equal(rounds("busy")[7].busy, "no")
  t.equal(store.at(folder, "busy"):rows()[1].step_time_ms, "1")
  t.equal(#measure(made), 0)
end))

t.test("others that come while products are measured make a round busy", playing(function()
  local made = prepared("burst", { "a 1", "b 2" })
  local open = measure_settings(made).open
  measure(made, { open = function(run)
    local session = open(run)
    function session.matrix_rate()
      played.load = 1.5
      core.sleep(10)
      played.load = 0
      return 1e9
    end
    return session
  end })
  t.equal(rounds("burst")[1].busy, "yes")
end))

t.test("busy is when others use more than a tenth of the processors", function()
  t.check(not others.are_busy(0.9, 5, 2) and others.are_busy(1.1, 5, 2),
    "two processors for five seconds")
  t.check(not others.are_busy(7.5, 5, 16) and others.are_busy(8.5, 5, 16), "sixteen")
  t.check(not others.are_busy(0.04, 0.01, 2), "less than the system's clock can tell")
end)

-- ---- the real thing ----

t.test("this process's own work is not that of others", function()
  local machine_before, own_before, processors = core.cpu_time()
  if not machine_before then return t.check(processors == nil, "the system does not say") end
  t.check(processors >= 1 and own_before > 0, "a reading")
  local own_after, steps = own_before, 0
  while own_after - own_before < 0.3 and steps < 1e6 do
    steps = steps + 1
    own_after = select(2, core.cpu_time())
  end
  t.check(own_after - own_before >= 0.3, "work that was not counted")
  t.check(core.cpu_time() - machine_before >= own_after - own_before - 0.1, "more than the machine")
end)

t.test("a real run is timed beside its baseline, its numbers those of the round", function()
  local made = timed.bench("real", { "base", "x" })
  local said = io.stderr
  io.stderr = setmetatable({}, { __index = { write = function() end } })
  local own = { results = folder, scale = "smoke", device = "cpu" }
  local good, failed = pcall(runner.run, made, own)
  io.stderr = said
  t.check(good, tostring(failed))
  local list, by_row = rounds "real", {}
  for _, record in ipairs(list) do by_row[record.row] = record end
  t.equal(#list, 2)
  t.equal(list[1].round, list[2].round)
  for _, row in ipairs(store.at(folder, "real"):rows()) do
    local record = by_row[row.row]
    t.equal(row.configuration, record.configuration)
    t.equal(row.peak_memory_bytes, record.peak_memory_bytes)
    t.check(tonumber(record.step_time_q1_ms) <= tonumber(record.step_time_ms), "quartiles")
    t.near(tonumber(record.tokens_per_second), 128000 / tonumber(record.step_time_ms),
      1e-6 * 128000)
    if record.busy ~= "yes" then
      t.equal(row.step_time_ms, record.step_time_ms)
      t.near(tonumber(row.relative_step_time),
        tonumber(record.step_time_ms) / tonumber(by_row.base.step_time_ms), 1e-12)
    end
  end
end)

t.test("a round has as many sessions as are asked for, each with its own time", function()
  local row, sessions = timed.bench("hundred", { "x" }).rows[1], {}
  for i = 1, 100 do
    sessions[i] = core.session { model = row.model.options, task = row.task.options, train = row.train.options,
      seed = 1, device = "cpu" }
  end
  local times = core.time_steps(sessions, 0, 1)
  for _, session in ipairs(sessions) do session:close() end
  t.equal(#times, 100)
  t.check(times[100].median_ms > 0 and times[100].tokens_per_step == 128, "the last one's time")
  t.fails(function() core.time_steps({}, 0, 1) end, "at least one session")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
