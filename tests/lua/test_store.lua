-- The results store and the files below it: whole or absent, quoted, locked.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local store = require "longhaul.run.store"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

local function write(name, text)
  core.write_file(folder .. "/" .. name, text)
  return folder .. "/" .. name
end

t.test("the reference has every column of runs.csv and timings.csv", function()
  local text = core.read_file "docs/lua.md"
  for _, list in ipairs { store.columns, store.timing_columns } do
    for _, name in ipairs(list) do
      -- a metric of kinds of strings is told once for all kinds
      if not name:find "_bin%d$" then t.contains(text, "`" .. name .. "`") end
    end
  end
end)

t.test("fields come back as they went, whatever is in them", function()
  local odd = { 'say "hi"', "a,b", "two\nlines", "", " spaces ", "ünï" }
  local record = {}
  for i, text in ipairs(odd) do record["c" .. i] = text end
  local path = folder .. "/odd.csv"
  csv.write(path, { "c1", "c2", "c3", "c4", "c5", "c6" }, { record })
  local back = csv.read(path)[1]
  for i, text in ipairs(odd) do t.equal(back["c" .. i], text) end
end)

t.test("a row of one column without a value is a row", function()
  local path = folder .. "/one-column.csv"
  csv.write(path, { "error" }, { { error = "" }, { error = "a" }, {} })
  local records = csv.read(path)
  t.equal(#records, 3)
  t.equal(records[1].error .. records[2].error .. records[3].error, "a")
  t.equal(#(csv.rows(path)), 3)
end)

t.test("numbers keep all their digits", function()
  local path = folder .. "/numbers.csv"
  csv.write(path, { "x", "y", "z" }, { { x = 0.1 + 0.2, y = 1 / 0 * 0, z = 12345678901234567 } })
  local back = csv.read(path)[1]
  t.equal(tonumber(back.x), 0.1 + 0.2)
  t.equal(back.y, "")
  t.equal(back.z, "12345678901234567")
end)

t.test("a bad file is an error with its line", function()
  t.fails(function() csv.read(write("short.csv", "a,b\n1,2\n3\n")) end, "short.csv:3: 1 fields")
  t.fails(function() csv.read(write("quote.csv", 'a,b\n1,"2\n')) end,
    "quote.csv:3:1: a quote is never")
  t.fails(function() csv.read(write("inside.csv", 'a,b\n1,2"2\n')) end, "inside.csv:2:")
  t.fails(function() csv.read(folder .. "/absent.csv") end, "absent.csv")
end)

t.test("a row is replaced by its id and its factors become columns", function()
  local results = store.open(folder, "bench")
  results:put({ run_id = "a", identity = 2, seed = 1, row = "x", status = "failed", window = 32 },
    { "window" })
  results:put({ run_id = "b", identity = 2, seed = 1, row = "y", status = "done", window = 64 }, { "window" })
  results:put({ run_id = "a", identity = 2, seed = 1, row = "x", status = "done", window = 32 }, { "window" })
  local rows = results:rows()
  t.equal(#rows, 2)
  t.equal(results:find("a").status, "done")
  t.equal(results:find("b").window, "64")
  t.equal(results:find("c"), nil)
end)

t.test("a run that stands twice in a file, as of two that were joined by hand, is one", function()
  local made = store.open(folder, "joined")
  local function put(id, seed, status, mse, date)
    made:put { run_id = id, identity = 2, seed = seed, row = "x", configuration = "c", status = status, mse = mse,
      date = date }
  end
  put("a", 1, "done", 1, "2026-01-01")
  put("b", 2, "failed", nil, "2026-01-01")
  put("c", 3, "done", 3, "2026-01-01")
  local first = core.read_file(made.file)
  for _, id in ipairs { "a", "b", "c" } do made:forget(id) end
  put("b", 2, "done", 5, "2026-01-02")
  put("a", 1, "failed", nil, "2026-01-02")
  put("c", 3, "done", 6, "2026-01-02")
  core.write_file(made.file, first .. core.read_file(made.file):match "\n(.*)$")
  local function said()
    local texts = {}
    for i, row in ipairs(made:rows()) do texts[i] = row.run_id .. row.status .. row.mse end
    t.equal(#made:by_configuration().c, #texts)
    t.equal(made:find(made:rows()[1].run_id), made:rows()[1])
    return table.concat(texts, " ")
  end
  t.equal(said(), "adone1 bdone5 cdone6")
  put("a", 1, "done", 7, "2026-01-03")
  t.equal(said(), "adone7 bdone5 cdone6")
  t.equal(#csv.read(made.file), 5)
  put("d", 4, "done", 8, "2026-01-03")
  t.equal(said(), "adone7 bdone5 cdone6 ddone8")
  made:forget "b"
  t.equal(said(), "adone7 cdone6 ddone8")
  t.equal(#csv.read(made.file), 4)
end)

t.test("rows for reading alone have the fields of rows that are read whole", function()
  local path = write("lazy.csv", '\xEF\xBB\xBFa,b,c\n1,"x, ""y""\nz",\n,\'=1+1,3\n')
  local whole, lazy = csv.read(path), csv.rows(path)
  t.equal(#lazy, 2)
  for i, row in ipairs(whole) do
    for name, value in pairs(row) do t.equal(lazy[i][name], value) end
  end
  t.equal(lazy[2].b, "=1+1")
  t.equal(lazy[1].d, nil)
  t.fails(function() csv.rows(write("short.csv", "a,b\n1,2\n3\n")) end, "short.csv:3: 1 fields")
  t.fails(function() csv.rows(write("quote.csv", 'a,b\n1,"2\n')) end,
    "quote.csv:3:1: a quote is never")
  t.fails(function() csv.rows(write("lacks.csv", "a,b\n1,2\n"), { "c" }) end, "no column 'c'")
  t.equal(#csv.rows(write("empty.csv", "")), 0)
end)

t.test("a metric that is no number is an error with its line, when it is read", function()
  local head = "run_id,row,dataset,seed,scale,device,status,identity,accuracy,window\n"
  local function rows(accuracy)
    core.make_folder(folder .. "/numbers")
    write("numbers/runs.csv", head .. 'a,"two\nlines",d,1,s,cpu,done,2,0.5,0x10\nb,x,d,2,s,cpu,done,2,' .. accuracy
      .. ",y\n")
    return store.at(folder, "numbers"):rows()
  end
  for _, text in ipairs { "abc", "nan", "0x10", "1e", ".", "-", "1.5.2", "e5", "+inf", "INF", "'=1" } do
    local wrong = ("numbers/runs.csv:4: column 'accuracy': '%s' is no number"):format(text)
    t.fails(function() return csv.numbers(rows(text), "accuracy") end, wrong)
    t.fails(function() return rows(text)[1].accuracy end, wrong)
    t.equal(rows(text)[2].window, "y")
  end
  t.equal(csv.numbers(rows "'-1.5", "accuracy")[2], -1.5)
  for _, text in ipairs { "", "1", "-1.5", "+2.", ".5", "1e5", "1.25E-07", "inf", "-inf" } do
    t.equal(rows(text)[2].accuracy, text)
  end
end)

t.test("empty lines count where a line is named, and a file that has changed meanwhile has none", function()
  local path = write("lines.csv", "a,b\n\n1,2\n\n3,x\n")
  local function rows() return core.csv_rows(path, tostring, { b = true }) end
  t.fails(function() return rows()[1].b end, "lines.csv:5: column 'b': 'x' is no number")
  local read = rows()
  write("lines.csv", "a\n1\n2\n")
  t.fails(function() return read[1].b end, "lines.csv: changed while it was read")
end)

t.test("every column of numbers is read as such, and none of what the program calls things", function()
  core.make_folder(folder .. "/columns")
  local head = { "run_id", "row", "dataset", "scale", "device", "status", "code_version", "version",
    "ranks", "cores", "threads", "load", "step", "bits_per_token" }
  local path = write("columns/runs.csv", table.concat(head, ",") .. ",seed,identity\n" .. ("x,"):rep(#head) .. "1,2\n")
  local is_numeric = { version = true, ranks = true, cores = true, threads = true,
    load = true, step = true, bits_per_token = true }
  for _, name in ipairs(head) do
    t.equal(store.is_text_column(name), not is_numeric[name])
    local good, message = pcall(function() return store.at(folder, "columns"):rows()[1][name] end)
    t.equal(good, not is_numeric[name], name)
    if not good then t.contains(message, path .. ":2: column '") end
  end
  t.check(not (store.is_text_column "identity" or store.is_text_column "seed"), "numbers, which every reader asks for")
  t.check(not store.is_text_column "width", "a factor is what its texts are")
end)

t.test("a run without a seed is named when its file is read", function()
  core.make_folder(folder .. "/seedless")
  local head = "run_id,row,dataset,seed,scale,device,status,identity\na,x,d,1,s,cpu,done,2\nb,x,d,%s,s,cpu,done,2\n"
  local function rows(seed)
    write("seedless/runs.csv", head:format(seed))
    return store.at(folder, "seedless"):rows()
  end
  t.equal(#rows "2", 2)
  t.fails(function() rows "" end, "seedless/runs.csv: run b has no seed")
  t.fails(function() rows "x" end, "seedless/runs.csv:3: column 'seed': 'x' is no number")
end)

-- The rows of a file, the same as tables, and both in one array.
local function in_every_form(path)
  local lazy, whole, mixed = csv.rows(path), csv.read(path), {}
  for i, row in ipairs(lazy) do mixed[i] = i % 2 == 0 and row or whole[i] end
  return { lazy, whole, mixed }
end

t.test("rows are grouped by what they say, whatever form they have", function()
  local path = write("grouped.csv",
    "row,seed,bits,note\nb,1,0.5,=1\na,1,0x10,'=1\nb,2,,=1\na,1,x,'=1\nb,1, 7 ,=2\n")
  for _, rows in ipairs(in_every_form(path)) do
    local function places(list)
      local texts = {}
      for i, row in ipairs(list) do
        for place, other in ipairs(rows) do
          if row == other then texts[i] = place end
        end
      end
      return table.concat(texts, " ")
    end
    local groups = csv.groups(rows, { "row", "seed" })
    t.equal(#groups, 3)
    t.equal(places(groups[1]), "1 5")
    t.equal(places(groups[2]), "2 4")
    t.equal(places(groups[3]), "3")
    t.equal(places(csv.distinct(rows, { "row", "seed" })), "1 2 3")
    t.equal(places(csv.distinct(rows, { "note" })), "1 5") -- quoted or not, it says the same
    t.equal(places(csv.distinct(rows, { "nothing", "row" })), "1 2")
    t.equal(places(csv.distinct(rows, {})), "1")
    t.equal(csv.by(rows, "seed")["1"], rows[5])
    local bits = csv.numbers(rows, "bits")
    t.equal(bits[1], 0.5)
    t.equal(math.type(bits[2]), "integer")
    t.equal(bits[2], 16)
    t.equal(bits[3], nil)
    t.equal(bits[4], nil)
    t.equal(bits[5], 7)
    t.equal(next(csv.numbers(rows, "nothing")), nil)
  end
  t.equal(#csv.groups({}, { "row" }), 0)
  t.equal(#csv.distinct(csv.rows(write("header.csv", "row,seed\n")), { "row" }), 0)
  t.fails(function() csv.groups({ 1 }, { "row" }) end, "index")
end)

t.test("runs of a configuration, and the last that is done", function()
  local results = store.open(folder, "configurations")
  local function put(id, configuration, status, machine)
    results:put { run_id = id, identity = 2, seed = 1, configuration = configuration, status = status,
      machine = machine, kernels = "k" }
  end
  put("a", "c1", "done", "here")
  put("b", "c2", "failed", "here")
  t.equal(#results:by_configuration().c1, 1)
  put("c", "c1", "done", "there")
  put("d", "c1", "failed", "here")
  t.equal(#results:by_configuration().c1, 3) -- with what was appended
  t.equal(results:last_done("c1").run_id, "c")
  t.equal(results:last_done("c1", { machine = "here", kernels = "k" }).run_id, "a")
  t.equal(results:last_done("c1", { machine = "here", kernels = "other" }), nil)
  t.equal(results:last_done "c2", nil)
  t.equal(results:last_done "c3", nil)
end)

t.test("a run is added without reading the others, and replaced where it is there", function()
  local results, whole = store.open(folder, "added"), csv.read
  local function put(id, more)
    local row = { run_id = id, identity = 2, seed = 1, row = 'a "b", c', status = "done" }
    for name, value in pairs(more or {}) do row[name] = value end
    results:put(row)
  end
  local reads = 0
  put "run-a"
  csv.read = function(...)
    reads = reads + 1
    return whole(...)
  end
  put "run-b"
  t.equal(reads, 0)
  put("run-b", { seed = 7 }) -- is there
  put("run-c", { width = 8 }) -- has a column of its own
  t.equal(reads, 2)
  csv.read = whole
  local text = core.read_file(results.file)
  core.write_file(results.file, text:sub(1, -2)) -- as an editor may leave it
  put "run-d"
  local rows = results:rows()
  t.equal(#rows, 4)
  for i, id in ipairs { "run-a", "run-b", "run-c", "run-d" } do
    t.equal(rows[i].run_id, id)
    t.equal(rows[i].row, 'a "b", c')
  end
  t.equal(results:find("run-b").seed .. results:find("run-c").width, "78")
end)

t.test("what is known of the file goes on with a run that is added, in every form", function()
  local results = store.open(folder, "known")
  local function row(id, seed)
    return { run_id = id, identity = 2, row = "x", seed = seed, status = "done", mse = 0.5 }
  end
  results:put(row("a", 1))
  local rows = results:rows()
  results:put(row("b", 2))
  t.equal(results:rows(), rows) -- not read again
  t.equal(rows[2].mse, "0.5")
  t.equal(rows[2].error, "")
  t.equal(results:find("b").seed, "2")
  t.equal(table.concat(csv.texts(rows, "seed"), " "), "1 2")
  local again = store.at(folder, "known")
  t.equal(table.concat(csv.texts(again:rows(), "seed"), " "), "1 2")
  t.equal(csv.texts(again:rows(), "nothing")[1], nil)
  t.equal(table.concat(csv.texts({ { seed = 7 }, again:rows()[2] }, "seed"), " "), "7 2")
  local file = core.file_identity(results.file)
  for i = 3, 5 do
    results:put(row("c" .. i, i))
    t.equal(core.file_identity(results.file), file) -- appended to, not written anew
  end
  t.equal(table.concat(csv.texts(again:rows(), "seed"), " "), "1 2 3 4 5")
end)

t.test("a row that was cut off is no row, and gone with the next run", function()
  local results = store.open(folder, "torn")
  results:put { run_id = "a", identity = 2, seed = 1, row = "x", status = "done" }
  local text = core.read_file(results.file)
  for _, torn in ipairs { "\x18", "\x18,exp", '\x18,"x\n', "\x18" .. text:match "\n.(.*)$" } do
    core.write_file(results.file, text .. torn)
    t.equal(#results:rows(), 1)
    t.equal(#csv.read(results.file), 1)
    results:put { run_id = "b", identity = 2, seed = 1, row = "y", status = "done" }
    t.equal(#results:rows(), 2)
    t.equal(core.read_file(results.file):find("\x18", 1, true), nil)
  end
end)

t.test("so is one that something else cut, with a word", function()
  local results, write, told = store.open(folder, "cut"), io.stderr, ""
  for _, id in ipairs { "a", "b" } do
    results:put { run_id = id, identity = 2, seed = 1, row = "x", status = "done" }
  end
  core.write_file(results.file, core.read_file(results.file):sub(1, -20))
  io.stderr = { write = function(_, text) told = told .. text end }
  local rows = results:rows()
  io.stderr = write
  t.equal(#rows, 1)
  t.contains(told, results.file .. ":3: the last line was cut and is left out")
  results:put { run_id = "b", identity = 2, seed = 1, row = "x", status = "done" }
  t.equal(table.concat(csv.texts(results:rows(), "run_id"), " "), "a b")
end)

t.test("a row that is being added is there once it is whole, whatever the clock says", function()
  local results, stamp = store.open(folder, "slow"), core.file_stamp
  results:put { run_id = "a", identity = 2, seed = 1, row = "x", status = "done" }
  results:put { run_id = "b", identity = 2, seed = 1, row = "y", status = "done" }
  local text = core.read_file(results.file)
  core.file_stamp = function() return "as ever" end
  core.write_file(results.file, (text:gsub("\nb", "\n\x18")))
  local reader = store.at(folder, "slow")
  t.equal(#reader:rows(), 1)
  core.write_file(results.file, text)
  t.equal(#reader:rows(), 2)
  core.file_stamp = stamp
end)

t.test("who have one settings share a store", function()
  local settings = { results = folder }
  t.equal(store.under(settings, "slow"), store.under(settings, "slow"))
  t.check(store.under(settings, "slow") ~= store.under(settings, "torn"), "of another experiment")
  t.check(store.under(settings, "slow") ~= store.under({ results = folder }, "slow"), "of other settings")
end)

t.test("the first columns are the fixed ones, in their order", function()
  local _, columns = csv.read(folder .. "/bench/runs.csv")
  for i, name in ipairs(store.columns) do t.equal(columns[i], name) end
  t.equal(columns[#columns], "window")
end)

t.test("a stale half-written file does no harm", function()
  core.write_file(folder .. "/bench/runs.csv.partial", "run_id,expe")
  local results = store.open(folder, "bench")
  results:put({ run_id = "c", identity = 2, seed = 1, row = "z", status = "done" })
  t.equal(#results:rows(), 3)
end)

t.test("results lie in a folder, in those in it, and in those in these", function()
  local top = folder .. "/depths"
  core.make_folder(top .. "/machine/experiment/curves/more")
  core.write_file(top .. "/machine/file", "")
  local paths = store.folders(top)
  for i, path in ipairs(paths) do paths[i] = path:sub(#folder + 2) end
  t.equal(table.concat(paths, " "), "depths depths/machine depths/machine/experiment")
end)

t.test("points of a curve after the checkpoint are dropped", function()
  local results = store.open(folder, "bench")
  results:write_curve("a", { { step = 10, loss_bits = 3 }, { step = 20, loss_bits = 2 } })
  t.equal(#results:read_curve("a", 10), 1)
  t.equal(#results:read_curve("nobody", 10), 0)
end)

t.test("a curve has columns of the model's own", function()
  local results = store.open(folder, "bench")
  local add, file = results:extend_curve("e", { { step = 1, layer_1_rsa_gate = 0.5 } },
    { "layer_1_rsa_gate" })
  add { step = 2, layer_1_rsa_gate = 0.25 }
  file:close()
  t.equal(results:read_curve("e", 9)[2].layer_1_rsa_gate, "0.25")
end)

t.test("a curve grows point by point, and a torn last line is left out and left alone", function()
  local results = store.open(folder, "bench")
  local add, file = results:extend_curve("d", { { step = 1, loss_bits = 3 } })
  add { step = 2, loss_bits = 2.5 }
  file:close()
  local tail <close> = assert(io.open(results:curve "d", "a"))
  tail:write "3,1."
  tail:close()
  local whole = core.read_file(results:curve "d"):match "^(.*\n)"
  -- cut within a field, within a row, within the header, at its end; where it stands is not known
  for torn, count in pairs { [whole .. "3,1."] = 2, [whole .. csv.line(store.curve_columns,
    { step = 3 }):sub(1, -2)] = 2, [whole .. '"'] = 2, ["step,lo"] = 0, [""] = 0, ["step\n1"] = 0,
    ["step\n1\n"] = 1, ["step\n1\n2"] = 1 } do
    core.write_file(results:curve "d", torn)
    local points = results:read_curve("d", 100)
    t.equal(#points, count)
    if count == 2 then t.equal(points[2].loss_bits, "2.5") end
    t.equal(core.read_file(results:curve "d"), torn)
  end
end)

t.test("the last whole point of a curve that is being written", function()
  local made = store.open(folder, "last")
  t.equal(made:last_point "a", nil)
  made:write_curve("a", {})
  t.equal(made:last_point "a", nil)
  local function last(text)
    write("last/curves/a.csv", "step,loss_bits,layer_0_rsa_gate\n" .. text)
    local point = made:last_point "a"
    return ("%s %s %s"):format(point.step, point.loss_bits, point.layer_0_rsa_gate)
  end
  t.equal(last "1,3,\n", "1 3 nil")
  t.equal(last "1,3,\n2,2.5,0.5\n3,1.", "2 2.5 0.5")
  core.make_folder(made:curve "b")
  t.equal(made:last_point "b", nil)
end)

t.test("a finished run that begins again is not taken for one whose row was lost", function()
  local lost = require "longhaul.run.lost"
  local results = store.open(folder, "again")
  results:put { run_id = "a", identity = 2, seed = 1, row = "x", status = "done" }
  results:write_probes("a", { { name = "gate", value = 1 } })
  results:forget "a"
  t.equal(results:find "a", nil)
  t.check(not lost.is({ id = "a" }, results))
  results:write_probes("a", { { name = "gate", value = 1 } })
  t.check(lost.is({ id = "a" }, results))
end)

t.test("a file that lacks what readers need is refused by its name", function()
  local results = store.open(folder, "lacking")
  for name, text in pairs { timings = "round,configuration,date,step_time_ms\n1,a,2026,\n",
    curves = "run_id,step\na,1\na,x\n" } do
    write("lacking/" .. name .. ".csv", text)
  end
  write("lacking/curves/d.csv", "loss_bits\n1\n")
  core.make_folder(folder .. "/lacking/probes")
  write("lacking/probes/d.csv", "gate,value\na,1\n")
  local function ignore() end
  t.fails(function() results:timings(ignore) end,
    "timings.csv: record 1: column 'step_time_ms': '' is no number")
  t.fails(function() results:read_curve("a", 10) end,
    "curves.csv: record 2: column 'step': 'x' is no number")
  t.fails(function() results:read_curve("d", 10) end, "d.csv: there is no column 'step'")
  for wrong, column in pairs { ["0x10"] = "peak_memory_bytes", abc = "tokens_per_second", nan = "step_time_q1_ms",
    ["0.3 of 2"] = "load", two = "threads", ["2 cores"] = "cores", ["1k"] = "tokens_per_step" } do
    write("lacking/timings.csv", ("round,configuration,date,step_time_ms,%s\n1,a,2026,inf,\n1,a,2026,2,%s\n")
      :format(column, wrong))
    t.fails(function() store.open(folder, "lacking"):timings(ignore) end,
      ("timings.csv: record 2: column '%s': '%s' is no number"):format(column, wrong))
  end
  write("lacking/curves/e.csv", "step,loss_bits\n1,\n2,-inf\n3,none\n")
  t.fails(function() results:read_curve("e", 10) end, "e.csv: record 3: column 'loss_bits': 'none' is no number")
  t.fails(function() results:read_probes "d" end, "d.csv: there is no column 'name'")
end)

t.test("a number beside a row is one, or the file is refused: a model's own, too", function()
  local results = store.open(folder, "beside")
  core.make_folder(folder .. "/beside/probes")
  write("beside/curves/a.csv", "step,layer_0_rsa_gate,test_accuracy\n1,,inf\n2,0.5,x\n")
  t.fails(function() results:read_curve("a", 10) end, "a.csv: record 2: column 'test_accuracy': 'x' is no number")
  write("beside/curves.csv", "run_id,step,layer_0_rsa_gate\nb,1,0.5\nb,inf,0.5\nc,1,half\n")
  t.fails(function() results:read_curve("b", 10) end, "curves.csv: record 3: column 'layer_0_rsa_gate': 'half'")
  write("beside/curves.csv", "run_id,step\nb,1\nb,inf\n")
  t.equal(#results:read_curve("b", 10), 1)
  write("beside/probes/a.csv", "name,value\ncontext_kept_1,3.5\ncontext_kept_2,\ngate,-inf\n")
  local values = results:read_probes "a"
  t.equal(values.context_kept_1, 3.5)
  t.equal(values.context_kept_2, nil)
  t.equal(values.gate, -math.huge)
  for _, name in ipairs { "probes/a", "probes" } do
    os.remove(folder .. "/beside/probes/a.csv")
    write("beside/" .. name .. ".csv", "run_id,name,value\na,context_kept_1,3.5\na,context_kept_2,3.x\n")
    t.fails(function() results:read_probes "a" end, "record 2: column 'value': '3.x' is no number")
  end
end)

t.test("a column may have any name", function()
  local path = folder .. "/columns.csv"
  csv.write(path, { "=a", "-b", "'c" }, { { ["=a"] = 1, ["-b"] = 2, ["'c"] = 3 } })
  local rows, columns = csv.read(path)
  t.equal(table.concat(columns, " "), "=a -b 'c")
  t.equal(rows[1]["=a"] .. rows[1]["-b"] .. rows[1]["'c"], "123")
end)

t.test("runs of nobody knows when are no days", function()
  local summary = require "longhaul.report.summary"
  t.equal(summary.days {}, "")
  t.equal(summary.days { {}, { date = "2026-11-20T10" }, { date = "" } }, "2026-11-20")
end)

t.test("a lock is given back when its scope ends", function()
  do local lock <close> = core.lock(folder .. "/lock", true) t.check(lock, "not locked") end
  local again <close> = core.lock(folder .. "/lock", true)
  t.check(again, "not locked again")
end)

-- At the program's end the collector closes them in an order of its own, while finalizers of a script still run.
t.test("what the collector has closed says so", function()
  require "longhaul"
  core.write_file(folder .. "/closed.csv", "a\n1\n")
  local rows, options = core.csv_rows(folder .. "/closed.csv", tostring), core.options("train", "train", {})
  local source = getmetatable(rows[1]).source
  for _, closed in ipairs { source, options } do getmetatable(closed).__gc(closed) end
  t.fails(function() return rows[1].a end, "the rows' file is closed")
  t.fails(function() return core.csv_texts(rows, "a") end, "the rows' file is closed")
  t.fails(function() return options:text() end, "the options are closed")
  t.fails(function() core.check_train(options) end, "the options are closed")
end)

-- Whether a process waits for a lock on the file of this number.
local function is_awaited(number)
  local locks = io.open "/proc/locks"
  local found = locks and locks:read "a":find(("-> POSIX [^\n]*:%s "):format(number))
  if locks then locks:close() end
  return found
end

t.test("a lock on a file that its holder removes is nobody's", function()
  local path, script = folder .. "/removed", folder .. "/waits.lua"
  core.write_file(script, ([[
    local core = require "longhaul.core"
    local lock <close> = core.lock(%q)
    print "has it"
    io.stdout:flush()
    core.sleep(60)]]):format(path))
  local other
  do
    local lock <close> = core.lock(path)
    local number = core.file_identity(path):match "%d+$"
    other = core.start_process { "lua", script }
    for _ = 1, 1000 do
      if is_awaited(number) then break end
      core.sleep(0.01)
    end
    core.remove_file(path)
  end
  local said
  repeat
    core.await({ other }, 10)
    said = other:read()
  until said ~= ""
  t.equal(said, "has it\n")
  t.check(not core.lock(path, true), "two processes have one lock")
  other:close()
end)

t.test("a hash is the same for the same text only", function()
  t.equal(core.hash "a", core.hash "a")
  t.check(core.hash "a" ~= core.hash "b", "two texts, one hash")
  t.equal(#core.hash "", 32)
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
