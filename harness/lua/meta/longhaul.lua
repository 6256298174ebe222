---@meta longhaul
-- Written by scripts/annotate.lua; an editor with a Lua language server reads it.

---@class longhaul.corpus

---@class longhaul.term
---@operator add(longhaul.term|number): longhaul.term
---@operator sub(longhaul.term|number): longhaul.term
---@operator mul(longhaul.term|number): longhaul.term
---@operator div(longhaul.term|number): longhaul.term
---@operator pow(longhaul.term|number): longhaul.term

---@class longhaul.predicate

---@class longhaul.spec
local spec = {}

---The same spec with some options changed: `base:with { window = 64 }`.
---@param changes table<string, any>
---@return longhaul.spec
function spec:with(changes) end

---The value of one option: a number, a boolean, a string or an array of integers; nil when there
---is none.
---@param name string
---@return any
function spec:option(name) end

---The value of one option as text, as on the command line: "1,0,2". `spec.text` is all options as
---text.
---@param name string
---@return string
function spec:spelled(name) end

---@class longhaul.predicates
local p = {}

---What a row has of a metric: a table that the source understands, called `text` where verdicts name it.
---@param text string
---@param cell longhaul.cell
---@return longhaul.term
function p.cell(text, cell) end

---The least of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function p.least(parts) end

---The greatest of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function p.greatest(parts) end

---Its absolute value.
---@param part longhaul.term
---@return longhaul.term
function p.abs(part) end

---To so many decimals, as a paper prints a value.
---@param part longhaul.term
---@param decimals integer
---@return longhaul.term
function p.rounded(part, decimals) end

---To so many significant digits.
---@param part longhaul.term
---@param digits integer
---@return longhaul.term
function p.significant(part, digits) end

---The mean of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function p.mean(parts) end

---The same term under a shorter text.
---@param text string
---@param part longhaul.term
---@return longhaul.term
function p.named(text, part) end

---In how many of the pairs { a, b } a is below b; with `ties`, or equal to it.
---@param text string
---@param pairs longhaul.term[][]
---@param ties boolean
---@return longhaul.term
function p.wins(text, pairs, ties) end

---What a paper prints for this cell, in the paper's unit; nil where it prints nothing.
---@param cell longhaul.term
---@return number?
function p.printed(cell) end

---Whether a paper prints a number for this cell.
---@param cell longhaul.term
---@return boolean
function p.is_printed(cell) end

---a < b.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function p.less(a, b) end

---a <= b.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function p.at_most(a, b) end

---a = b; the margin is how far they are apart, below 0.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function p.equal(a, b) end

---Every part holds.
---@param parts longhaul.predicate[]
---@return longhaul.predicate
function p.all(parts) end

---At least one part holds.
---@param parts longhaul.predicate[]
---@return longhaul.predicate
function p.any(parts) end

---`make(value)` holds for every value of a list.
---@param list any[]
---@param make fun(value: any): longhaul.predicate
---@return longhaul.predicate
function p.each(list, make) end

---low <= a <= high.
---@param low longhaul.term|number
---@param a longhaul.term
---@param high longhaul.term|number
---@return longhaul.predicate
function p.between(low, a, high) end

---Each term is below the one before it.
---@param terms longhaul.term[]
---@return longhaul.predicate
function p.falling(terms) end

---No term is above the one before it.
---@param terms longhaul.term[]
---@return longhaul.predicate
function p.not_rising(terms) end

---@class longhaul.experiment
local bench = {}

---Adds a row: `bench:row { "Rec:fixed:skip", model = ..., task = ..., train = ..., seeds = 3,
---dataset = "books" }`. The first value is the label, or a point of lh.grid.
---@param row longhaul.row
---@return longhaul.experiment
function bench:row(row) end

---How many seeds rows have that do not say so themselves.
---@param count integer
---@return longhaul.experiment
function bench:seeds(count) end

---Declares a table: `bench:table { columns = { "bits_per_token", "relative_step_time" }, baseline
---= "Slide:13L", published = "paper_table1" }`.
---@param options longhaul.table
---@return longhaul.experiment
function bench:table(options) end

---Declares a chart: `bench:plot { "pareto", x = "step_time_ms", y = "bits_per_token" }`. Each
---kind has fields of its own. An axis is a metric, a factor of the sweep or a model option; `{ "window",
---log = true }` makes it logarithmic.
---@param options longhaul.plot
---@return longhaul.experiment
function bench:plot(options) end

---Declares exponents: `bench:fit { group = "attention", over = { "length" }, of = { time =
---"step_time_ms" }, published = "paper_table1" }`. For each value of the factor `group` and each
---factor of `over`, rows that differ in it alone give the slope of log y over log x.
---@param options longhaul.fit
---@return longhaul.experiment
function bench:fit(options) end

---Declares who is best at a moment: `bench:best_at { seconds = { 60, 180, 600 }, flops = { 1e12 } }`
---lists, data set by data set, the training loss that each row has reached by then.
---@param options longhaul.best_at
---@return longhaul.experiment
function bench:best_at(options) end

---Declares sample texts: `bench:sample { row = "Recurrent", tokens = "bytes", count = 4, context =
---300, length = 80 }`: `count` passages of `context` tokens of the validation split. The
---row's model continues each by `length` tokens.
---@param options longhaul.sample
---@return longhaul.experiment
function bench:sample(options) end

---Declares a claim: `bench:claim { "paper_p072", holds = p.less(2, BST "xl:2048" / BST
---"rec:fixed:skip") }` with `p = lh.predicate`.
---@param claim longhaul.claim
---@return longhaul.experiment
function bench:claim(claim) end

---@class longhaul
---@field predicate longhaul.predicates comparisons over the cells of tables, of which claims are made
---@field models longhaul.models
---@field tasks longhaul.tasks
local lh = { data = {} }

---The scale that this run is at.
---@return "smoke"|"small"|"study"|"medium"|"gpu"|"paper"
function lh.scale() end

---Picks by scale: `lh.by_scale { smoke = 10, small = 1000, paper = 500e3 }`. A scale that is not
---named takes the nearest smaller one that is.
---@generic T
---@param choices { smoke?: T, small?: T, study?: T, medium?: T, gpu?: T, paper?: T }
---@return T
function lh.by_scale(choices) end

---Tables of options as one; of values with the same name the last one stands. Nil adds nothing.
---@param ... table?
---@return table
function lh.merged(...) end

---A list of claims for `bench:claim`, and a function that adds one to it: `local claims, claim =
---lh.claims { scale_changes = "width 64" }`, then `claim("paper_p072", holds)` or, with further
---fields, `claim("paper_p072", holds, { direction = weaker })`. All have the fields of `shared`.
---@param shared? table
---@return longhaul.claim[]
---@return fun(id: string, holds: longhaul.predicate, more?: table)
function lh.claims(shared) end

---The value that a Lua file returns, by its path from the file that includes it: `local setting =
---lh.include "setting.lua"`.
---@param name string
---@return any
function lh.include(name) end

---The values of the files of one name in every folder beside the file that includes them: `for _,
---claims in ipairs(lh.include_each "claims.lua") do`.
---@param name string
---@return any[]
function lh.include_each(name) end

---A new experiment. Its name is the folder under results/. With `runs` its rows are runs of that
---other experiment. So a figure shares runs with a table: what one has trained the other finds.
---@param name string "window-sweep"
---@param options? { runs?: string }
---@return longhaul.experiment
function lh.experiment(name, options) end

---Options of training: `lh.train { steps = 500, optimizer = "adafactor", rate = 0.5 }`.
---@param options longhaul.train
---@return longhaul.spec
function lh.train(options) end

---Parameters of a model for a task, or over a vocabulary, its embedding table included; allocates
---nothing.
---@param model longhaul.spec
---@param over longhaul.spec|integer
---@return integer
function lh.parameters(model, over) end

---Bytes that a model carries from segment to segment of a task, for each batch row.
---@param model longhaul.spec
---@param task longhaul.spec
---@return integer
function lh.state_bytes(model, task) end

---A model at the size of a budget: `lh.match { lh.models.brt { layers = 4, heads = 2 }, task = task,
---parameters = 1e6 }` is the same model with a million parameters for that task, within 3 %. The width
---is changed, and the depth if no width does.
---@param options longhaul.match
---@return longhaul.spec
function lh.match(options) end

---Training options to be chosen for every row alike: `tune = lh.tune { rate = { 1e-3, 3e-3, 1e-2 },
---steps = 200, by = "valid_bits_per_byte" }` in a row. Each combination is a trial. The row trains with
---what did best on the validation split.
---@param options longhaul.tune
---@return longhaul.tune
function lh.tune(options) end

---A corpus: `lh.data.text { "books", tokens = "bytes" }`. The first value is the name.
---@param options longhaul.text|string
---@return longhaul.corpus
function lh.data.text(options) end

---A time series: `lh.data.series { "ETTh1" }`. The first value is the name.
---@param options longhaul.series|string
---@return longhaul.series
function lh.data.series(options) end

---The first of several corpora that is on this machine: `lh.data.first { "enwik8", "books" }`. The
---last one is taken for granted. The embedded generator serves "books", "latex" and "code".
---@param names string[]
---@return string
function lh.data.first(names) end

---All combinations of ordered axes: `lh.grid { { "window", 32, 64 }, { "gate", "fixed", "lstm" }
---}` gives an iterator over points with a field per axis, the last axis running fastest.
---@param axes any[][]
---@return fun(): table?
function lh.grid(axes) end

return lh
