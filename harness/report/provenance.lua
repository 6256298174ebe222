-- What stands beside every shown number: the data that were read, scale, seeds, machine and source.
-- `runs` are the rows of runs.csv behind a table or a chart.
local csv = require "longhaul.run.csv"
local summary = require "longhaul.report.summary"

local provenance = {}

-- A run whose configuration was timed with another number of threads than trained it, and that.
local function with_timed_threads(run, time)
  if not time or tostring(time.threads) == tostring(run.threads) then return run end
  return setmetatable({ timed_threads = tostring(time.threads) }, { __index = run })
end

--- The finished runs that results (report/results.lua) show.
function provenance.runs_of(results)
  local runs = {}
  for _, group in ipairs(results.order) do
    local time = results.times and results.times:latest(group.configuration)
    for _, run in ipairs(group.done) do runs[#runs + 1] = with_timed_threads(run, time) end
  end
  return runs
end

--- Whether a run is of a commit as it stands: its build says so, and old rows, which did not, wrote
--- it behind the version.
function provenance.is_clean(run)
  local dirty, version = run.dirty or "", run.code_version or ""
  return dirty == "no" or (dirty == "" and not version:find "dirty" and version ~= "unknown")
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
  local timed = summary.different(runs, "timed_threads", 3)
  if machine == "" then machine = "an unknown machine" end
  return (threads ~= "" and ("%s, %s thread%s"):format(machine, threads, threads == "1" and "" or "s")
    or machine) .. (timed ~= "" and (" (step times: %s)"):format(timed) or "")
end

--- "Data: embedded generator (books). Measured on AMD EPYC, 2 threads, code 0123456789ab,
--- 2026-11-22."; nil where there are no runs.
function provenance.sentence(runs)
  if #runs == 0 then return nil end
  local groups = csv.groups(runs, { "data", "machine", "threads", "code_version", "dirty" })
  local unlike = {}
  for i, alike in ipairs(groups) do unlike[i] = alike[1] end
  local data = summary.different(unlike, "data", 4)
  local code = summary.different(unlike, "code_version", 4)
  return ("Data: %s. Measured on %s, code %s%s, %s."):format(data ~= "" and data or "unknown",
    machine_of(unlike),
    code ~= "" and code or "unknown", changed(groups), summary.days(runs))
end

--- What a title calls the data of runs on `dataset`: its name or, where the embedded generator made
--- them, that.
function provenance.dataset(runs, dataset)
  local data = summary.different(runs, "data", 1)
  local kind = data:match "^embedded generator %((.-)%)$"
    or data:match "^(.-) %(embedded generator%)$"
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
