-- What a run is. Its configuration is a hash of everything that its numbers depend on but the seed; its run id is one of
-- configuration and seed. Whatever a run leaves (a row of runs.csv, curve, weights, probes, checkpoint, step times) is
-- found by these two; labels are for people.
local core = require "longhaul.core"
local data = require "longhaul.data"

local identity = {}

--- The number of this rule, column `identity` of runs.csv: 1 is that of runs whose data were known by names and sizes.
--- A rule that gives other ids to the same runs gets the next number.
identity.version = 2

local class_versions = {}
for _, class in ipairs(core.models()) do class_versions[class.name] = class.version end

--- The version of a model's class, nil for a class that is not there.
function identity.class_version(name) return class_versions[name] end

local task_infos = {}

--- What core.task_info says of a task: the sizes that models are told, `data`, and `digest`, that of the data's content.
function identity.task_info(task)
  local key = task.name .. "\n" .. task.text
  task_infos[key] = task_infos[key] or core.task_info(task.options)
  return task_infos[key]
end

--- The run whose weights a run starts from, or nil. A source with fewer seeds lends its last one.
function identity.source_of(run)
  local from = run.row.from
  if not from then return nil end
  local seeds = from.row.seeds or from.experiment.default_seeds
  return {
    experiment = from.experiment.runs, row = from.row, seed = math.min(run.seed, seeds), scale = run.scale,
    device = run.device, slug = from.experiment:slug(from.row),
  }
end

-- One hash of several parts; each has its length before it, so that no two lists read alike.
local function digest_of(parts)
  local texts = {}
  for i = 1, parts.n do
    local text = tostring(parts[i] == nil and "" or parts[i])
    texts[i] = #text .. ":" .. text
  end
  return core.hash(table.concat(texts)):sub(1, 16)
end

--- The configuration of `run` (experiment, row, scale, device) on data of this digest, from these weights.
function identity.configuration(run, data_digest, starts_from)
  local row = run.row
  return digest_of(table.pack(identity.version, run.experiment, row.label, row.dataset, data_digest, row.model.name,
    class_versions[row.model.name], row.model.text, row.task.name, row.task.text, row.train.text,
    row.train:option "precision", run.scale, run.device, starts_from))
end

-- What a run starts from: "" for drawn weights, else the digest of a weight file's content, the source's configuration,
-- or both, one loaded over the other.
local function start_of(row, source)
  local parts, weights = {}, row.weights
  if weights then
    parts[1] = core.file_digest(data.weights(weights.name))
    if weights.partly then parts[2] = "partly" end
  end
  parts[#parts + 1] = source and source.configuration
  return table.concat(parts, " ")
end

--- The identity of `run` (experiment, row, seed, scale, device), which opens its data: { run_id, configuration,
--- data_digest, starts_from }.
function identity.of(run)
  local source = identity.source_of(run)
  local start = source and identity.of(source)
  local made = { data_digest = identity.task_info(run.row.task).digest, starts_from = start_of(run.row, start) }
  made.configuration = identity.configuration(run, made.data_digest, made.starts_from)
  made.run_id = digest_of(table.pack(made.configuration, run.seed, start and start.run_id))
  return made
end

--- The configuration of a row of a runs.csv of version 1, which knew data by their description: of all columns that
--- it recorded, so that runs which shared a label are told apart.
function identity.of_version_1(record)
  return digest_of(table.pack(1, record.experiment, record.row, record.dataset, record.data, record.class, record.version,
    record.model_options, record.task, record.task_options, record.train_options, record.precision, record.scale,
    record.device))
end

return identity
