-- What a run is. Its configuration is a hash of everything that its numbers depend on but the seed;
-- its run id is one of configuration and seed. Whatever a run leaves (a row of runs.csv, curve,
-- weights, probes, checkpoint, step times) is found by these two; labels are for people.
local context = require "longhaul.run.context"
local core = require "longhaul.core"
local data = require "longhaul.run.data"
local option_text = require "longhaul.run.option_text"

local identity = {}

--- The number of this rule, column `identity` of runs.csv: 1 is that of runs whose data were known
--- by names and sizes. A rule that gives other ids to the same runs gets the next number.
identity.version = 2

-- What is said of a model, a task and of training: options that came after this version are part of it where they
-- do not stand at their default, since as they stand there a run is what it was without them.
local function said(spec) return spec.options:said() end

-- Whether a task reads a file of examples. Where it lies is no part of a run: what it holds is, by the digest of the
-- data.
local function reads_examples(task) return task.name:find "^scripted_" ~= nil end

local function task_text(task)
  if not reads_examples(task) then return said(task) end
  return core.options("task", task.name, task.text .. " file=''"):text()
end

local function versions_of(classes)
  local versions = {}
  for _, class in ipairs(classes) do versions[class.name] = class.version end
  return versions
end

local class_versions, task_versions = versions_of(core.models()), versions_of(core.tasks())

--- The version of a model's class, nil for a class that is not there.
function identity.class_version(name) return class_versions[name] end

--- The version of a task's class.
function identity.task_version(name) return task_versions[name] or 1 end

-- By name and options, and by the object that says them, which rows and seeds share.
local task_infos, infos_of = {}, setmetatable({}, { __mode = "k" })

--- What core.task_info says of a task: the sizes that models are told, `data`, and `digest`, that
--- of the data's content.
function identity.task_info(task)
  local known = infos_of[task]
  if known then return known end
  local key = task.name .. "\n" .. task.text
  task_infos[key] = task_infos[key] or core.task_info(task.options)
  infos_of[task] = task_infos[key]
  return task_infos[key]
end

--- The run whose weights a run starts from, or nil. A source with fewer seeds lends its last one; where
--- a command gave the seeds of all rows (`given_seeds`) one of the same experiment has as many.
function identity.source_of(run)
  local from = run.row.from
  if not from then return nil end
  if from.row.tune and not from.row.tuned and not run.row.untuned then
    error(("row \"%s\" starts from \"%s\", which is not tuned"):format(run.row.label, from.row.label), 0)
  end
  local given = from.experiment.runs == run.experiment and run.given_seeds or nil
  local seeds = given or from.row.seeds or from.experiment.default_seeds
  return {
    experiment = from.experiment.runs, row = from.row, seed = math.min(run.seed, seeds),
    scale = run.scale, given_seeds = given,
    device = run.device, slug = from.experiment:slug(from.row),
  }
end

-- Several parts as one text; each has its length before it, so that no two lists read alike.
local function joined(...)
  local texts = { ... }
  for i = 1, select("#", ...) do
    local text = tostring(texts[i] == nil and "" or texts[i])
    texts[i] = #text .. ":" .. text
  end
  return table.concat(texts)
end

local function digest_of(...) return core.hash(joined(...), 16) end

local seeds_joined = {}

-- The id of a run, digest_of(configuration, seed, id of the run that it starts from), without
-- joining what many have in common.
local function id_of(configuration, seed, start)
  local text = seeds_joined[seed] or joined(seed)
  seeds_joined[seed] = text
  return core.hash("16:" .. configuration .. text .. (start and joined(start.run_id) or "0:"), 16)
end

local function new_configuration(run, data_digest, starts_from, task_version)
  local row = run.row
  local parts = {
    identity.version, run.experiment, row.label, row.dataset, data_digest, row.model.name,
    class_versions[row.model.name] or "", said(row.model), row.task.name, task_text(row.task),
    said(row.train), row.train:option "precision", run.scale, run.device, starts_from or "",
  }
  parts[#parts + 1] = row.context and context.text(row.context)
  -- Runs of first versions were recorded without one.
  if task_version > 1 then parts[#parts + 1] = "task version " .. task_version end
  return digest_of(table.unpack(parts))
end

-- The last one of a row: seeds share it.
local configurations = setmetatable({}, { __mode = "k" })

--- The configuration of `run` (experiment, row, scale, device) on data of this digest, from these
--- weights.
function identity.configuration(run, data_digest, starts_from)
  local last = configurations[run.row]
  if last and last.train == run.row.train and last.experiment == run.experiment
    and last.scale == run.scale and last.device == run.device and last.data_digest == data_digest
    and last.starts_from == starts_from then
    return last.value
  end
  local value = new_configuration(run, data_digest, starts_from, identity.task_version(run.row.task.name))
  configurations[run.row] = { train = run.row.train, experiment = run.experiment,
    scale = run.scale, device = run.device, data_digest = data_digest, starts_from = starts_from,
    value = value }
  return value
end

--- The earlier version of its task's class with which `run` would have this configuration; nil for none.
function identity.earlier_task_version(run, data_digest, starts_from, configuration)
  for version = identity.task_version(run.row.task.name) - 1, 1, -1 do
    if new_configuration(run, data_digest, starts_from, version) == configuration then return version end
  end
end

-- The column of runs.csv that names the class of what has options.
local class_column = { model = "class", task = "task" }

-- Options of which one is there no more, which the program cannot read: of the others it lacks what the row has.
local function completed(text, spec)
  local known, words = option_text.values(text), { text }
  for _, pair in ipairs(option_text.pairs(spec.text)) do
    if not known[pair[1]] then words[#words + 1] = option_text.spell { [pair[1]] = pair[2] } end
  end
  return table.concat(words, " ")
end

-- Options as a run recorded them, those that came later at their defaults.
local function recorded(spec, run)
  local text = run[spec.kind .. "_options"] or ""
  local good, options = pcall(core.options, spec.kind, spec.name, text)
  return text ~= "" and good and options:text() or completed(text, spec)
end

--- What a recorded run has otherwise than a row as the script has it: { { "train.rate", its value, the row's } ... };
--- "model" or "task" alone where the class is another.
function identity.changes(row, run)
  local list, old, now = {}, {}, {}
  for _, kind in ipairs(option_text.kinds) do
    local spec, column = row[kind], kind .. "_options"
    local name = run[class_column[kind]] or spec.name
    if name == spec.name then
      old[column], now[column] = recorded(spec, run), spec.text
    else
      list[#list + 1] = { kind, name, spec.name }
    end
  end
  for _, option in ipairs(option_text.differences(old, now)) do
    if option[1] ~= "task.file" or not reads_examples(row.task) then list[#list + 1] = option end
  end
  return list
end

-- What a run starts from: "" for drawn weights, else the digest of a weight file's content, the
-- source's configuration, or both, one loaded over the other.
local function start_of(row, source)
  local weights = row.weights
  if not weights and not source then return "" end
  local parts = {}
  if weights then
    parts[1] = core.file_digest(data.weights(weights.name))
    if weights.partly then parts[2] = "partly" end
  end
  parts[#parts + 1] = source and source.configuration
  return table.concat(parts, " ")
end

--- The identity of `run` (experiment, row, seed, scale, device), which opens its data: { run_id,
--- configuration, data_digest, starts_from }.
function identity.of(run)
  local source = identity.source_of(run)
  local start = source and identity.of(source)
  local data_digest, starts_from = identity.task_info(run.row.task).digest, start_of(run.row, start)
  local configuration = identity.configuration(run, data_digest, starts_from)
  return { run_id = id_of(configuration, run.seed, start), configuration = configuration,
    data_digest = data_digest, starts_from = starts_from }
end

--- Gives what the seeds of a row have in common (plan.of) its `identity`, which has no run id.
function identity.fill(shared)
  shared.identity = identity.of(setmetatable({ seed = 1 }, { __index = shared }))
  shared.identity.run_id = nil
end

--- The id of a run that has an `identity`.
function identity.id(run)
  local source = identity.source_of(run)
  return id_of(run.identity.configuration, run.seed, source and identity.of(source))
end

--- The configuration of a row of a runs.csv of version 1, which knew data by their description: of
--- all columns that it recorded, so that runs which shared a label are told apart.
function identity.of_version_1(record)
  return digest_of(1, record.experiment, record.row, record.dataset, record.data,
    record.class, record.version,
    record.model_options, record.task, record.task_options, record.train_options, record.precision,
    record.scale,
    record.device)
end

return identity
