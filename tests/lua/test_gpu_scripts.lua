-- What the scripts of tests/gpu make of what a card shows, with sessions that only say it.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local peer = require "longhaul.bench.peer"
local t = dofile "tests/test.lua"

local real_session, real_time_steps = core.session, core.time_steps
local folder = os.tmpname()
os.remove(folder)
local words

-- Runs a script with these sessions and step times; its exit code.
local function run(script, argument, session, time_steps)
  local real_print = print
  words = {}
  core.session, core.time_steps = session, time_steps
  print = function(text) words[#words + 1] = text end
  local good, code = pcall(assert(loadfile("tests/gpu/" .. script)), folder, argument)
  print = real_print
  core.session, core.time_steps = real_session, real_time_steps
  assert(good, code)
  return code
end

-- Sessions whose loss is `loss_of(device, step)`, and whose steps take `seconds` each in a row.
local function sessions(loss_of, seconds)
  return function(spec)
    local step = 0
    local session = setmetatable({}, { __close = function() end })
    function session.train(_, _, tell)
      for i = 1, 12 do
        step = step + 1
        if tell then tell { loss_bits = loss_of(spec.device, i) } end
      end
    end
    function session.info()
      return { step = step, seconds = (seconds or 1) * step, flops_per_token = 1 }
    end
    return session
  end
end

-- The card's loss is off by `apart` at one step.
local function losses_off(at, apart)
  return run("losses.lua", 12, sessions(function(device, step)
    return device == "cuda" and step == at and 2 * (1 + apart) or 2
  end))
end

t.test("losses are held closer in the first ten steps than later", function()
  t.equal(losses_off(10, 9e-5), 0)
  t.equal(losses_off(10, 2e-4), 1)
  t.equal(losses_off(11, 2e-4), 0)
  t.equal(losses_off(11, 2e-2), 1)
  t.near(tonumber(csv.read(folder .. "/losses.csv")[1].largest_difference), 0.02, 1e-9)
end)

t.test("a loss that is no number is off", function()
  t.equal(losses_off(3, 0 / 0), 1)
  t.equal(losses_off(12, 0 / 0), 1)
end)

-- What time_steps says; a step that is waited for takes `ms`.
local function times(ms, graphs)
  return function()
    return { { median_ms = ms, q1_ms = ms, q3_ms = ms, tokens_per_step = 64, peak_memory_bytes = 1e9,
      workspace_bytes = 5e8, graphs_after_warmup = graphs } }
  end
end

local function loss() return 2 end

t.test("the better of two products is the card's rate", function()
  core.make_folder(folder)
  csv.write(folder .. "/rates.csv", { "name", "result", "value" }, {
    { name = "bf16", result = "f32", value = 6e14 }, { name = "bf16", result = "bf16", value = 7e14 },
    { name = "f32", result = "f32", value = 5e13 } })
  local rates = dofile "tests/gpu/baseline.lua"(true).rates(folder)
  os.remove(folder .. "/rates.csv")
  t.near(rates.bf16, 7e14, 1)
  t.near(rates.f32, 5e13, 1)
end)

t.test("graphs that are made anew in steps that repeat fail", function()
  t.equal(run("speed.lua", "tiny", sessions(loss), times(7, 0)), 0)
  t.equal(run("speed.lua", "tiny", sessions(loss), times(7, 3)), 1)
  t.contains(table.concat(words, "\n"), "3 graphs made anew")
  t.equal(csv.read(folder .. "/speed.csv")[1].graphs_after_warmup, "3")
end)

t.test("beside a step's time stands what is expected of it", function()
  t.equal(run("speed.lua", "tiny", sessions(loss), times(7, 0)), 0)
  local rows = csv.read(folder .. "/speed.csv")
  t.equal(#rows, 10)
  for _, row in ipairs(rows) do
    t.check(tonumber(row.expected_ms) > 0, row.model)
    t.equal(row.expected_on, "h200")
  end
  t.near(tonumber(rows[5].dropout), 0.05, 1e-9)
  t.equal(rows[6].model, "gpt2")
  t.check(tonumber(rows[5].expected_ms) >= tonumber(rows[1].expected_ms))
end)

-- The rows of a script that runs in such an environment.
local function rows_with(environment, file)
  local getenv = os.getenv
  rawset(os, "getenv", function(name) return environment[name] or getenv(name) end)
  t.equal(run("speed.lua", "tiny", sessions(loss), times(7, 0)), 0)
  rawset(os, "getenv", getenv)
  return csv.read(folder .. file)
end

t.test("kernels one by one are timed in one setting, on the card that is named", function()
  local rows = rows_with({ LH_GRAPHS = "0", GPU_NAME = "NVIDIA H100 80GB HBM3" }, "/speed.csv")
  t.equal(#rows, 11)
  t.equal(rows[10].execution, "graph")
  t.equal(rows[11].execution, "eager")
  t.equal(rows[11].expected_on, "h100")
end)

t.test("passes in place of epilogues are timed with and without biases", function()
  local rows = rows_with({ LH_EPILOGUES = "0" }, "/speed.csv")
  t.equal(#rows, 13)
  t.equal(rows[12].execution, "passes")
  t.equal(rows[13].model, "gpt2")
end)

-- What ncu writes of two steps of `launches` kernels between some that no step has, one before and `behind`: its own
-- words among those of the program, names, units, and a line for each launch.
local function ncu_csv(launches, second, behind)
  local lines = { "==PROF== Connected to process 7", "the program's own words",
    '"ID","Kernel Name","Grid Size","gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum"',
    '"","","","ns","byte","byte"', '"0","draw(float *)","(1, 1, 1)","9,000","1","1"' }
  for step = 1, 2 do
    for i = 1, launches do
      local name = i == 7 and step == 2 and second or i % 2 == 0 and "void pass<(int)4>(lh_rms_norm_forward_args, int)"
        or "copy(float *)"
      lines[#lines + 1] = ('"%d","%s","(%d, 1, 1)","%s","2,000","1000"'):format(i, name, i,
        step == 1 and "5" or "1,500.5")
    end
  end
  for i = 1, behind or 0 do
    lines[#lines + 1] = ('"%d","norm(float *)","(1, 1, 1)","7,000","1","1"'):format(i)
  end
  local raw = os.tmpname()
  local file <close> = assert(io.open(raw, "w"))
  file:write(table.concat(lines, "\n"), "\n")
  return raw
end

-- What profile.lua says of it.
local function profile(raw, model)
  local real_print = print
  print = function() end
  local good, problem = pcall(assert(loadfile "tests/gpu/profile.lua"), "sum", raw, folder, model)
  print = real_print
  os.remove(raw)
  return good, problem
end

t.test("of what ncu saw the last step counts, by kernel", function()
  t.check(profile(ncu_csv(70), "gpt2"))
  t.check(profile(ncu_csv(80, nil, 2), "slide"))
  local rows = csv.read(folder .. "/profile.csv")
  t.equal(#rows, 4)
  t.equal(rows[1].model, "gpt2")
  local pass = rows[3].kernel == "copy" and rows[4] or rows[3]
  t.equal(pass.kernel, "void pass<(int)4>")
  t.equal(pass.entry, "rms_norm_forward")
  t.check(tonumber(pass.entry_expected_ms) > 0)
  t.equal(rows[3].launches, "40")
  t.near(tonumber(rows[3].ms), 40 * 1500.5e-6, 1e-9)
  t.near(tonumber(rows[3].bytes_read), 80000, 1e-9)
  t.near(tonumber(rows[3].bytes_written), 40000, 1e-9)
  t.check(profile(ncu_csv(70), "slide"))
  t.equal(#csv.read(folder .. "/profile.csv"), 4)
end)

t.test("where no two steps are alike nothing is summed", function()
  local good, problem = profile(ncu_csv(70, "other(int)"), "slide")
  t.check(not good)
  t.contains(problem, "no two steps alike among 141 launches")
  t.check(not profile(ncu_csv(70, nil, 17), "slide"))
end)

-- Ours takes 20 ms where it is waited for and `ours` in a row; theirs 15 and 10.
local function peers(ours, name, counting)
  local opened = sessions(loss, ours / 1000)
  local version, train = peer.version, peer.train
  local asked
  peer.version = function() return "9.9" end
  peer.train = function(_, steps, script, arguments)
    asked = ("%s: %d steps, %s"):format(script, steps, arguments)
    return { step_time_ms = 15, step_time_q1_ms = 15, step_time_q3_ms = 15, following_step_ms = 10,
      peak_memory_bytes = 1e9, loss_bits = 2, torch = "9.9" }
  end
  local code = run("peers.lua", name or "slide", counting and counting(opened) or opened, times(20, 0))
  peer.version, peer.train = version, train
  return code, asked
end

t.test("peers are compared by steps in a row", function()
  t.equal(peers(9), 0)
  local code, asked = peers(11)
  t.equal(code, 1)
  t.equal(asked, "block_stack.py: 46 steps, --warmup 5 --following 20 --precision bf16 --device cuda "
    .. "--attention best")
  local row = csv.read(folder .. "/peers-slide.csv")[1]
  t.near(tonumber(row.following_step_ms), 11, 1e-9)
  t.equal(row.step_time_ms, "20")
  t.near(tonumber(row.peak_memory_bytes), 1.5e9, 1)
end)

t.test("GPT-2 has a peer of its own", function()
  local code, asked = peers(9, "gpt2")
  t.equal(code, 0)
  t.equal(asked, "gpt2_steps.py: 46 steps, --warmup 5 --following 20 --precision bf16 --device cuda")
  t.equal(csv.read(folder .. "/peers-gpt2.csv")[1].segment, "1024")
end)

t.test("all peers are in one file, the first one first", function()
  t.equal(peers(9, "all"), 0)
  local models = {}
  for i, row in ipairs(csv.read(folder .. "/peers.csv")) do models[i] = row.model end
  t.equal(table.concat(models, ", "), "slide, slide, brt fixed:skip, brt fixed:skip, gpt2, gpt2")
end)

t.test("a peer that there is not is none that is as fast", function()
  local good, problem = pcall(peers, 9, "bert")
  t.check(not good)
  t.contains(problem, "no peer of 'bert'")
end)

t.test("GPT-2 makes nothing again backward, which its peer does not either", function()
  local _, _, rows = dofile "tests/gpu/baseline.lua"(true).expected { model = "gpt2", precision = "bf16", batch = 1 }
  for _, row in ipairs(rows) do
    if row.kernel == "attention_forward" then t.equal(row.calls, 4) end
  end
end)

-- How many rows the file has whenever a session opens, each of which a call's end could cut; what was
-- left by the test before is removed.
local function rows_at_sessions(file, run_it)
  local counts = {}
  os.remove(folder .. file)
  run_it(function(open)
    return function(spec)
      counts[#counts + 1] = core.exists(folder .. file) and #csv.read(folder .. file) or 0
      return open(spec)
    end
  end)
  return table.concat(counts, " ")
end

t.test("what was measured is in the file before the next is", function()
  t.equal(rows_at_sessions("/speed.csv", function(counting)
    run("speed.lua", "tiny", counting(sessions(loss)), times(7, 0))
  end), "0 1 2 3 4 5 6 7 8 9")
  t.equal(rows_at_sessions("/losses.csv", function(counting)
    run("losses.lua", 12, counting(sessions(loss)))
  end), "0 0 1 2 3 3 4 5 6 6 7 8")
  t.equal(rows_at_sessions("/peers-slide.csv", function(counting) peers(9, "slide", counting) end), "0 1")
end)

for _, name in ipairs { "losses", "speed", "profile", "peers", "peers-slide", "peers-gpt2" } do
  os.remove(folder .. "/" .. name .. ".csv")
end
os.remove(folder)

t.finish()
