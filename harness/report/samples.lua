-- Sample texts: what a row's model writes after passages of the validation split.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local pipe_table = require "longhaul.report.pipe_table"
local quote = require "longhaul.run.quote"
local store = require "longhaul.run.store"
local tokenizers = require "longhaul.run.tokenizer"
local views = require "longhaul.report.views"

local samples = {}

local function passages_of(run, options)
  local session <close> = core.session {
    model = run.row.model.options, task = run.row.task.options, train = run.row.train.options,
    seed = run.seed, device = run.device,
  }
  return session:passages("valid", options.count, options.context)
end

-- What the model draws after the tokens of a passage.
local function continue(run, weights, tokenizer, passage, segment, options)
  local generator <close> = core.generator {
    model = run.row.model.options, vocabulary = tokenizer:vocabulary(), weights = weights,
    seed = run.seed, device = run.device, segment = segment,
  }
  generator:feed(passage)
  local drawn = {}
  for i = 1, options.length do drawn[i] = generator:next(options.temperature or 0, 0, 1) end
  return tokenizer:decode(drawn)
end

local function records_of(experiment, settings, sample)
  local options = sample.options
  local run = {
    experiment = experiment.runs, row = sample.row, seed = 1,
    scale = settings.scale,
    device = settings.device,
  }
  local weights = store.at(settings.results, experiment.runs):weights(identity.of(run).run_id)
  if not core.exists(weights) then return {} end
  local info = identity.task_info(run.row.task)
  local tokenizer <close> = tokenizers.fitting(options.tokens, info.vocabulary, "the row's model", run.row.task.options)
  local records = {}
  for i, passage in ipairs(passages_of(run, options)) do
    records[i] = {
      row = run.row.label, dataset = run.row.dataset, seed = 1, scale = run.scale, device = run.device,
      context = quote.utf8(tokenizer:decode(passage)), -- cut by tokens, which may be bytes
      continuation = quote.utf8(continue(run, weights, tokenizer, passage, info.length, options)),
    }
  end
  return records
end

local columns = { "row", "dataset", "seed", "context", "continuation", "scale", "device" }

local function markdown(experiment, records)
  local rows, changed = {}, views.changed_text(experiment.changed)
  for i, record in ipairs(records) do
    rows[i] = { quote.markdown(record.row), quote.markdown(record.dataset), quote.markdown(record.context),
      quote.markdown(record.continuation) }
  end
  return ("# %s\n\n%s\n%s"):format(experiment.name,
    pipe_table.text({ "row", "data", "context", "continuation" }, "llll", rows),
    changed and ("\n%s\n"):format(quote.markdown(changed)) or "")
end

--- Writes samples.csv and samples.md into `folder`; gives their paths.
function samples.write(experiment, settings, folder)
  local records = {}
  for _, sample in ipairs(experiment.samples) do
    table.move(records_of(experiment, settings, sample), 1, sample.options.count, #records + 1, records)
  end
  if #records == 0 then return {} end
  views.make_room(folder .. "/samples", { "csv", "md" },
    views.owner(settings.scale, settings.device))
  for _, record in ipairs(records) do record.changed = experiment.changed end
  csv.write(folder .. "/samples.csv", views.columns(columns, { "changed" }, records), records)
  core.write_file(folder .. "/samples.md", markdown(experiment, records))
  return { folder .. "/samples.csv", folder .. "/samples.md" }
end

return samples
