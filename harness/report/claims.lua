-- Claims: sentences of the papers as checks on what was measured. A check reads the results through
-- a view that knows seeds and spread; a number that it lacks makes the claim undecided, not wrong.
local core = require "longhaul.core"
local csv = require "longhaul.csv"
local metrics = require "longhaul.metrics"
local published = require "longhaul.report.published"
local results = require "longhaul.report.results"

local claims = {}

claims.columns = { "paper", "claim", "verdict", "measured", "expected", "experiment", "scale",
  "seeds", "note" }

-- ---- what a check sees ----

---@class longhaul.evidence
local Evidence = {}
Evidence.__index = Evidence

local missing = {}

local function lack(text) error(setmetatable({ text = text }, missing), 0) end

--- The datasets that were measured, in the order of the script.
function Evidence:datasets() return { table.unpack(self.results.datasets) } end

--- The rows that were measured and match a Lua pattern ("^Rec:").
function Evidence:rows(pattern)
  local list, seen = {}, {}
  for _, group in ipairs(self.results.order) do
    if group.row:find(pattern or "") and not seen[group.row] then
      seen[group.row] = true
      list[#list + 1] = group.row
    end
  end
  return list
end

--- Mean over seeds; the claim is undecided where there is none. Without a dataset: mean over
--- datasets.
function Evidence:value(row, metric, dataset)
  local value = self.results:value(row, metric, dataset)
  if not value then
    lack(("no %s of row %s%s"):format(metric, row, dataset and " on " .. dataset or ""))
  end
  for _, name in ipairs(dataset and { dataset } or self:datasets()) do
    local _, seeds = self.results:values(row, metric, name)
    self.seeds = math.max(self.seeds, #seeds)
  end
  return value
end

--- Whether `row` is below `other`: "holds", "fails", or "undecided" when the difference is within
--- twice its standard error over paired seeds, or within `margin` (default 0.005; one seed: 0.01).
--- Then the text of the measurement.
function Evidence:lower(metric, row, other, dataset, margin)
  self:value(row, metric, dataset)
  self:value(other, metric, dataset)
  local mean, err, count = self.results:difference(metric, row, other, dataset)
  if not mean then lack(("rows %s and %s share no seed on %s"):format(row, other, dataset)) end
  local text = ("%s minus %s %s%s on %s"):format(row, other, metrics.difference(metric, mean),
    err and " ±" .. metrics.text(metric, err) or "", dataset)
  local noise = math.max(2 * (err or 0), margin or (err and 0.005 or 0.01))
  if math.abs(mean) <= noise then return "undecided", text end
  return mean < 0 and "holds" or "fails", text, count
end

--- The verdict of several: fails if one fails, else undecided if one is, else holds. Takes pairs
--- { verdict, text } and gives the joint verdict and text.
function Evidence:all(parts)
  local verdict, texts = "holds", {}
  for i, part in ipairs(parts) do
    texts[i] = part[2]
    if part[1] == "fails" or (part[1] == "undecided" and verdict == "holds") then
      verdict = part[1]
    end
  end
  if #parts == 0 then lack("nothing was measured") end
  return verdict, table.concat(texts, "; ")
end

--- `lower` on every measured dataset, or those named, as one verdict.
function Evidence:lower_everywhere(metric, row, other, datasets, margin)
  local parts = {}
  for _, dataset in ipairs(datasets or self:datasets()) do
    parts[#parts + 1] = { self:lower(metric, row, other, dataset, margin) }
  end
  return self:all(parts)
end

-- ---- checking ----

local function evidence(claim, experiment, settings)
  local name = claim.experiment or experiment.runs
  local rows = name == experiment.runs and #experiment.rows > 0 and experiment.rows or nil
  local found = results.open(settings.results, name, settings.scale, settings.device, rows)
  if rows then found = found:relative_to(experiment:baseline()) end
  return setmetatable({ results = found, seeds = 0 }, Evidence)
end

-- A smoke run shows that every row runs; its figures decide nothing.
local function decided(verdict, scale)
  if scale ~= "smoke" or verdict == "undecided" then return verdict end
  return "undecided", "a smoke run is too short to decide"
end

local function verdict_of(claim, seen, scale)
  if #seen.results.order == 0 then
    return "undecided", "", "the experiment has not been run at this scale"
  end
  local good, verdict, measured, note = pcall(claim.check, seen)
  if good then
    if type(verdict) == "boolean" then verdict = verdict and "holds" or "fails" end
    local final, reason = decided(verdict, scale)
    return final, measured or "", reason or note or claim.note or ""
  end
  if getmetatable(verdict) == missing then return "undecided", "", verdict.text end
  error(("%s: claim %s: %s"):format(claim.line, claim[1], verdict), 0)
end

--- One claim as a record of claims.csv.
function claims.judge(claim, experiment, settings)
  local paper = claim.paper or claim[1]:match("^(.*)_p%d+$") or ""
  local printed = paper ~= "" and published.claims(paper)[claim[1]] or nil
  local seen = evidence(claim, experiment, settings)
  local verdict, measured, note = verdict_of(claim, seen, settings.scale)
  return {
    paper = paper, claim = claim[1], verdict = verdict, measured = measured,
    expected = claim.expected or (printed and printed.comparison) or "",
    experiment = claim.experiment or experiment.name, scale = settings.scale, seeds = seen.seeds,
      note = note,
    sentence = claim.says or (printed and printed.quantity) or "",
  }
end

local function key_of(record)
  return table.concat({ record.paper, record.claim, record.experiment, record.scale }, "\n")
end

-- New verdicts replace older ones of the same claim, experiment and scale.
local function merge(path, records)
  local fresh, merged = {}, {}
  for _, record in ipairs(records) do fresh[key_of(record)] = true end
  for _, old in ipairs(core.exists(path) and (csv.read(path)) or {}) do
    if not fresh[key_of(old)] then merged[#merged + 1] = old end
  end
  for _, record in ipairs(records) do merged[#merged + 1] = record end
  table.sort(merged, function(a, b) return key_of(a) < key_of(b) end)
  return merged
end

local function print_verdicts(records, scale)
  print(("\nClaims at scale %s"):format(scale))
  for _, record in ipairs(records) do
    print(("  %-9s  %-18s %s"):format(record.verdict, record.claim, record.sentence))
    if record.measured ~= "" then
      print(("  %-9s  %-18s here: %s"):format("", "", record.measured))
    end
    if record.note ~= "" then print(("  %-9s  %-18s %s"):format("", "", record.note)) end
  end
end

--- Judges all claims of an experiment, prints the verdicts and records them in
--- <results>/claims/claims.csv; gives the path.
function claims.check(experiment, settings)
  local records = {}
  for i, claim in ipairs(experiment.claims) do
    records[i] = claims.judge(claim, experiment, settings)
  end
  print_verdicts(records, settings.scale)
  local folder = settings.results .. "/claims"
  core.make_folder(folder)
  local lock <close> = core.lock(folder .. "/.lock")
  csv.write(folder .. "/claims.csv", claims.columns, merge(folder .. "/claims.csv", records))
  return { folder .. "/claims.csv" }
end

return claims
