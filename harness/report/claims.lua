-- Claims: sentences of the papers as predicates over cells. One predicate judges what the paper
-- prints and what was measured here; docs/claims.md says what the verdicts mean.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local evidence = require "longhaul.report.evidence"
local lists = require "longhaul.run.lists"
local published = require "longhaul.report.published"
local summary = require "longhaul.report.summary"
local totals = require "longhaul.report.totals"
local views = require "longhaul.report.views"

local claims = {}

-- What verdicts on claims of one's own have besides: the name of the experiment that makes them.
local more_columns = { "script" }

claims.columns = { "paper", "claim", "verdict", "measured", "expected", "experiment", "scale",
  "seeds", "note", "strict", "direction", "margin", "standard_error", "p_value", "lacking", "kind",
  "published", "predicate_source", "scale_changes", "data", "device", "sentence" }

-- ---- words ----

local function joined(set, between) return table.concat(lists.keys(set), between or ", ") end

local function kinds_of(judgement)
  local kinds = joined(judgement.kinds)
  return kinds == "" and "arithmetic" or kinds
end

-- "B(xl:512, arxiv) 1.331"; a constant alone.
local function side(name, value)
  return tonumber(name) and name or ("%s %.4g"):format(name, value)
end

-- Whether seeds or rounds of step times tell how far the margin may be off.
local function has_error(leaf) return (leaf.seeds or leaf.rounds or 0) > 1 end

-- The comparison that the verdict hangs on, and how many of them hold.
local function text_of(judgement)
  local leaf = judgement.closest
  if not leaf then return "" end
  local text = ("%s %s %s: margin %+.3g%s"):format(side(leaf.names[1], leaf.a), leaf.sign,
    side(leaf.names[2], leaf.b),
    leaf.margin, has_error(leaf) and (" ±%.2g"):format(leaf.error) or "")
  if judgement.compared == 1 then return text end
  return ("%s; %d of %d comparisons hold"):format(text, judgement.held, judgement.compared)
end

local most_named = 3

-- "not run: B(xl:512, arxiv), B(xl:1024, arxiv) and 4 more; ..."
local function lacking_text(lacking)
  local by_reason, reasons, seen = {}, {}, {}
  for _, lack in ipairs(lacking) do
    local name, reason = table.unpack(lack)
    if not by_reason[reason] then
      by_reason[reason] = {}
      reasons[#reasons + 1] = reason
    end
    if not seen[name] then table.insert(by_reason[reason], name) end
    seen[name] = true
  end
  for i, reason in ipairs(reasons) do
    reasons[i] = ("%s: %s"):format(reason, summary.first(by_reason[reason], most_named))
  end
  return reasons
end

-- ---- judging ----

-- What is judged here: the sentence, where the published predicate is not what it says.
local function asked(claim) return claim.asks or claim.holds end

-- Why a claim could not fail here; nil where it could.
local function untested_reason(claim, strict, source, scale)
  if kinds_of(strict) == "arithmetic" then return "arithmetic of printed numbers" end
  if claim.of_size and scale ~= "paper" then return "only full size tells: " .. claim.of_size end
  if type(claim.untested) == "string" then return claim.untested end
  if claim.untested and claim.untested[1]:judge(source).outcome then return claim.untested[2] end
end

-- Verdict, the weaker form's verdict, and notes.
local function verdict_of(claim, strict, source, scale)
  local untested = untested_reason(claim, strict, source, scale)
  if untested then return "untested", nil, { untested } end
  if scale == "smoke" then return "undecided", nil, { "a smoke run is too short to decide" } end
  local direction = claim.direction and claim.direction:judge(source, claim.planned_seeds).verdict
  local notes = {}
  if strict.verdict == "undecided" then
    notes = lacking_text(strict.lacking)
    if strict.reason then table.insert(notes, 1, strict.reason) end
  elseif strict.verdict == "fails" and direction == "holds" then
    return "in direction", direction,
      { claim.direction_says or "the signs are as printed, a printed bound is missed" }
  end
  return strict.verdict, direction, notes
end

-- The experiments of a predicate's cells, why some of their runs are not those of today, and what
-- they read.
local function sources_of(claim, source)
  local names, doubts, data = {}, {}, {}
  asked(claim):each_cell(function(cell)
    names[cell.experiment.name] = true
    local doubt = source:doubt(cell)
    if doubt then doubts[doubt] = true end
    for _, text in ipairs(source:data(cell)) do data[text] = true end
  end)
  return joined(names), joined(doubts), joined(data, "; ")
end

local function printed_word(claim, printed)
  local outcome = claim.holds:judge(printed).outcome
  if outcome == nil then return "" end
  return outcome and "holds" or "does not hold"
end

local function strict_word(outcome)
  if outcome == nil then return "" end
  return outcome and "holds" or "fails"
end

-- The paper that makes a claim, "" where it is a script's own, whatever it calls it.
local function paper_of(claim)
  local named = claim[1]:match "^(.*)_p%d+$"
  return claim.paper or named and published.claims(named)[claim[1]] and named or ""
end

--- One claim as a record of claims.csv. `source` and `printed` are of evidence.measured and
--- evidence.printed.
function claims.judge(claim, settings, source, printed)
  local id = claim[1]
  local paper = paper_of(claim)
  local prose, predicate = published.claims(paper)[id] or {}, published.predicates()[id]
  local strict = asked(claim):judge(source, claim.planned_seeds)
  local verdict, direction, notes = verdict_of(claim, strict, source, settings.scale)
  local experiments, doubts, data = sources_of(claim, source)
  if doubts ~= "" then notes[#notes + 1] = "of runs that are not today's: " .. doubts end
  if claim.note then notes[#notes + 1] = claim.note end
  local leaf = strict.closest or {}
  local comparison = prose.comparison ~= "" and prose.comparison or predicate
    and predicate.predicate
  return {
    paper = paper, claim = id, verdict = verdict, measured = text_of(strict),
    expected = claim.expected or comparison or "",
    experiment = experiments, scale = settings.scale, seeds = strict.seeds,
    note = table.concat(notes, "; "),
    strict = strict_word(strict.outcome), direction = direction, margin = leaf.margin,
    standard_error = has_error(leaf) and leaf.error or nil, p_value = leaf.p_value,
    lacking = #strict.lacking, kind = kinds_of(strict),
    published = predicate and printed_word(claim, printed) or "", predicate_source = predicate
      and "paper" or "ours",
    scale_changes = claim.scale_changes, data = data, device = settings.device,
    sentence = claim.says
      or prose.quantity or "",
  }
end

-- Whether an experiment of some claim's cells has runs.
local function any_runs(experiment, source)
  local found = false
  for _, claim in ipairs(experiment.claims) do
    asked(claim):each_cell(function(cell) found = found or #source.results(cell.experiment).order > 0 end)
  end
  return found
end

--- All claims of an experiment as records; then whether there are runs that they could be judged by.
function claims.judge_all(experiment, settings)
  local source, printed, records = evidence.measured(settings), evidence.printed(), {}
  for i, claim in ipairs(experiment.claims) do
    records[i] = claims.judge(claim, settings, source, printed)
    local is_own = not published.claims(records[i].paper)[claim[1]]
    records[i].script = is_own and experiment.name or nil
  end
  return records, any_runs(experiment, source)
end

-- ---- the file ----

local function key_of(record) return totals.key(record, record.scale, record.script) end

-- Those of a file without devices are by other rules.
local function merge(path, records)
  local fresh, merged = {}, {}
  for _, record in ipairs(records) do
    fresh[key_of(record)], fresh[totals.key(record, record.scale)] = true, true
  end
  for _, old in ipairs(core.exists(path) and (csv.read(path)) or {}) do
    if old.script == "" then old.script = nil end
    if old.device and not fresh[key_of(old)] then merged[#merged + 1] = old end
  end
  table.move(records, 1, #records, #merged + 1, merged)
  table.sort(merged, function(a, b) return key_of(a) < key_of(b) end)
  return merged
end

--- Records verdicts in claims.csv and totals.csv of a folder, in place of older ones of the same claim,
--- scale, device and, where the claim is a script's own, script; gives the paths. Who shares the folder with
--- others holds its lock.
function claims.write(folder, records)
  local path = folder .. "/claims.csv"
  local merged = merge(path, records)
  csv.write(path, views.columns(claims.columns, more_columns, merged), merged)
  return { path, totals.write(folder) }
end

local function print_verdicts(records, settings)
  print(("\nClaims at scale %s on %s"):format(settings.scale, settings.device))
  local function line(...) print(("  %-12s  %-18s %s"):format(...)) end
  for _, record in ipairs(records) do
    local printed = record.published == "does not hold" and " (does not hold in the paper's tables)"
      or ""
    line(record.verdict, record.claim, record.sentence .. printed)
    if record.measured ~= "" then line("", "", "here: " .. record.measured) end
    if record.note ~= "" then line("", "", record.note) end
  end
end

--- Judges all claims of an experiment, prints verdicts and totals and records them in claims.csv
--- and totals.csv of <results>/claims; gives the paths. Verdicts over options that `--set` changed are
--- not the script's: they are printed alone. Where nothing was run at this scale there are none.
function claims.check(experiment, settings)
  local records, are_any = claims.judge_all(experiment, settings)
  if not are_any then
    print(("\nno claim is judged: there are no runs at scale %s on %s"):format(settings.scale, settings.device))
    return {}
  end
  print_verdicts(records, settings)
  if experiment.changed then
    print("\n" .. views.changed_text(experiment.changed) .. " No verdict is recorded.")
    return {}
  end
  local folder = settings.results .. "/claims"
  core.make_folder(folder)
  local lock <close> = core.lock(folder .. "/.lock")
  print("\n" .. totals.text(totals.of(records)))
  return claims.write(folder, records)
end

return claims
