-- What stands beside every shown number: the data that were read, scale, seeds, machine and source.
-- `runs` are the rows of runs.csv behind a table or a chart.
local csv = require "longhaul.run.csv"
local stand_in = require "longhaul.run.stand_in"
local summary = require "longhaul.report.summary"

local provenance = {}

local function count_of(count, unit) return ("%s %s%s"):format(count, unit, count == "1" and "" or "s") end

-- Old rows, which do not say, are of one process.
local function ranks_of(record)
  local ranks = tostring(record.ranks or "")
  return ranks ~= "" and ranks or "1"
end

-- Whether two rows say the same of a column; old ones do not say anything.
local function is_same(name, a, b)
  local one, other = tostring(a[name] or ""), tostring(b[name] or "")
  return one == "" or other == "" or one == other
end

-- A run whose configuration was timed on another machine than trained it, with other kernels, or with
-- another number of threads or ranks, and on which: "AMD EPYC, cpu-avx2, 2 threads", or, on the same
-- machine, "cpu-avx2, 2 threads".
local function with_timed(run, time)
  local threads, kernels, ranks = tostring(time.threads or ""), time.kernels or "", ranks_of(time)
  local is_near = is_same("machine", run, time)
  local is_shared = ranks ~= ranks_of(run)
  if is_near and is_same("kernels", run, time) and not is_shared and is_same("threads", run, time) then return run end
  local on = { not is_near and time.machine or nil }
  if kernels ~= "" then on[#on + 1] = kernels end
  if threads ~= "" then on[#on + 1] = count_of(threads, "thread") end
  if is_shared or ranks ~= "1" then on[#on + 1] = count_of(ranks, "rank") end
  return setmetatable({ timed_on = table.concat(on, ", ") }, { __index = run })
end

--- The finished runs of a group of results, and where those were timed that were trained elsewhere.
function provenance.runs_of_group(results, group)
  if not results.times then return group.done end
  local idle, _, busy = results.times:latest(group.configuration)
  local time = idle or results.shows_busy and busy
  if not time then return group.done end
  local runs = {}
  for i, run in ipairs(group.done) do runs[i] = with_timed(run, time) end
  return runs
end

--- The finished runs that results (report/results.lua) show.
function provenance.runs_of(results)
  local runs = {}
  for _, group in ipairs(results.order) do
    local own = provenance.runs_of_group(results, group)
    table.move(own, 1, #own, #runs + 1, runs)
  end
  return runs
end

--- Whether a run is of a commit as it stands: its build says so, and old rows, which did not, wrote
--- it behind the version.
function provenance.is_clean(run)
  local dirty, version = run.dirty or "", run.code_version or ""
  local is_known = version ~= "" and version ~= "unknown"
  return dirty == "no" or (dirty == "" and is_known and not version:find "dirty")
end

-- `groups`: of runs that say the same of their source.
local function changed(groups)
  local count, all = 0, 0
  for _, runs in ipairs(groups) do
    all = all + #runs
    if not provenance.is_clean(runs[1]) then count = count + #runs end
  end
  if count == 0 then return "" end
  return (" (%s of changed or unknown source)"):format(count == all and "all"
    or ("%d of %d runs"):format(count, all))
end

local function machine_of(runs)
  local machine, threads = summary.different(runs, "machine", 2),
    summary.different(runs, "threads", 3)
  local ranks, timed = summary.different(runs, "ranks", 3), summary.different(runs, "timed_on", 3)
  if machine == "" then machine = "an unknown machine" end
  if threads ~= "" then machine = ("%s, %s"):format(machine, count_of(threads, "thread")) end
  if ranks ~= "" and ranks ~= "1" then machine = ("%s, %s"):format(machine, count_of(ranks, "rank")) end
  return timed ~= "" and ("%s (step times: %s)"):format(machine, timed) or machine
end

--- "Data: embedded generator (books). Measured on AMD EPYC, 2 threads, code 0123456789ab,
--- 2026-11-22."; nil where there are no runs.
function provenance.sentence(runs)
  if #runs == 0 then return nil end
  local groups = csv.groups(runs, { "data", "machine", "threads", "ranks", "timed_on",
    "code_version", "dirty" })
  local unlike = {}
  for i, alike in ipairs(groups) do unlike[i] = alike[1] end
  local data = summary.different(unlike, "data", 4)
  local code = summary.different(unlike, "code_version", 4)
  return ("Data: %s. Measured on %s, code %s%s, %s."):format(data ~= "" and data or "unknown",
    machine_of(unlike),
    code ~= "" and code or "unknown", changed(groups), summary.days(runs))
end

--- Whether the embedded generator made the data that a run read.
function provenance.is_generated(run) return stand_in.generated(run.data or "") ~= nil end

--- What a title calls the data of runs on `dataset`: its name or, where the embedded generator made
--- them, that.
function provenance.dataset(runs, dataset)
  local kind = stand_in.generated(summary.different(runs, "data", 1))
  if not kind then return dataset end
  return (kind == dataset or dataset == "generate:" .. kind) and "generated " .. kind
    or ("generated %s, as %s"):format(kind, dataset)
end

-- Longer than this the data would not fit into the line; in bytes.
local most_data = 64

-- The first data in a word or two, and how many others there are.
local function short_data(runs)
  local data = summary.different(runs, "data", 2)
  if #data <= most_data then return data end
  local first, others = summary.different(runs, "data", 1):match "^(.-); (%d+) more$"
  first = first or data
  if #first > most_data - 10 then
    first = first:sub(1, most_data - 10):gsub("[^%w)]+%w*$", "") .. " ..."
  end
  return others and ("%s; %s more"):format(first, others) or first
end

--- Data, scale, seeds and machine in the one line below a chart's title; "" where there are no
--- runs.
function provenance.line(runs, scale)
  if #runs == 0 then return "" end
  local data = short_data(runs)
  return table.concat({ data ~= "" and data or "unknown data", "scale " .. scale,
    summary.seeds(runs), machine_of(runs) },
    " · ")
end

return provenance
