-- Tuning: the training options of every row are chosen among the same trials, of one seed or a few, by a
-- loss or score of the validation split. Trials are runs of an experiment of their own, which is run
-- before the one whose rows they decide; a row whose trials have ended trains with what did best.
local identity = require "longhaul.run.identity"
local metrics = require "longhaul.run.metrics"
local ranks = require "longhaul.run.ranks"
local store = require "longhaul.run.store"

local tuning = {}

-- What a seed of a trial ended with: its record, nil while it has not ended; then, where its data are not on this
-- machine and nobody can tell which run it is, why.
local function record_of(trial, seed, trials, results, settings)
  local good, made = pcall(identity.of, { experiment = trials.runs, row = trial, seed = seed,
    scale = settings.scale, device = settings.device })
  if not good then return nil, tostring(made) end
  return results:find(made.run_id)
end

-- What a trial ended with, nil while a seed has not ended: the status "done" where all seeds have that, else that
-- of the first that has another; `value`, the mean over seeds, where all have one. Then why, as record_of.
local function outcome_of(trial, by, ...)
  local status, sum = "done", 0
  for seed = 1, trial.seeds do
    local record, why = record_of(trial, seed, ...)
    if not record then return nil, why end
    if status == "done" then status = record.status end
    local value = record.status == "done" and tonumber(record[by])
    sum = sum and value and sum + value
  end
  return { status = status, value = sum and sum / trial.seeds }
end

-- Of the trials those that have ended well, the best first (of equals the one that was tried first), how
-- many failed, those of earlier rounds among them, and what the row waits for, if anything. A trial whose
-- round has too few survivors has ended.
local function ranking(row, trials, results, settings)
  local by, ended, list, unknown = row.tune.by, 0, {}, nil
  local failed = row.trials[1].failed_trials or 0
  local sign = metrics.better(by) == "min" and 1 or -1
  for place, trial in ipairs(row.trials) do
    local outcome, why
    if not trial.untuned then outcome, why = outcome_of(trial, by, trials, results, settings) end
    unknown = unknown or why
    if outcome or trial.left_out then ended = ended + 1 end
    if outcome and outcome.status == "failed" then failed = failed + 1 end
    local value = outcome and outcome.value
    if value then list[#list + 1] = { trial = trial, cost = sign * value, place = place } end
  end
  table.sort(list, function(a, b)
    if a.cost ~= b.cost then return a.cost < b.cost end
    return a.place < b.place
  end)
  if ended == #row.trials then return list, failed end
  return list, failed, unknown and "nobody can tell its trials without their data: " .. unknown
    or ("%d of its %d trials have ended"):format(ended, #row.trials)
end

-- "Lowest" or "Highest" of the numbers that were tried; nil of one between them, or of words.
local function end_of(tried, value)
  local least, greatest = math.huge, -math.huge
  for _, other in ipairs(tried) do
    local number = tonumber(other)
    if number then least, greatest = math.min(least, number), math.max(greatest, number) end
  end
  return value == least and "Lowest" or value == greatest and "Highest" or nil
end

-- "Lowest rate" where the chosen rate is the least of those tried: a better one may lie beyond.
local function edges_of(tune, values)
  local edges = {}
  for _, name in ipairs(tune.names) do
    local at = end_of(tune.axes[name], values[name])
    edges[#edges + 1] = at and ("%s %s"):format(at, name)
  end
  return edges
end

-- What became of a row's trials where none ended well: "2 diverged, 1 failed".
local function ends_of(row, trials, results, settings)
  local counts, names, texts = {}, {}, {}
  for _, trial in ipairs(row.trials) do
    local outcome = not trial.untuned and outcome_of(trial, row.tune.by, trials, results, settings)
    local name = outcome and (outcome.status == "done" and "without a " .. row.tune.by or outcome.status)
    if name and not counts[name] then names[#names + 1] = name end
    if name then counts[name] = (counts[name] or 0) + 1 end
  end
  for i, name in ipairs(names) do texts[i] = ("%d %s"):format(counts[name], name) end
  return table.concat(texts, ", ")
end

-- What the trials of a row say, a word: the number of the one with whose options it trains, "waits" while
-- not all have ended, "left_out" where the round before left too few, "none" where none ended well; then
-- how many failed, and what it waits for, or what became of them.
local function verdict_of(row, trials, results, settings)
  local list, failed, waits = ranking(row, trials, results, settings)
  if waits then return "waits", failed, waits end
  local chosen = list[row.place or 1]
  if chosen then return tostring(chosen.place), failed end
  if #list > 0 then return "left_out", failed end
  return "none", failed, ends_of(row, trials, results, settings)
end

-- Why a row is not tuned whose trials chose none.
local function lack_of(row, verdict, why)
  if verdict == "waits" then return why or "its trials have not all ended" end
  return ("none of its %d trials ended well%s"):format(#row.trials, why and (" (%s)"):format(why) or "")
end

-- Gives a row what its trials say; `failed` and `why` are known to the rank that has read them.
local function take(row, verdict, failed, why)
  local trial = row.trials[tonumber(verdict)]
  local tried = trial and (trial.tried or trial.tuned)
  row.verdict, row.left_out, row.failed_trials = verdict, verdict == "left_out", failed
  row.untuned = not tried and lack_of(row, verdict, why) or nil
  if not tried then
    row.tuned = nil
  elseif not row.tuned or row.tuned.values ~= tried.values then
    row.train = row.train:with(tried.values)
    row.tuned = { text = tried.text, values = tried.values, edges = edges_of(row.tune, tried.values) }
  end
end

-- The rows of an experiment that wait for trials or start from others, and whatever these depend on, each
-- once and behind what it depends on: { { row =, trials = the experiment of its trials } ... }.
local function in_order(experiment)
  local list, seen = {}, {}
  local function add(owner, row)
    if seen[row] then return end
    seen[row] = true
    if row.from then add(row.from.experiment, row.from.row) end
    for _, trial in ipairs(row.trials or {}) do add(owner.trials, trial) end
    if row.from or row.tune then list[#list + 1] = { row = row, trials = owner.trials } end
  end
  for _, row in ipairs(experiment.rows) do add(experiment, row) end
  return list
end

-- What a row that is not tuned itself waits for where it starts from one that is.
local function wait_for_source(row)
  local source = row.from.row
  row.untuned = source.untuned
    and ("it starts from \"%s\" (%s): %s"):format(source.label, source.dataset, source.untuned)
end

--- Gives the rows of an experiment, and those that they start from, the options that did best in their
--- trials, as far as these have ended under `settings` (results, scale, device); the others say in
--- `untuned` what they lack. A row of a round for which the round before left no options is `left_out`.
function tuning.settle(experiment, settings)
  for _, each in ipairs(in_order(experiment)) do
    local row, trials = each.row, each.trials
    if not row.tune then
      wait_for_source(row)
    elseif not (row.tuned and row.is_agreed) then
      take(row, verdict_of(row, trials, store.under(settings, trials.runs), settings))
    end
  end
end

--- The same on every rank: what rank 0 reads decides for all, whatever has ended since. A row has these options
--- from then on, since runs of it begin.
function tuning.agree(experiment, settings)
  local rows = in_order(experiment)
  local text = ranks.decide(function()
    tuning.settle(experiment, settings)
    local verdicts = {}
    for _, each in ipairs(rows) do
      verdicts[#verdicts + 1], each.row.is_agreed = each.row.verdict, each.row.tuned ~= nil
    end
    return table.concat(verdicts, " ")
  end)
  if ranks.first then return end
  local next_verdict = text:gmatch "%S+"
  for _, each in ipairs(rows) do
    if each.row.tune then take(each.row, next_verdict()) else wait_for_source(each.row) end
  end
end

-- The most rows that a sentence names one by one.
local few = 8

-- What rows are called, with the data set behind a label that several of `all` have.
local function names_of(rows, all)
  local counts, names = {}, {}
  for _, row in ipairs(all) do counts[row.label] = (counts[row.label] or 0) + 1 end
  for i, row in ipairs(rows) do
    names[i] = counts[row.label] > 1 and ("%s (%s)"):format(row.label, row.dataset) or row.label
  end
  return names
end

-- "LSTM rate=0.01; ...".
local function named(rows)
  local texts = names_of(rows, rows)
  for i, row in ipairs(rows) do texts[i] = ("%s %s"):format(texts[i], row.tuned.text) end
  return table.concat(texts, "; ")
end

-- "rate=0.003 in 40 rows; rate=0.01 in 24".
local function counted(rows)
  local counts, texts = {}, {}
  for _, row in ipairs(rows) do
    if not counts[row.tuned.text] then texts[#texts + 1] = row.tuned.text end
    counts[row.tuned.text] = (counts[row.tuned.text] or 0) + 1
  end
  table.sort(texts)
  for i, text in ipairs(texts) do
    texts[i] = ("%s in %d%s"):format(text, counts[text], i == 1 and " rows" or "")
  end
  return table.concat(texts, "; ")
end

-- The rows that wait for their trials, and why; nil where none does.
local function untuned(rows)
  local texts, count = {}, 0
  for _, row in ipairs(rows) do
    if row.untuned then
      count = count + 1
      texts[#texts + 1] = count <= few and ("%s (%s): %s"):format(row.label, row.dataset, row.untuned)
        or nil
    end
  end
  if count == 0 then return nil end
  return ("Not tuned and so not run: %s%s."):format(table.concat(texts, "; "), count > few
    and ("; and %d more"):format(count - few) or "")
end

-- "Chosen by valid_bits_per_byte among 5 of 6 trials a row (1 failed), halved in 3 rounds": a choice fails
-- in one round alone.
local function choice_text(row)
  local grid, failed = row.tune, row.failed_trials or 0
  local amount = ("%d trials a row"):format(grid.choices)
  if failed > 0 then amount = ("%d of %s (%d failed)"):format(grid.choices - failed, amount, failed) end
  local seeds = grid.seeds > 1 and (", each the mean of %d seeds"):format(grid.seeds) or ""
  local rounds = grid.rounds > 1 and (", halved in %d rounds"):format(grid.rounds) or ""
  return ("Chosen by %s among %s%s%s"):format(grid.by, amount, seeds, rounds)
end

-- "At the edge ...: 3 of 4 rows. Lowest rate: LSTM; GPT-2 (books). Highest rate: Feedback.": by edge the rows, or how
-- many where they are many; nil where none is.
local function edge_sentences(tuned)
  local edges, at, count = {}, {}, 0
  for _, row in ipairs(tuned) do
    if #row.tuned.edges > 0 then count = count + 1 end
    for _, edge in ipairs(row.tuned.edges) do
      if not at[edge] then edges[#edges + 1], at[edge] = edge, {} end
      table.insert(at[edge], row)
    end
  end
  if count == 0 then return nil end
  table.sort(edges)
  for i, edge in ipairs(edges) do
    local rows = at[edge]
    edges[i] = ("%s: %s."):format(edge, #rows > few and #rows .. " rows" or table.concat(names_of(rows, tuned), "; "))
  end
  return ("At the edge of what was tried, beyond which better may lie: %d of %d rows. %s"):format(count, #tuned,
    table.concat(edges, " "))
end

-- A sentence for the rows of each kind of choice, then those on the rows at an edge; none where no row is tuned.
local function chosen(rows)
  local sentences, texts, alike, tuned = {}, {}, {}, {}
  for _, row in ipairs(rows) do
    if row.tuned then
      local text = choice_text(row)
      if not alike[text] then texts[#texts + 1], alike[text] = text, {} end
      table.insert(alike[text], row)
      tuned[#tuned + 1] = row
    end
  end
  for i, text in ipairs(texts) do
    local those = alike[text]
    sentences[i] = ("%s: %s."):format(text, #those > few and counted(those) or named(those))
  end
  sentences[#sentences + 1] = edge_sentences(tuned)
  return sentences
end

--- What a table says of the rows that were tuned, and of those that were not; nil where no row is to
--- be tuned.
function tuning.sentence(rows)
  local sentences = chosen(rows)
  sentences[#sentences + 1] = untuned(rows)
  return #sentences > 0 and table.concat(sentences, " ") or nil
end

return tuning
