-- What rows, tables, fits, samples and claims of an experiment may say: name, types, meaning. The
-- one description: scripts are checked against it, docs/lua.md and the editor's annotations are
-- written from it (scripts/annotate.lua). A type behind the meaning is what an editor hears of it.
local fields = {}

fields.row = {
  first = { "string|table", "the label, or a point of `lh.grid`, whose factors become columns of runs.csv; one that "
    .. "is called as an option of its model has that option's value" },
  { "model", "table", "an architecture and its options: `lh.models.NAME { ... }`", "longhaul.spec",
    needed = true },
  { "task", "table", "what is predicted, and the data: `lh.tasks.NAME { ... }`", "longhaul.spec",
    needed = true },
  { "train", "table", "how it is trained: `lh.train { ... }`", "longhaul.spec", needed = true },
  { "seeds", "number", "how many; default: `bench:seeds(n)`, else 1", "integer" },
  { "dataset", "string", "its name in tables; default: the corpus' name" },
  { "label", "string", "for a point of `lh.grid`" },
  { "slug", "string", "what the column `model` says; default: the published table's for this "
    .. "label, else the model's class" },
  { "published_row", "string", "the paper's label, where it is another" },
  { "from", "string or table", "the row whose trained weights of the same seed it begins with: a "
    .. "label, or `{ bench, label }`" },
  { "weights", "string or table",
    "a weight file, or a name under which one was fetched; `{ name, partly = true }`: it may "
    .. "lack parameters" },
  { "keep_weights", "boolean", "keeps the row's own under `results/<experiment>/weights/`" },
  { "values", "table", "metrics that the script knows itself: `{ kaplan_flops_per_token = 1e6 }`",
    "table<string, number>" },
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
    "label, or factors, of the row that `relative_step_time` refers to",
    "string|table<string, any>" },
  { "published", "string", "a table of `results/published/` whose values stand beside ours" },
  { "datasets", "table", "our names of data sets to the paper's, or to `\"\"` where it has none",
    "table<string, string>" },
  { "best", "table", "`\"min\"` or `\"max\"` for a metric that does not say which end is better",
    'table<longhaul.metric, "min"|"max">' },
  { "select", "string", "`\"best_valid\"`: the seed that did best on the validation split",
    '"best_valid"' },
  { "name", "string", "of its files; default: `table`" },
  { "title", "string", "above it" },
}

fields.tune = {
  { "by", "string", "a loss or score of the validation split, `\"valid_bits_per_token\"`",
    "longhaul.metric", needed = true },
  { "steps", "number", "of a trial; default: those of the row", "integer" },
  { "seeds", "number", "of a trial, whose mean decides; default: 1", "integer" },
  { "halving", "boolean", "in rounds: all choices for a fraction of the steps, then the better half of "
    .. "them for twice as many, and so on; the last two have all `steps`" },
  { "OPTION", "table", "a training option, with the values that are tried: `rate = { 1e-3, 3e-3 }`",
    "any[]" },
}

fields.match = {
  first = { "longhaul.spec", "the model, `lh.models.NAME { ... }`, with all but its size" },
  { "task", "table", "what it is for: it says how many tokens or features there are",
    "longhaul.spec", needed = true },
  { "parameters", "number", "how many it shall have, embeddings included" },
  { "flops_per_token", "number", "what one token shall take forward" },
  { "step_time_ms", "number", "what a training step shall take on this machine" },
  { "train", "table", "with step_time_ms: how it is trained; default: lh.train {}", "longhaul.spec" },
}

fields.fit = {
  { "group", "string", "the factor that has an exponent for each of its values", needed = true },
  { "over", "table", "the factors of growth", "string[]", needed = true },
  { "of", "table", "what is fitted, by name: a metric, or a function of `value(metric)`",
    "table<string, any>", needed = true },
  { "published", "string", "a table whose formulas are printed beside" },
  { "crossing", "string", "a group: from where on each of the others is below it" },
  { "name", "string", "of its files; default: `exponents`" },
}

fields.best_at = {
  { "seconds", "table", "moments, in seconds of a row's own training steps", "number[]" },
  { "flops", "table", "moments, in FLOPs of training", "number[]" },
}

fields.sample = {
  { "row", "string", "the label of an earlier row, whose model goes on", needed = true },
  { "tokens", "string", "the tokenizer", needed = true },
  { "count", "number", "passages", "integer", needed = true },
  { "context", "number", "tokens of the validation split that are read", "integer", needed = true },
  { "length", "number", "tokens that are added", "integer", needed = true },
  { "temperature", "number", "0 (default): the likeliest tokens" },
}

fields.claim = {
  first = { "string", "its id, as in results/published" },
  { "holds", "table", "the published predicate", "longhaul.predicate", needed = true },
  { "asks", "table", "what the sentence asks, where the published predicate asks for less, or for more",
    "longhaul.predicate" },
  { "direction", "table", "a weaker form", "longhaul.predicate" },
  { "direction_says", "string", "the weaker form in words" },
  { "untested", "string or table", "why it cannot fail, or `{ predicate, reason }`" },
  { "of_size", "string", "what only scale `paper` tells" },
  { "scale_changes", "string", "what the scale changes of it" },
  { "expected", "string", "in place of the sentence of results/published" },
  { "says", "string", "the claim in words, where no paper makes it" },
  { "paper", "string", "default: from the id" },
  { "note", "string", "beside the verdict" },
}

fields.cell = {
  { "experiment", "table", "whose row it is", "longhaul.experiment", needed = true },
  { "row", "string", "label, or a slug that no other row has", needed = true },
  { "metric", "string", "a column of runs.csv", "longhaul.metric", needed = true },
  { "dataset", "string",
    "without: the mean over data sets, for costs that seeds share; of the rest the row's only data set" },
  { "published", "string", 'the paper\'s table, "paper_table1"' },
  { "printed_as", "string", "what the paper's number stands for, where that is another metric",
    "longhaul.metric" },
}

return fields
