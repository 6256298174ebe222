-- What a reader is told in place of the name of a folder or a file: experiments by what they ask or which table of a
-- paper they repeat, tables and drawings by what they show. A name that says nothing known stays as it is.
local comparison = require "longhaul.report.comparison"
local csv = require "longhaul.run.csv"
local kinds = require "longhaul.report.kinds"
local metrics = require "longhaul.run.metrics"
local place = require "longhaul.report.place"
local quote = require "longhaul.run.quote"

local titles = {}

-- ---- experiments ----

local function words(name) return (name:gsub("[_-]", " ")) end

local papers

-- The title of a paper of results/published/, nil of any other.
local function paper_title(paper)
  local path = place.find "results/published/papers.csv"
  papers = papers or csv.by(path and csv.read(path) or {}, "paper")
  return papers[paper] and papers[paper].title
end

--- The title of a paper by its short name, which stays where the list does not know it.
function titles.paper(paper) return paper_title(paper) or paper end

-- The title of a paper and its table or figure, of a name such as "sun-table1".
local function of_paper(name)
  local paper, part = name:match "^([%w_]+)-(.+)$"
  local title = paper and paper_title(paper)
  if not title then return nil end
  local kind, number = part:match "^(%a+)(%d+%a*)$"
  if kind == "table" or kind == "figure" then
    part = ("%s %s"):format(kind == "table" and "Table" or "Figure", number)
  end
  return ("%s, %s"):format(title, words(part))
end

-- A question of the comparison: its short title, and what it asks.
local function of_comparison(name)
  for _, entry in ipairs(comparison.experiments) do
    if entry[1] == name then return entry[2], entry[3] end
  end
end

--- An experiment in a few words, for titles of its tables and drawings.
function titles.experiment(name) return of_comparison(name) or of_paper(name) or name end

--- The heading of an experiment: its name, by which commands know it, and what it is.
function titles.heading(name)
  local base, round = name:match "^(.-)%-trials(.*)$"
  local title, asks = of_comparison(base or name)
  local what = title and ("%s, %s"):format(title, asks) or of_paper(base or name)
  if base then
    local which = round:gsub("^%-round(%d+)$", " (round %1)")
    what = ("trials that chose the settings of %s%s"):format(title or what or base, which)
  end
  return what and ("%s: %s"):format(name, what) or name
end

-- ---- tables ----

local tables = {
  table = "results",
  bench = "benchmarks",
  best_at = "the best after equal times and after equal FLOPs",
  exponents = "exponents by which measures grow",
  samples = "texts that models wrote",
}

--- A table by the name of its file: "language: the best after equal times and after equal FLOPs". A view of another
--- scale names it.
function titles.table(experiment, file)
  local stem, view = file:match "^([^.]+)%.?(.*)$"
  local title = ("%s: %s"):format(titles.experiment(experiment), tables[stem] or words(stem))
  return view ~= "" and ("%s (scale %s)"):format(title, view) or title
end

-- ---- drawings ----

-- What drawings show whose names do not begin with their kind, as scripts call parts of profiles.
local parts = {
  kept = "bits of a token by how many tokens are kept before it",
  position = "bits of a token by its place in the document",
  changed = "what one other token costs, by how far back it stands",
  recall = "right answers by when the token was last read",
}

-- A stem without the data set that it ends in, and that data set.
local function without_dataset(stem, datasets)
  for _, dataset in ipairs(datasets) do
    local ending = quote.file_name(dataset)
    local before = stem:sub(1, -#ending - 2)
    if before ~= "" and stem:sub(-#ending) == ending and stem:sub(#before + 1, #before + 1):find "[-_]" then
      return before, dataset
    end
  end
  return stem
end

-- What a drawing of a kind shows; the name may tell the metric that it is over.
local function of_kind(stem)
  local name, rest = stem:match "^(%a+)_?(.*)$"
  local kind = name and kinds.find(name)
  if not kind then return nil end
  if name == "pareto" then
    return "quality against " .. (metrics.is_known(rest) and metrics.quantity(rest) or "cost")
  end
  return rest == "" and kind.says or ("%s: %s"):format(words(rest), kind.says)
end

--- A drawing beside which nothing says its title, by the name of its file: "language, books: quality against step
--- time".
function titles.chart(experiment, stem, datasets)
  local name, dataset = without_dataset(stem, datasets)
  local title = titles.experiment(experiment)
  return ("%s%s: %s"):format(title, dataset and ", " .. dataset or "", parts[name] or of_kind(name) or words(name))
end

return titles
