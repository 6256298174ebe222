-- What rows, tables, fits, samples and claims of an experiment may say: name, types, meaning, and the
-- default of what is not needed. The one description: scripts are checked against it, docs/lua.md and
-- the editor's annotations are written from it (scripts/annotate.lua). A type behind the meaning is
-- what an editor hears of it.
local fields = {}

fields.row = {
  first = { "string|table", "the label, or a point of `lh.grid`, whose factors become columns of runs.csv. A factor "
    .. "that is called as an option of the model has that option's value; where the point is the label, so has one "
    .. "that is called as an option of the task or the training" },
  { "model", "table", "an architecture and its options: `lh.models.NAME { ... }`", "longhaul.spec",
    needed = true },
  { "task", "table", "what is predicted, and the data: `lh.tasks.NAME { ... }`", "longhaul.spec",
    needed = true },
  { "train", "table", "how it is trained: `lh.train { ... }`", "longhaul.spec", needed = true },
  { "seeds", "number", "how many", "integer", default = "`bench:seeds(n)`, else 1" },
  { "dataset", "string", "the name of its data in tables", default = "the corpus' name" },
  { "label", "string", "the label of a point of `lh.grid`", default = "the values of its factors" },
  { "slug", "string", "what the column `model` says",
    default = "the published table's for this label, else the model's class" },
  { "published_row", "string", "the paper's label, where it is another", default = "the label" },
  { "from", "string or table", "the row whose trained weights of the same seed it begins with: a "
    .. "label, or `{ bench, label, dataset = name }`; of several data sets that of the row itself" },
  { "weights", "string or table",
    "a weight file, or a name under which one was fetched. `{ name, partly = true }`: it may "
    .. "lack parameters" },
  { "keep_weights", "boolean", "keeps the row's own weights under `results/<experiment>/weights/`",
    default = "false" },
  { "values", "table", "metrics that the script knows itself, as columns of runs.csv: "
    .. "`{ kaplan_flops_per_token = 1e6 }`", "table<string, number>" },
  { "tune", "table", "training options to choose on the validation split, made by `lh.tune`",
    "longhaul.tune" },
  { "context", "table", "measures how far back the trained model looks, over passages of the "
    .. "validation split: `{ length = 512, passages = 256 }`", "table<string, integer>" },
  { "reach", "table", "a loss of the curve for `tokens_to_reach`: `{ valid_bits = 2.0 }`",
    "table<string, number>" },
}

fields.table = {
  { "columns", "table", "metrics, in order", "longhaul.metric[]", needed = true },
  { "baseline", "string or table",
    "the label, or the factors, of the row that `relative_step_time` refers to",
    "string|table<string, any>" },
  { "published", "string", "a table of `results/published/` whose values stand beside ours" },
  { "datasets", "table", "our names of data sets to the paper's, or to `\"\"` where it has none",
    "table<string, string>" },
  { "best", "table", "`\"min\"` or `\"max\"` for a metric that does not say which end is better",
    'table<longhaul.metric, "min"|"max">' },
  { "select", "string", "`\"best_valid\"`: the seed that did best on the validation split",
    '"best_valid"' },
  { "name", "string", "of its files", default = "table" },
  { "title", "string", "above it" },
}

fields.tune = {
  { "by", "string", "a loss or score of the validation split, `\"valid_bits_per_token\"`",
    "longhaul.metric", needed = true },
  { "steps", "number", "of a trial", "integer", default = "those of the row" },
  { "seeds", "number", "of a trial; their mean decides", "integer", default = "1" },
  { "halving", "boolean", "in rounds: all choices for a fraction of the steps, then the better half of "
    .. "them for twice as many, and so on. The last two have all `steps`", default = "false" },
  { "OPTION", "table", "a training option, with the values that are tried: `rate = { 1e-3, 3e-3 }`. At least one is "
    .. "needed", "any[]" },
}

fields.match = {
  first = { "longhaul.spec", "the model, `lh.models.NAME { ... }`, with all but its size" },
  { "task", "table", "what it is for. It says how many tokens or features there are",
    "longhaul.spec", needed = true },
  { "parameters", "number", "how many the model shall have, embeddings included" },
  { "flops_per_token", "number", "what one token shall take forward" },
  { "step_time_ms", "number", "what a training step shall take on this machine" },
  { "train", "table", "with `step_time_ms`: how it is trained", "longhaul.spec", default = "lh.train {}" },
}

fields.fit = {
  { "group", "string", "the factor that has an exponent for each of its values", needed = true },
  { "over", "table", "the factors of growth", "string[]", needed = true },
  { "of", "table", "what is fitted, by name: a metric, or a function of `value(metric)`",
    "table<string, any>", needed = true },
  { "published", "string", "a table of `results/published/` whose formulas are printed beside" },
  { "crossing", "string", "a group: from where on each of the others is below it" },
  { "name", "string", "of its files", default = "exponents" },
}

fields.best_at = {
  { "seconds", "table", "moments, in seconds of a row's own training steps", "number[]" },
  { "flops", "table", "moments, in FLOPs of training", "number[]" },
}

fields.sample = {
  { "row", "string", "the label of an earlier row, whose model goes on", needed = true },
  { "dataset", "string", "that of the row", default = "the only one with that label" },
  { "tokens", "string", "the tokenizer", needed = true },
  { "count", "number", "passages", "integer", needed = true },
  { "context", "number", "tokens of the validation split that are read", "integer", needed = true },
  { "length", "number", "tokens that are added", "integer", needed = true },
  { "temperature", "number", "of the draw; 0: the likeliest tokens", default = "0" },
}

fields.claim = {
  first = { "string", "its id, as in results/published" },
  { "holds", "table", "the published predicate", "longhaul.predicate", needed = true },
  { "asks", "table", "what is judged in place of `holds`, where the paper's sentence says more or less than the "
    .. "published predicate", "longhaul.predicate" },
  { "direction", "table", "a weaker form", "longhaul.predicate" },
  { "direction_says", "string", "the weaker form in words",
    default = "the signs are as printed, a printed bound is missed" },
  { "untested", "string or table", "why it cannot fail; or `{ predicate, reason }`: it cannot where the predicate "
    .. "holds" },
  { "planned_seeds", "number", "how many seeds there were to be before anybody looked; at more the levels are lower",
    "integer", default = "3" },
  { "of_size", "string", "what only scale `paper` tells" },
  { "scale_changes", "string", "what the scale changes of it" },
  { "expected", "string", "in words what is expected of the numbers", default = "the comparison of results/published" },
  { "says", "string", "the claim in words, where no paper makes it", default = "the sentence of results/published" },
  { "paper", "string", "who makes it", default = "what stands before `_p` in the id, where that paper has it" },
  { "note", "string", "what stands beside the verdict" },
}

fields.cell = {
  { "experiment", "table", "whose row it is", "longhaul.experiment", needed = true },
  { "row", "string", "label, or a slug that no other row has", needed = true },
  { "metric", "string", "a column of runs.csv", "longhaul.metric", needed = true },
  { "dataset", "string", "the data set of the row",
    default = "of costs that seeds share the mean over data sets; of the rest the row's only data set" },
  { "published", "string", "the paper's table: `\"paper_table1\"`" },
  { "printed_as", "string", "what the paper's number stands for, where that is another metric",
    "longhaul.metric", default = "the metric" },
}

return fields
