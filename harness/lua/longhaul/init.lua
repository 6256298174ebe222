-- The Lua library `longhaul`: what experiment scripts are written in. A script builds an experiment
-- and returns it; the command line runs, lists, tabulates or plots it.
local checks = require "longhaul.checks"
local core = require "longhaul.core"
local experiment = require "longhaul.experiment"
local fields = require "longhaul.fields"
local grid = require "longhaul.grid"
local identity = require "longhaul.run.identity"
local lists = require "longhaul.run.lists"
local loader = require "longhaul.loader"
local match = require "longhaul.match"
local predicate = require "longhaul.report.predicate"
local scale = require "longhaul.scale"
local spec = require "longhaul.spec"
local tune = require "longhaul.tune"

---@class longhaul
local longhaul = {}

--- The scales that there are: smoke, small, study, medium, gpu, paper.
longhaul.scales = scale.names

--- Sets what the command line decides before a script runs: `lh.configure { scale = "small" }`.
function longhaul.configure(changes)
  checks.fields("configure", changes, { { "scale", "string" } })
  scale.set(changes.scale)
end

--- The scale that this run is at.
---@return "smoke"|"small"|"study"|"medium"|"gpu"|"paper"
function longhaul.scale() return scale.get() end

--- Picks by scale: `lh.by_scale { smoke = 10, small = 1000, paper = 500e3 }`. A scale that is not
--- named takes the nearest smaller one that is.
---@generic T
---@param choices { smoke?: T, small?: T, study?: T, medium?: T, gpu?: T, paper?: T }
---@return T
function longhaul.by_scale(choices) return scale.choose(choices) end

--- Tables of options as one; of values with the same name the last one stands. Nil adds nothing.
---@param ... table?
---@return table
function longhaul.merged(...)
  local all = {}
  for i = 1, select("#", ...) do
    local part = select(i, ...)
    if type(part) ~= "table" and part ~= nil then
      spec.fail(("merged: argument %d is no table"):format(i))
    end
    for key, value in pairs(part or {}) do all[key] = value end
  end
  return all
end

--- A list of claims for `bench:claim`, and a function that adds one to it: `local claims, claim =
--- lh.claims { scale_changes = "width 64" }`, then `claim("paper_p072", holds)` or, with further
--- fields, `claim("paper_p072", holds, { direction = weaker })`. All have the fields of `shared`.
---@param shared? table
---@return longhaul.claim[]
---@return fun(id: string, holds: longhaul.predicate, more?: table)
function longhaul.claims(shared)
  local list = {}
  return list, function(id, holds, more)
    list[#list + 1] = longhaul.merged(shared, { id, holds = holds }, more)
  end
end

--- The value that a Lua file returns, by its path from the file that includes it: `local setting =
--- lh.include "setting.lua"`.
---@param name string
---@return any
function longhaul.include(name) return loader.include(name) end

--- The values of the files of one name in every folder beside the file that includes them: `for _,
--- claims in ipairs(lh.include_each "claims.lua") do`.
---@param name string
---@return any[]
function longhaul.include_each(name) return loader.include_each(name) end

--- A new experiment. Its name is the folder under results/. With `runs` its rows are runs of that
--- other experiment. So a figure shares runs with a table: what one has trained the other finds.
---@param name string "window-sweep"
---@param options? { runs?: string }
---@return longhaul.experiment
function longhaul.experiment(name, options)
  if options ~= nil then checks.fields("experiment", options, { { "runs", "string" } }) end
  return experiment.new(name, options and options.runs or name, scale.get())
end

--- Options of training: `lh.train { steps = 500, optimizer = "adafactor", rate = 0.5 }`.
---@param options longhaul.train
---@return longhaul.spec
function longhaul.train(options) return spec.make("train", "train", options) end

-- A table whose other fields are mistakes: the message, where %s is the field, then what was meant.
local function strict(made, message)
  return setmetatable(made, {
    __index = function(_, name)
      spec.fail(message:format(tostring(name)) .. core.did_you_mean(tostring(name), lists.keys(made)))
    end,
  })
end

-- Classes as fields: lh.models.brt { ... }.
local function constructors(kind, list)
  local made = {}
  for _, class in ipairs(list) do
    made[class.name] = function(options) return spec.make(kind, class.name, options) end
  end
  return strict(made, "no " .. kind .. " '%s'")
end

--- Models by name; `longhaul describe MODEL` lists their options.
longhaul.models = constructors("model", core.models())

local encodes = {}
for _, class in ipairs(core.models()) do encodes[class.name] = class.encodes end

--- Parameters of a model for a task, or over a vocabulary, its embedding table included; allocates
--- nothing.
---@param model longhaul.spec
---@param over longhaul.spec|integer
---@return integer
function longhaul.parameters(model, over)
  local task = spec.is(over, "task")
  if not spec.is(model, "model") or not (task or math.type(over) == "integer") then
    spec.fail "parameters takes a model, and a task or a vocabulary"
  end
  local info = task and identity.task_info(over)
    or { vocabulary = over, source_vocabulary = encodes[model.name] and over or 0, length = 1 }
  return core.describe(model.options, info, info.length).total
end

--- Bytes that a model carries from segment to segment of a task, for each batch row.
---@param model longhaul.spec
---@param task longhaul.spec
---@return integer
function longhaul.state_bytes(model, task)
  if not spec.is(model, "model") or not spec.is(task, "task") then
    spec.fail "state_bytes takes a model and a task"
  end
  local info = identity.task_info(task)
  return core.describe(model.options, info, info.length).state_bytes
end

-- What the data of a task say of its sizes; fails at the script's line where they are not here, as where results were
-- moved without them.
local function sizes_of(task)
  local good, info = pcall(identity.task_info, task)
  if good then return info end
  spec.fail(("match: %s; how large a model is depends on its task's data (vocabulary and lengths). Results that were "
    .. "moved without them are shown by commands that read no script: `longhaul report --results FOLDER` has their "
    .. "tables, `longhaul query --results FOLDER` their runs"):format(info))
end

--- A model at the size of a budget: `lh.match { lh.models.brt { layers = 4, heads = 2 }, task = task,
--- parameters = 1e6 }` is the same model with a million parameters for that task, within 3 %. The width
--- is changed, and the depth if no width does.
---@param options longhaul.match
---@return longhaul.spec
function longhaul.match(options)
  checks.fields("match", options, fields.match, true)
  if not spec.is(options[1], "model") or not spec.is(options.task, "task") then
    spec.fail "match takes a model, and its task, as in { model, task = task, parameters = 1e6 }"
  end
  return match.model(options[1], sizes_of(options.task), options)
end

--- Training options to be chosen for every row alike: `tune = lh.tune { rate = { 1e-3, 3e-3, 1e-2 },
--- steps = 200, by = "valid_bits_per_byte" }` in a row. Each combination is a trial. The row trains with
--- what did best on the validation split.
---@param options longhaul.tune
---@return longhaul.tune
function longhaul.tune(options) return tune.new(options) end

--- Comparisons over the cells of tables, of which claims are made; `p.cell`, `p.less`, `p.all` ...
longhaul.predicate = predicate

longhaul.data = strict({}, "lh.data has no field '%s'")

-- Data of a kind, checked against the options of the task that reads them. The first value is the
-- name.
local function data_of(kind, task, options)
  if type(options) ~= "table" then options = { options } end
  if options[1] ~= nil and options.name ~= nil then
    spec.fail(("%s: the first value is the name: 'name' would be another"):format(kind))
  end
  local made = {}
  for key, value in pairs(options) do made[key == 1 and "name" or key] = value end
  local read, wrong = core.options_or_refusal("task", task, made)
  if not read then spec.fail((wrong:gsub(task, kind, 1))) end
  return setmetatable(made, { kind = kind })
end

--- A corpus: `lh.data.text { "books", tokens = "bytes" }`. The first value is the name.
---@param options longhaul.text|string
---@return longhaul.corpus
function longhaul.data.text(options) return data_of("text", "language_model", options) end

--- A time series: `lh.data.series { "ETTh1" }`. The first value is the name.
---@param options longhaul.series|string
---@return longhaul.series
function longhaul.data.series(options) return data_of("series", "forecasting", options) end

--- The first of several corpora that is on this machine: `lh.data.first { "enwik8", "books" }`. The
--- last one is taken for granted. The embedded generator serves "books", "latex" and "code".
---@param names string[]
---@return string
function longhaul.data.first(names)
  if not lists.is_of_texts(names, 1) then
    spec.fail 'first takes the names of corpora, as in { "enwik8", "books" }'
  end
  for i = 1, #names - 1 do
    for _, folder in ipairs(core.data_folders()) do
      if core.exists(folder .. "/" .. names[i]) then return names[i] end
    end
  end
  return names[#names]
end

longhaul.tasks = constructors("task", core.tasks())

-- A task whose first value are data of a kind: their options join its own.
local function reads(kind, task, example)
  local make = longhaul.tasks[task]
  return function(options)
    if type(options) ~= "table" then return make(options) end
    local data = options[1]
    if data == nil then return make(options) end
    if (getmetatable(data) or {}).kind ~= kind then
      spec.fail(("%s: the first value is %s"):format(task, example))
    end
    local merged = longhaul.merged(data, options)
    merged[1] = nil
    return make(merged)
  end
end

--- Language modelling on a corpus: `lh.tasks.language_model { books, segment = 512, batch = 8 }`.
longhaul.tasks.language_model =
  reads("text", "language_model", 'a corpus, as in lh.data.text { "books" }')

--- Forecasting of a time series: `lh.tasks.forecasting { series, seq_len = 96, pred_len = 24 }`.
longhaul.tasks.forecasting = reads("series", "forecasting",
  'a series, as in lh.data.series { "ETTh1" }')

-- A task whose first value is the file that makes its examples, by its path from the script.
local function made_by(task)
  local make = longhaul.tasks[task]
  return function(options)
    local made = longhaul.merged(options)
    if made[1] ~= nil then
      if type(made[1]) ~= "string" then
        spec.fail(("%s: the first value is a file, as in \"copy.lua\""):format(task))
      end
      if made.file ~= nil then spec.fail(("%s: the first value is the file: 'file' would be another"):format(task)) end
      made.file, made[1] = loader.beside(made[1]), nil
    end
    return make(made)
  end
end

--- Examples of tokens that a Lua file makes: `lh.tasks.scripted_tokens { "copy.lua", batch = 8 }`.
longhaul.tasks.scripted_tokens = made_by "scripted_tokens"

--- Examples of vectors that a Lua file makes: `lh.tasks.scripted_vectors { "decay.lua" }`.
longhaul.tasks.scripted_vectors = made_by "scripted_vectors"

--- All combinations of ordered axes: `lh.grid { { "window", 32, 64 }, { "gate", "fixed", "lstm" }
--- }` gives an iterator over points with a field per axis, the last axis running fastest.
---@param axes any[][]
---@return fun(): table?
function longhaul.grid(axes) return grid.points(axes) end

return strict(longhaul, "longhaul has no field '%s'")
