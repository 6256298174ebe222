-- An experiment: rows to run, and the tables, charts and claims that are views of their results.
local checks = require "longhaul.checks"
local class = require "longhaul.run.class"
local context = require "longhaul.run.context"
local core = require "longhaul.core"
local evidence = require "longhaul.report.evidence"
local fields = require "longhaul.fields"
local grid = require "longhaul.grid"
local kinds = require "longhaul.report.kinds"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local names = require "longhaul.names"
local overrides = require "longhaul.overrides"
local predicate = require "longhaul.report.predicate"
local published = require "longhaul.report.published"
local reach = require "longhaul.run.reach"
local spec = require "longhaul.spec"
local summary = require "longhaul.report.summary"
local tune = require "longhaul.tune"

local experiment = {}

---@class longhaul.experiment
local Experiment = {}
local experiments = class.new("longhaul.experiment", Experiment)

--- More are a slip of the hand.
experiment.most_seeds = 100000

local function check_seeds(what, count)
  local number = math.tointeger(count)
  if not number or number < 1 or number > experiment.most_seeds then
    spec.fail(("%s must be a positive integer of at most %d"):format(what, experiment.most_seeds))
  end
  return number
end

--- Used by lh.experiment. `runs` names the experiment whose runs it shares.
function experiment.new(name, runs, scale)
  names.check("an experiment", name)
  names.check("an experiment", runs)
  return experiments.make({
    scale = scale, rows = {}, tables = {}, plots = {}, samples = {},
    claims = {}, fits = {}, sources = {},
    default_seeds = 1, changed = overrides.text(),
  }, { name = name, runs = runs })
end

--- Whether a value is an experiment.
experiment.is = experiments.is

-- ---- checking what a script says ----

local check_fields = checks.fields

-- ---- rows ----

local known_rows = setmetatable({}, { __mode = "k" })

-- Its rows by data set and label; a hundred thousand of them are looked at once each.
local function rows_of(self)
  local known = known_rows[self]
  if not known or known.count > #self.rows then
    known = { count = 0, by_dataset = {} }
    known_rows[self] = known
  end
  for i = known.count + 1, #self.rows do
    local row = self.rows[i]
    local labels = known.by_dataset[row.dataset] or {}
    known.by_dataset[row.dataset], labels[row.label] = labels, row
  end
  known.count = #self.rows
  return known.by_dataset
end

local function check_unique(self, label, dataset)
  local other = (rows_of(self)[dataset] or {})[label]
  if other then
    spec.fail(("row \"%s\" on %s is there already, from %s"):format(label, dataset, other.line))
  end
end

-- The row of this label: on `dataset`, else the only one, else that on `own`. `what` names it in messages,
-- `example` says how a data set is given.
local function row_called(owner, label, given, what, example)
  local found, names = {}, {}
  for _, row in ipairs(owner.rows) do
    if row.label == label then found[row.dataset], names[#names + 1] = row, row.dataset end
  end
  if #names == 0 then spec.fail(("%s: no earlier row is called '%s'"):format(what, label)) end
  if given.dataset and not found[given.dataset] then
    spec.fail(("%s: row '%s' is not on data set '%s'%s"):format(what, label, tostring(given.dataset),
      core.did_you_mean(tostring(given.dataset), names)))
  end
  local meant = found[given.dataset or #names == 1 and names[1] or given.own]
  if not meant then
    spec.fail(("%s: row '%s' is on several data sets: %s; say which, as in %s"):format(what, label,
      table.concat(names, ", "), example:format(label, names[1])))
  end
  return meant
end

local places_of_source = { true, true, dataset = true }

-- What `from` says: the experiment, the label and a data set.
local function read_source(self, from)
  if type(from) == "string" then return self, from end
  local is_source = type(from) == "table" and experiment.is(from[1]) and type(from[2]) == "string"
  if not is_source then
    spec.fail("row: field 'from' is the label of an earlier row, or { experiment, label }")
  end
  for key in pairs(from) do
    if not places_of_source[key] then checks.refuse("row: field 'from'", "field", key, { "dataset" }) end
  end
  return from[1], from[2], from.dataset
end

-- The row that another one starts from. Of rows on several data sets that on the same is meant, unless it names
-- another.
local function source_of(self, from, dataset)
  local owner, label, given = read_source(self, from)
  local row = row_called(owner, label, { dataset = given, own = dataset }, "row: field 'from'",
    '{ bench, "%s", dataset = "%s" }')
  row.keep_weights = true
  return { experiment = owner, row = row }
end

-- A file of weights, or { file, partly = true }: parameters that it lacks keep their initial
-- values.
local function weights_of(weights)
  local name = type(weights) == "table" and weights[1] or weights
  if name == nil then return nil end
  if type(name) ~= "string" then
    spec.fail("row: field 'weights' is a name or a file, or { name, partly = true }")
  end
  if weights ~= name then check_fields("row: field 'weights'", weights, { { "partly", "boolean" } }, true) end
  return { name = name, partly = type(weights) == "table" and weights.partly == true }
end

local function reach_of(given)
  local wanted, wrong = reach.read(given)
  if wrong then spec.fail("row: " .. wrong) end
  return wanted
end

local function context_of(given)
  local wanted, refusal = context.read(given)
  if not wanted then spec.fail("row: " .. refusal) end
  return wanted
end

-- The trials of rows are rows of an experiment of their own, which is run before this one.
local function trials_of(self, name)
  if not self.trials then
    self.trials = experiment.new(name, name, self.scale)
    table.insert(self.sources, 1, self.trials)
  end
  return self.trials
end

-- The last round is NAME-trials, the source of the rows; the round before it is the source of that
-- one, NAME-trials-round2 of three.
local function add_trials(self, row, grid)
  if not tune.is(grid) then spec.fail "row: field 'tune' is made by lh.tune" end
  local rounds, from = {}, self
  for round = grid.rounds, 1, -1 do
    local suffix = round < grid.rounds and "-round" .. round or ""
    rounds[round] = trials_of(from, self.runs .. "-trials" .. suffix)
    from = rounds[round]
  end
  local trials
  for round, experiment_of_round in ipairs(rounds) do
    trials = round == 1 and tune.trials(grid, row) or tune.survivors(grid, row, round, trials)
    local rows = experiment_of_round.rows
    table.move(trials, 1, #trials, #rows + 1, rows)
  end
  row.tune, row.trials = grid, trials
end

-- The label of a row and, of a point of lh.grid, its factors; then whether these are its label.
local function label_of(row)
  local label, factors = row.label or row[1], nil
  if type(row[1]) == "table" then
    local made
    made, factors = grid.factors(row[1])
    label = row.label or made
  end
  if type(label) ~= "string" then
    spec.fail("a row begins with its label or with a point of lh.grid")
  end
  checks.text("row: a label", label)
  return label, factors, factors ~= nil and row.label == nil
end

--- Adds a row: `bench:row { "Rec:fixed:skip", model = ..., task = ..., train = ..., seeds = 3,
--- dataset = "books" }`. The first value is the label, or a point of lh.grid.
---@param row longhaul.row
---@return longhaul.experiment
function Experiment:row(row)
  checks.row(row)
  local label, factors, is_called_by_point = label_of(row)
  local said = { label = label, factors = factors, is_called_by_point = is_called_by_point, dataset = row.dataset,
    model = row.model, task = row.task, train = row.train, tune = row.tune, reach = row.reach and reach_of(row.reach) }
  overrides.apply(said)
  checks.training(said)
  local dataset = row.dataset or said.task:option("name") or ""
  if dataset ~= "" then checks.text("row: the name of its data (field 'dataset' gives another)", dataset) end
  check_unique(self, label, dataset)
  local made = {
    label = label, dataset = dataset, model = said.model, task = said.task, train = said.train,
    seeds = row.seeds and check_seeds("row: field 'seeds'", row.seeds), factors = factors,
    line = spec.line(), slug = row.slug,
    published_row = row.published_row, values = row.values, weights = weights_of(row.weights),
    keep_weights = row.keep_weights,
    from = row.from and source_of(self, row.from, dataset), reach = said.reach,
    context = row.context and context_of(row.context),
  }
  if row.tune then add_trials(self, made, row.tune) end
  self.rows[#self.rows + 1] = made
  return self
end

--- How many seeds rows have that do not say so themselves.
---@param count integer
---@return longhaul.experiment
function Experiment:seeds(count)
  self.default_seeds = check_seeds("seeds: the number", count)
  return self
end

-- ---- views ----

local default_names = { table = "table", fit = "exponents" }

local function add_views(views, thing, list)
  for _, options in ipairs(list) do
    views[#views + 1] = { thing = thing, kind = options[1], line = options.line,
      name = options.name or default_names[thing] or options[1] }
  end
end

-- Fails where a view cannot have its name, or `new`, a thing that is being declared, cannot.
local function check_views(self, thing, new)
  local views = {}
  add_views(views, "table", self.tables)
  add_views(views, "fit", self.fits)
  add_views(views, "plot", self.plots)
  add_views(views, thing, { new })
  names.check_views(views)
end

--- Declares a table: `bench:table { columns = { "bits_per_token", "relative_step_time" }, baseline
--- = "Slide:13L", published = "paper_table1" }`.
---@param options longhaul.table
---@return longhaul.experiment
function Experiment:table(options)
  checks.table(options)
  options.line = spec.line()
  check_views(self, "table", options)
  self.tables[#self.tables + 1] = options
  return self
end

-- An axis is a name or { name, log = true }.
local function check_axis(value)
  if type(value) == "table" then
    check_fields("plot axis", value, { { "log", "boolean" } }, true)
  end
end

-- The experiments whose rows a plot shows in place of its own; they are run before this one.
local function add_sources(self, plot)
  if experiment.is(plot.of) then plot.of = { plot.of } end
  checks.list("plot: field 'of'", plot.of)
  for _, source in ipairs(plot.of) do
    if not experiment.is(source) then
      spec.fail("plot: field 'of' is an experiment or an array of them")
    end
    if not lists.has(self.sources, source) then self.sources[#self.sources + 1] = source end
  end
end

--- Declares a chart: `bench:plot { "pareto", x = "step_time_ms", y = "bits_per_token" }`. Each
--- kind has fields of its own. An axis is a metric, a factor of the sweep or a model option; `{ "window",
--- log = true }` makes it logarithmic.
---@param options longhaul.plot
---@return longhaul.experiment
function Experiment:plot(options)
  if type(options) ~= "table" then spec.fail("plot takes a table, as in { ... }") end
  local kind = kinds.find(options[1])
  if not kind then checks.refuse("plot", "kind of chart", options[1], kinds.names()) end
  check_fields("plot", options, kinds.fields(kind), true)
  check_axis(options.x)
  check_axis(options.y)
  local wrong = kind.check and kind.check(options)
  if wrong then spec.fail("plot: " .. wrong) end
  options.line = spec.line()
  check_views(self, "plot", options)
  local kept = kind.weights and kind.weights(options)
  for _, row in ipairs(self.rows) do row.keep_weights = row.keep_weights or row.label == kept end
  if options.of then add_sources(self, options) end
  self.plots[#self.plots + 1] = options
  return self
end

--- Declares exponents: `bench:fit { group = "attention", over = { "length" }, of = { time =
--- "step_time_ms" }, published = "paper_table1" }`. For each value of the factor `group` and each
--- factor of `over`, rows that differ in it alone give the slope of log y over log x.
---@param options longhaul.fit
---@return longhaul.experiment
function Experiment:fit(options)
  check_fields("fit", options, fields.fit)
  checks.list("fit: field 'over'", options.over)
  checks.named("fit: field 'of'", options.of)
  for _, measure in pairs(options.of) do checks.measure(measure) end
  options.line = spec.line()
  check_views(self, "fit", options)
  self.fits[#self.fits + 1] = options
  return self
end

--- Declares who is best at a moment: `bench:best_at { seconds = { 60, 180, 600 }, flops = { 1e12 } }`
--- lists, data set by data set, the training loss that each row has reached by then.
---@param options longhaul.best_at
---@return longhaul.experiment
function Experiment:best_at(options)
  check_fields("best_at", options, fields.best_at)
  checks.moments(options)
  if self.moments then
    spec.fail(("best_at: all moments stand in one, and there is one already, from %s"):format(self.moments.line))
  end
  options.line = spec.line()
  self.moments = options
  return self
end

--- Declares sample texts: `bench:sample { row = "Recurrent", tokens = "bytes", count = 4, context =
--- 300, length = 80 }`: `count` passages of `context` tokens of the validation split. The
--- row's model continues each by `length` tokens.
---@param options longhaul.sample
---@return longhaul.experiment
function Experiment:sample(options)
  checks.sample(options)
  local row = row_called(self, options.row, { dataset = options.dataset }, "sample",
    'row = "%s", dataset = "%s"')
  row.keep_weights, row.samples = true, row.samples or {}
  table.insert(row.samples, options)
  self.samples[#self.samples + 1] = { row = row, options = options }
  return self
end

local function check_experiment(owner, value)
  if not experiment.is(value) then spec.fail(owner .. " is no experiment") end
end

-- A slip in a cell shows only when the claim is judged, after all training.
local function check_cell(cell, text)
  local owner = ("claim: cell '%s'"):format(text)
  check_fields(owner, cell, fields.cell)
  check_experiment(owner .. ": field 'experiment'", cell.experiment)
  checks.metrics(owner, { cell.metric, cell.printed_as })
  if cell.dataset or not metrics.is_by_seed(cell.metric) then return end
  cell.dataset = checks.only_dataset(cell)
  if not cell.dataset then
    spec.fail(owner .. ": field 'dataset' is missing, what each seed has is of one data set")
  end
end

local function check_predicate(field, value)
  if not predicate.is(value) then
    spec.fail(("claim: field '%s' is a predicate, made by lh.predicate"):format(field))
  end
  value:each_cell(check_cell)
end

local function check_predicates(claim)
  check_predicate("holds", claim.holds)
  if claim.asks then check_predicate("asks", claim.asks) end
  if claim.direction then check_predicate("direction", claim.direction) end
  if type(claim.untested) == "table" then check_predicate("untested", claim.untested[1]) end
end

--- Declares a claim: `bench:claim { "paper_p072", holds = p.less(2, BST "xl:2048" / BST
--- "rec:fixed:skip") }` with `p = lh.predicate`.
---@param claim longhaul.claim
---@return longhaul.experiment
function Experiment:claim(claim)
  check_fields("claim", claim, fields.claim, true)
  if type(claim[1]) ~= "string" then spec.fail("a claim begins with its id") end
  checks.text("claim: its id", claim[1])
  checks.planned_seeds(claim.planned_seeds)
  check_predicates(claim)
  for _, other in ipairs(self.claims) do
    if other[1] == claim[1] then
      spec.fail(("claim '%s' is there already, from %s"):format(claim[1], other.line))
    end
  end
  claim.line = spec.line()
  self.claims[#self.claims + 1] = claim
  return self
end

-- ---- for the runner and the reports ----

-- What is wrong with the data set of a plot over these rows, which are all there are.
local function dataset_refusal(plot, rows)
  local names = summary.datasets(rows)
  for _, name in ipairs(names) do
    if plot.dataset == nil or plot.dataset == name then return nil end
  end
  return #rows > 0 and ("field 'dataset': no row is of '%s'%s"):format(plot.dataset,
    core.did_you_mean(plot.dataset, names)) or nil
end

-- Whether a published table prints a metric on some data set.
local function is_printed(paper, metric)
  for dataset in pairs(paper and paper.datasets or {}) do
    if paper.prints(metric, dataset) then return true end
  end
  return false
end

local function paper_of(options) return options.published and published.table(options.published) end

-- What is wrong with a metric that neither a row nor the published table will have a value of.
local function column_refusal(paper, rows, metric)
  return not is_printed(paper, metric) and checks.column_refusal(rows, metric) or nil
end

local function check_columns(self, options)
  local paper = paper_of(options)
  for _, column in ipairs(options.columns) do
    local wrong = column_refusal(paper, self.rows, column)
    if wrong then error(("%s: table: column %s"):format(options.line, wrong), 0) end
  end
end

-- A factor of the rows may have the name of a curve's column.
local function axis_refusal(plot, rows)
  local paper, is_of_curve = paper_of(plot), kinds.find(plot[1]).of_curve
  for _, axis in ipairs { "x", "y" } do
    local given = plot[axis]
    local name = type(given) == "table" and given[1] or given
    local wrong = (is_of_curve or metrics.is_known(name)) and column_refusal(paper, rows, name)
    if wrong then return ("axis %s: %s"):format(axis, wrong) end
  end
  return nil
end

-- The names of a plot, which may stand before its rows, and the published table that it draws.
local function check_plot(self, plot)
  local rows = plot.of and {} or table.move(self.rows, 1, #self.rows, 1, {})
  for _, source in ipairs(plot.of or {}) do
    table.move(source.rows, 1, #source.rows, #rows + 1, rows)
  end
  local wrong = dataset_refusal(plot, rows) or kinds.refusal(plot, rows)
  if not wrong then
    local _, message = pcall(axis_refusal, plot, summary.on_dataset(rows, plot.dataset))
    wrong = message
  end
  if wrong then error(("%s: plot: %s"):format(plot.line, wrong), 0) end
end

-- What is run before an experiment, and what before that; `above` are those that wait for it.
local function check_sources(self, above)
  if above[self] then spec.fail(("experiment '%s' is run before itself"):format(self.name)) end
  above[self] = true
  for _, source in ipairs(self.sources) do
    check_experiment("a source", source)
    check_sources(source, above)
  end
  above[self] = nil
end

-- A slug that several rows have would give a cell whichever row comes first; one that no row has would
-- be found out when the claim is judged, after all training.
local function check_cells(self, claim, labels)
  local untested = type(claim.untested) == "table" and claim.untested[1] or nil
  for _, value in pairs { claim.holds, asks = claim.asks, direction = claim.direction, untested = untested } do
    value:each_cell(function(cell, text)
      local wrong = checks.cell_refusal(self, cell, labels(cell))
      if wrong then error(("%s: claim: cell '%s': %s"):format(claim.line, text, wrong), 0) end
    end)
  end
end

-- Tables of a script stay its own: what was checked when it was declared may have become another.
local function check_again(self)
  check_views(self)
  check_sources(self, {})
  for _, row in ipairs(self.rows) do
    if row.from then check_experiment("row: field 'from'", row.from.experiment) end
  end
  for _, plot in ipairs(self.plots) do
    for _, source in ipairs(plot.of or {}) do check_experiment("plot: field 'of'", source) end
  end
  for _, claim in ipairs(self.claims) do check_predicates(claim) end
end

--- What can be checked only when the script has ended: that what was declared still is so, that
--- tables and fits stand beside published ones that have their rows, that some row scores what
--- columns and axes are to show, that plots name what their rows have, and that each cell of a claim
--- means one row.
function Experiment:check()
  check_again(self)
  checks.baselines(self.tables)
  local labels = evidence.labels()
  for _, claim in ipairs(self.claims) do check_cells(self, claim, labels) end
  for _, options in ipairs(self.fits) do
    checks.fit(self.rows, options)
    if options.published then published.check_fit(self, options) end
  end
  for _, options in ipairs(self.tables) do
    if options.published then published.check(self, options) end
    check_columns(self, options)
  end
  for _, plot in ipairs(self.plots) do check_plot(self, plot) end
end

local function matches(row, baseline)
  if type(baseline) == "string" then return row.label == baseline end
  local wanted, met = 0, 0
  for _ in pairs(baseline) do wanted = wanted + 1 end
  for _, factor in ipairs(row.factors or {}) do
    if baseline[factor[1]] == factor[2] then met = met + 1 end
  end
  return met == wanted
end

-- What a message about a baseline that no row is goes on with: its name, or the factor of it that
-- no row has, and the nearest.
local function baseline_told(baseline, rows)
  local labels, factors = {}, lists.set()
  for i, row in ipairs(rows) do
    labels[i] = row.label
    for _, factor in ipairs(row.factors or {}) do factors:add(factor[1]) end
  end
  if type(baseline) == "string" then
    return (" '%s'%s"):format(baseline, core.did_you_mean(baseline, labels))
  end
  for name in pairs(baseline) do
    if not factors.has[name] then
      return (": no factor '%s'%s"):format(tostring(name),
        core.did_you_mean(tostring(name), factors.list))
    end
  end
  return ": no row has all of its factors' values"
end

--- The label of the row that a table's relative step times refer to (default: the first table), or
--- nil. Fails when no row is meant.
function Experiment:baseline(options)
  options = options or self.tables[1]
  if not options or not options.baseline then return nil end
  for _, row in ipairs(self.rows) do
    if matches(row, options.baseline) then return row.label end
  end
  error(("%s: table: no row is the baseline%s"):format(options.line,
    baseline_told(options.baseline, self.rows)), 0)
end

--- The labels of all tables' baselines, each once, in the order of the tables.
function Experiment:baselines()
  local labels = lists.set()
  for _, options in ipairs(self.tables) do
    local label = self:baseline(options)
    if label then labels:add(label) end
  end
  return labels.list
end

--- What the column `model` says of a row: the slug that the paper's table has for its label, else
--- the model's class.
function Experiment:slug(row)
  if row.slug then return row.slug end
  for _, options in ipairs(self.tables) do
    local paper = options.published and published.table(options.published)
    local slug = paper and paper.slug[row.published_row or row.label]
    if slug then return slug end
  end
  return row.model.name
end

experiments.guard()

return experiment
