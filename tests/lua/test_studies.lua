-- `make studies` and the table of hours in docs/studies.md name every script that a claim waits for.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local script = require "longhaul.script"
local t = dofile "tests/test.lua"

local settings = { scale = "study", results = "results", device = "cpu" }

-- The scripts of STUDIES in the Makefile, in its order.
local function studies()
  local lines = core.read_file("Makefile"):gsub("\\\n", " "):match "\nSTUDIES := ([^\n]+)"
  local list = {}
  for name in lines:gmatch "[%w_/]+" do list[#list + 1] = name end
  return list
end

-- The rows of the table of hours: names of scripts, of which those without a folder have the one before; claims; hours.
local function hours()
  local rows, section = {}, core.read_file("docs/studies.md"):match "\n## What it takes\n(.-)\n## "
  for cell, count, time in section:gmatch "\n| (`[^|]+) | (%d+) | %d+ | ([%d.]+) |" do
    local row, folder = { claims = tonumber(count), hours = tonumber(time), text = time, scripts = {} }, nil
    for name in cell:gmatch "`([^`]+)`" do
      folder = name:match "^(.-)/" or folder
      table.insert(row.scripts, folder .. "/" .. name:match "[^/]+$")
    end
    rows[#rows + 1] = row
  end
  return rows
end

-- Whether runs at this scale can decide a claim.
local function can_be_decided(claim) return not claim.of_size and type(claim.untested) ~= "string" end

-- The claims that runs can decide, each with the scripts whose rows it reads.
local function readers()
  local list = {}
  for _, claim in ipairs(script.load("experiments/claims.lua", settings).claims) do
    local reader = { claim = claim[1], scripts = {} }
    if can_be_decided(claim) then
      local judged = claim.asks or claim.holds
      judged:each_cell(function(cell) reader.scripts[cell.experiment.name:gsub("-", "/", 1)] = true end)
    end
    list[#list + 1] = reader
  end
  return list
end

local listed, rows, claims = studies(), hours(), readers()

t.test("every script that a claim reads is a study", function()
  local is_study = {}
  for _, name in ipairs(listed) do is_study[name] = true end
  for _, reader in ipairs(claims) do
    for name in pairs(reader.scripts) do
      t.check(is_study[name], ("%s reads %s, which STUDIES lacks"):format(reader.claim, name))
    end
  end
end)

t.test("every study is a script", function()
  for _, name in ipairs(listed) do t.check(core.exists(("experiments/%s.lua"):format(name)), name) end
end)

t.test("the table of hours has the studies in their order", function()
  local names = {}
  for _, row in ipairs(rows) do table.move(row.scripts, 1, #row.scripts, #names + 1, names) end
  t.equal(table.concat(names, " "), table.concat(listed, " "))
end)

t.test("every study says at its head how many hours it takes", function()
  for _, row in ipairs(rows) do
    local line = ("\n-- At `study` %s %s of two cores"):format(row.text, row.hours == 1 and "hour" or "hours")
    for _, name in ipairs(row.scripts) do t.contains(core.read_file(("experiments/%s.lua"):format(name)), line) end
  end
end)

t.test("the table of hours counts the claims, most for an hour first", function()
  local before = math.huge
  for _, row in ipairs(rows) do
    local count = 0
    for _, reader in ipairs(claims) do
      local reads = false
      for _, name in ipairs(row.scripts) do reads = reads or reader.scripts[name] ~= nil end
      count = count + (reads and 1 or 0)
    end
    local text = table.concat(row.scripts, ", ")
    t.check(row.claims == count, ("%s: %d claims, not %d"):format(text, count, row.claims))
    t.check(row.claims / row.hours <= before, text .. ": more claims for an hour than the row above")
    before = row.claims / row.hours
  end
end)

-- Every claim that a paragraph of docs/studies.md names, also by its number alone after another of the paper; what
-- is generated there names all of a verdict and says nothing of why.
local function named_claims()
  local prose = core.read_file("docs/studies.md"):gsub("<!%-%- begin generated.-<!%-%- end generated %-%->", "")
  local named, paper = {}, nil
  for before, number in prose:gmatch "([%w_]*)(p%d%d%d)%f[%W]" do
    paper = before ~= "" and before or paper
    named[paper .. number] = true
  end
  return named
end

-- Whether runs at `study` have something to say against a claim, or for it that they do not decide.
local function wants_a_word(record)
  if record.scale ~= "study" then return false end
  local missed = record.verdict == "fails" or record.verdict == "in direction"
  return missed or record.verdict == "undecided" and record.margin ~= ""
end

t.test("a claim that fails, or is open though some of it was measured, is spoken of", function()
  local named = named_claims()
  for _, record in ipairs((csv.read "results/reference/amd-epyc-2-cores/claims/claims.csv")) do
    if wants_a_word(record) then
      local text = ("%s: %s, and docs/studies.md does not say why"):format(record.claim, record.verdict)
      t.check(named[record.claim], text)
    end
  end
end)

t.test("at full size a claim is untested by its definition alone", function()
  local full, never = { scale = "paper", results = "results", device = "cpu" }, {}
  for _, claim in ipairs(script.load("experiments/claims.lua", full).claims) do
    if type(claim.untested) == "string" then never[#never + 1] = claim[1] end
  end
  table.sort(never)
  t.equal(table.concat(never, " "), "rsa_p023 rsa_p075")
end)

-- Three rows of two seeds: "a" passes "b" between half and three quarters, "c" passes "b" at the end, hardly apart.
local bits = {
  a = { { 3.0, 3.0 }, { 1.0, 1.1 }, { 0.5, 0.6 } },
  b = { { 2.0, 2.0 }, { 2.0, 2.0 }, { 2.0, 2.1 } },
  c = { { 4.0, 4.0 }, { 3.0, 3.0 }, { 1.5, 2.5 } },
}

t.test("pairs whose order was another before the end, and those of them that end apart", function()
  local folder = os.tmpname()
  os.remove(folder)
  core.make_folder(folder .. "/name")
  local runs, curves = {}, {}
  for row, by_step in pairs(bits) do
    for seed = 1, 2 do
      runs[#runs + 1] = { run_id = row .. seed, scale = "study", dataset = "books", row = row }
      for i, step in ipairs { 40, 75, 100 } do
        curves[#curves + 1] = { run_id = row .. seed, step = step, valid_bits = by_step[i][seed] }
      end
    end
  end
  csv.write(folder .. "/name/runs.csv", { "run_id", "scale", "dataset", "row" }, runs)
  csv.write(folder .. "/name/curves.csv", { "run_id", "step", "valid_bits" }, curves)
  local known = assert(loadfile "scripts/known-figures.lua")(folder .. "/")
  t.contains(known.order_by_steps { { "these", "name", "books" } }, "| these | 3 | 3 | 2 (1) | 1 (0) | 0.200 |")
  os.execute("rm -r '" .. folder .. "'")
end)

t.finish()
