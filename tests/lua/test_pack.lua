-- A packed folder of results says what the folder said.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local lh = require "longhaul"
local pack = require "longhaul.report.pack"
local runner = require "longhaul.run.runner"
local store = require "longhaul.run.store"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

-- Two runs with curves of different columns, one of them with probes; and the curve of a run that
-- is no more.
local function fill(name)
  local made = store.open(folder, name)
  for seed, id in ipairs { "first", "second" } do
    made:put { run_id = id, experiment = name, row = "row", dataset = "text", seed = seed,
      scale = "small", device = "cpu", identity = 2, configuration = "c",
      status = "done", bits_per_byte = 1 / 3, date = "2026-01-01" }
  end
  made:write_curve("first", { { step = 1, loss_bits = 1 / 3 },
    { step = 2, loss_bits = 0.5, valid_bits = 0.25 } })
  made:write_curve("second", { { step = 1, loss_bits = 2, layer_1_gate = 0.125 } },
    { "layer_1_gate" })
  made:write_curve("gone", { { step = 1, loss_bits = 7 } })
  made:write_probes("second", { { name = "gate", value = 1 / 7 } })
  core.write_file(made.path .. "/table.csv", "row\nrow\n")
  core.write_file(made.path .. "/table.html", "<p>")
  core.write_file(made.path .. "/lines.svg", "<svg>")
  return made
end

local function says_the_same(name)
  local read, all = store.at(folder, name), math.huge
  t.equal(#read:rows(), 2)
  t.equal(tonumber(read:find("first").bits_per_byte), 1 / 3)
  local first, second = read:read_curve("first", all), read:read_curve("second", all)
  t.equal(#first, 2)
  t.equal(tonumber(first[1].loss_bits), 1 / 3)
  t.equal(tonumber(first[2].valid_bits), 0.25)
  t.equal(tonumber(first[1].valid_bits), nil)
  t.equal(#second, 1)
  t.equal(tonumber(second[1].layer_1_gate), 0.125)
  t.equal(#read:read_curve("first", 1), 1)
  t.equal(#read:read_curve("gone", all), 0)
  t.equal(read:read_probes("second").gate, 1 / 7)
  t.equal(next(read:read_probes("first")), nil)
end

t.test("a point that was being written when its run was killed is not packed", function()
  local curve = fill "torn":curve "first"
  local torn = csv.line(store.curve_columns, { step = 3, loss_bits = 1 }):sub(1, -2)
  core.write_file(curve, core.read_file(curve) .. torn)
  pack.folder(folder .. "/torn", folder .. "/packed-torn")
  says_the_same "packed-torn"
end)

t.test("a folder is packed into another one: CSV alone, and the folder is as it was", function()
  fill "one"
  pack.folder(folder .. "/one", folder .. "/packed")
  t.equal(table.concat(core.list_folder(folder .. "/packed"), " "),
    "curves.csv probes.csv runs.csv table.csv")
  says_the_same "packed"
  t.equal(#core.list_folder(folder .. "/one/curves"), 3)
  t.equal(core.read_file(folder .. "/one/runs.csv"), core.read_file(folder .. "/packed/runs.csv"))
end)

t.test("a folder is packed where it stands, twice too", function()
  local made = fill "two"
  pack.folder(made.path, made.path)
  says_the_same "two"
  t.check(not core.is_folder(made.path .. "/curves") and not core.is_folder(made.path .. "/probes"),
    "parts are left")
  pack.folder(made.path, made.path)
  says_the_same "two"
end)

t.test("so it is where a hidden file of another program lies among its parts", function()
  local made = fill "hidden"
  core.write_file(made.path .. "/curves/.DS_Store", "")
  pack.folder(made.path, made.path)
  says_the_same "hidden"
  t.equal(#core.list_folder(made.path .. "/curves"), 0)
  t.check(core.exists(made.path .. "/curves/.DS_Store"), "the other program's file")
  t.check(not core.is_folder(made.path .. "/probes"), "probes are not packed")
end)

-- Its row comes when it ends, and its curve begins again at the checkpoint.
t.test("of a run that was interrupted nothing is taken from where it stands", function()
  local made = fill "stopped"
  core.write_file(made:checkpoint "third", "")
  core.write_file(made:checkpoint "first", "")
  made:write_curve("third", { { step = 1, loss_bits = 3 } })
  pack.folder(made.path, made.path)
  says_the_same "stopped"
  t.equal(table.concat(core.list_folder(made.path .. "/curves"), " "), "third.csv")
  t.equal(#store.of(made.path):read_curve("third", 1), 1)
end)

t.test("of a script only what it would run today is kept, in its order", function()
  local from, to = folder .. "/results", folder .. "/kept"
  local task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 4,
    document_bytes = 2000 }, segment = 32, batch = 2, }
  local function bench_of(steps)
    local bench = lh.experiment "packed"
    for _, label in ipairs { "b", "a" } do
      bench:row { label, dataset = "books", task = task, train = lh.train { steps = steps },
        model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 } }
    end
    return bench
  end
  local settings = { scale = "smoke", device = "cpu", results = from, no_timing = true }
  runner.run(bench_of(1), settings)
  runner.run(bench_of(2), settings)
  local made = store.at(from, "packed")
  for i, run in ipairs(made:rows()) do
    made:add_timings { { round = "r", configuration = run.configuration, date = "2026-01-0" .. i,
      step_time_ms = i } }
  end
  t.equal(#made:rows(), 4)
  local _, notes = pack.script(bench_of(2), settings, to)
  t.equal(#notes, 1)
  t.contains(notes[1], ("2 of 4 runs of scale smoke in %s/packed are not those that the script"):format(from))
  local kept = store.at(to, "packed"):rows()
  t.equal(#kept, 2)
  t.equal(kept[1].row .. kept[2].row, "ba")
  t.equal(kept[1].step .. kept[2].step, "22")
  t.equal(#csv.read(to .. "/packed/timings.csv"), 2)
  t.check(#store.at(to, "packed"):read_curve(kept[1].run_id, 9) > 0, "a curve")
  t.equal(#csv.distinct(csv.read(to .. "/packed/curves.csv"), { "run_id" }), 2)
  pack.script(bench_of(1), settings, to)
  kept = store.at(to, "packed")
  t.equal(#kept:rows(), 4)
  for _, run in ipairs(kept:rows()) do t.check(#kept:read_curve(run.run_id, 9) > 0, run.run_id) end
  t.equal(#csv.read(to .. "/packed/timings.csv"), 4)
end)

t.test("a row that waits for its trials has no run yet, not the one of its options before them", function()
  local from, to = folder .. "/waiting", folder .. "/kept-waiting"
  local task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 4,
    document_bytes = 2000 }, segment = 32, batch = 2, }
  local function bench_of(tune)
    local bench = lh.experiment "waits"
    for _, label in ipairs { "plain", "tuned" } do
      bench:row { label, dataset = "books", task = task, train = lh.train { steps = 1 },
        tune = label == "tuned" and tune or nil,
        model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 } }
    end
    return bench
  end
  local settings = { scale = "smoke", device = "cpu", results = from, no_timing = true }
  runner.run(bench_of(), settings)
  t.equal(#store.at(from, "waits"):rows(), 2)
  pack.script(bench_of(lh.tune { rate = { 1e-3, 1e-2 }, by = "valid_bits_per_token" }), settings, to)
  local kept = store.at(to, "waits"):rows()
  t.equal(#kept, 1)
  t.equal(kept[1].row, "plain")
end)

t.test("runs that came to a packed folder are packed with those that were there", function()
  local made = fill "grown"
  pack.folder(made.path, made.path)
  made = store.open(folder, "grown")
  made:put { run_id = "third", experiment = "grown", row = "row", dataset = "text", seed = 3,
    scale = "small", device = "cpu", identity = 2, configuration = "c", status = "done",
    date = "2026-01-02" }
  made:write_curve("third", { { step = 1, loss_bits = 9 } })
  pack.folder(made.path, folder .. "/again")
  local again = store.at(folder, "again")
  t.equal(tonumber(again:read_curve("third", 9)[1].loss_bits), 9)
  t.equal(#again:read_curve("first", 9), 2)
  t.equal(tonumber(again:read_curve("second", 9)[1].layer_1_gate), 0.125)
  t.equal(again:read_probes("second").gate, 1 / 7)
end)

t.test("what was packed before stays: another script's runs, and a finished one whose like failed", function()
  local to = folder .. "/several"
  fill "several-one"
  pack.folder(folder .. "/several-one", to)
  local made = store.open(folder, "several-two")
  local function put(id, status)
    made:put { run_id = id, experiment = "one", row = "row", dataset = "text", seed = 3, scale = "small",
      device = "cpu", identity = 2, configuration = "c", status = status, bits_per_byte = 1,
      date = "2026-01-02" }
    made:write_curve(id, { { step = 1, loss_bits = 9 } })
  end
  for id, status in pairs { first = "failed", second = "done", third = "done", fourth = "done" } do
    put(id, status)
  end
  for _, round in ipairs { "r1", "r2" } do
    made:add_timings { { round = round, configuration = "c", date = "2026-01-02", step_time_ms = 2 } }
  end
  store.open(folder, "several"):add_timings {
    { round = "r1", configuration = "c", date = "2026-01-01", step_time_ms = 1 },
    { round = "r0", configuration = "c", date = "2026-01-01", step_time_ms = 1 } }
  local _, notes = pack.folder(folder .. "/several-two", to,
    { run_id = { "third", "first", "second" }, configuration = { "c" } })
  local ids, read = {}, store.at(folder, "several")
  for i, run in ipairs(read:rows()) do
    local curve = read:read_curve(run.run_id, 9)
    ids[i] = ("%s %s %d %g"):format(run.run_id, run.status, #curve, curve[1].loss_bits)
  end
  t.equal(table.concat(ids, "; "), ("first done 2 %g; second done 1 2; third done 1 9"):format(1 / 3))
  t.equal(#notes, 1)
  t.contains(notes[1], "note: run second (row 'row', seed 3): bits_per_byte is '0.33333333333333331' in")
  t.contains(notes[1], "/several/runs.csv and '1' in " .. folder .. "/several-two/runs.csv; the first is kept")
  t.equal(read:read_probes("second").gate, 1 / 7)
  local rounds = {}
  for i, record in ipairs(csv.read(to .. "/timings.csv")) do
    rounds[i] = record.round .. " " .. record.step_time_ms
  end
  t.equal(table.concat(rounds, "; "), "r1 2; r0 1; r2 2")
end)

t.test("a run of the same scores is the one that was packed last, but for another machine's", function()
  local made, to = fill "again-one", folder .. "/again-packed"
  local function put(id, machine, step_time)
    made:put { run_id = id, experiment = "again", row = "row", dataset = "text", seed = 1, scale = "small",
      device = "cpu", identity = 2, configuration = "c", status = "done", bits_per_byte = 1 / 3,
      machine = machine, step_time_ms = step_time, date = "2026-01-02" }
  end
  pack.folder(made.path, to)
  put("first", "", 5)
  put("second", "another", 5)
  local _, notes = pack.folder(made.path, to)
  local packed = store.at(folder, "again-packed")
  t.equal(#notes, 0)
  t.equal(packed:find("first").step_time_ms, "5")
  t.equal(packed:find("second").step_time_ms, "")
end)

t.test("a trial of another score, or that ended otherwise, is not packed over", function()
  local to, place = folder .. "/trials-packed", folder .. "/trials"
  local function pack_run(values)
    local run = { run_id = "first", experiment = "trials", row = "row", dataset = "text", seed = 1, scale = "small",
      device = "cpu", identity = 2, configuration = "c", status = "done", date = "2026-01-01" }
    for name, value in pairs(values) do run[name] = value end
    store.open(folder, "trials"):put(run)
    local _, notes = pack.folder(place, to)
    return table.concat(notes, "\n")
  end
  t.equal(pack_run { valid_bits_per_byte = 1 }, "")
  t.contains(pack_run { valid_bits_per_byte = 2 }, "valid_bits_per_byte is '1' in")
  t.contains(pack_run { valid_bits_per_byte = 1, status = "diverged" }, "status is 'done' in")
  local kept = store.at(folder, "trials-packed"):find "first"
  t.equal(kept.status .. " " .. kept.valid_bits_per_byte, "done 1")
end)

t.test("a table of another scale that was packed before keeps a name of its own", function()
  local from, to = fill("views").path, folder .. "/packed-views"
  local function put(scale)
    core.write_file(from .. "/table.csv", "row,scale,device\na," .. scale .. ",cpu\n")
  end
  for _, scale in ipairs { "study", "small", "small" } do
    put(scale)
    pack.folder(from, to)
  end
  t.equal(csv.read(to .. "/table.csv")[1].scale, "small")
  t.equal(csv.read(to .. "/table.study.csv")[1].scale, "study")
  t.check(not core.exists(to .. "/table.small.csv"), "a second table of one scale")
end)

t.test("verdicts are packed by claim and scale, and counted anew", function()
  local to = folder .. "/packed-claims"
  local function put(name, scale, claim, verdict)
    core.make_folder(folder .. "/" .. name)
    core.write_file(folder .. "/" .. name .. "/totals.csv", "claims\n9\n")
    core.write_file(folder .. "/" .. name .. "/claims.csv", ("paper,claim,verdict,scale,device,predicate_source\n"
      .. "rsa,%s,%s,%s,cpu,ours\n"):format(claim, verdict, scale))
    pack.folder(folder .. "/" .. name, to)
  end
  put("claims-one", "study", "rsa_p001", "fails")
  put("claims-two", "small", "rsa_p001", "holds")
  put("claims-three", "small", "rsa_p002", "holds")
  put("claims-four", "study", "rsa_p001", "undecided")
  local words = {}
  for i, record in ipairs(csv.read(to .. "/claims.csv")) do
    words[i] = ("%s %s %s"):format(record.claim, record.scale, record.verdict)
  end
  t.equal(table.concat(words, "; "),
    "rsa_p001 small holds; rsa_p001 study undecided; rsa_p002 small holds")
  local totals = csv.read(to .. "/totals.csv")
  t.equal(("%s %s; %s %s"):format(totals[1].scale, totals[1].holds, totals[3].scale, totals[3].undecided),
    "small 2; study 1")
end)

t.test("trials that are not packed with their experiment are named", function()
  for _, name in ipairs { "tuned", "tuned-trials", "tuned-trials-round1", "tuned-trials-more" } do fill(name) end
  local to = folder .. "/parted/tuned"
  local function notes()
    local _, list = pack.folder(folder .. "/tuned", to)
    return table.concat(list, "\n")
  end
  local line = "note: its trials in %s/tuned-trials%s are not packed; --script SCRIPT.lua packs all that a script needs"
  t.equal(notes(), line:format(folder, "") .. "\n" .. line:format(folder, "-round1"))
  pack.folder(folder .. "/tuned-trials", to .. "-trials")
  t.equal(notes(), line:format(folder, "-round1"))
  local _, in_place = pack.folder(folder .. "/tuned", folder .. "/tuned")
  t.equal(#in_place, 0)
end)

t.test("what is no folder of results is refused", function()
  t.fails(function() pack.folder(folder .. "/absent", folder .. "/x") end,
    "absent: no such folder of results")
  core.make_folder(folder .. "/empty")
  t.fails(function() pack.folder(folder .. "/empty", folder .. "/x") end,
    "empty: no CSV file to pack")
  local results = folder .. "/results"
  store.open(results, "one"):put { run_id = "first", experiment = "one", row = "row", seed = 1, identity = 2 }
  t.fails(function() pack.folder(results .. "/one/", results) end,
    ("%s: is a folder of experiments, such as one; pack into %s/one"):format(results, results))
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
