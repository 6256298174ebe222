-- describe, train, eval, export, forward: one model at a time.
local command = require "longhaul.command"
local core = require "longhaul.core"
local data = require "longhaul.run.data"
local match = require "longhaul.match"
local metrics = require "longhaul.run.metrics"
local progress = require "longhaul.run.progress"
local quantity = require "longhaul.run.quantity"
local spec = require "longhaul.spec"

-- 1234567 -> "1,234,567".
local function grouped(number)
  local text = tostring(number)
  repeat
    local changed
    text, changed = text:gsub("^(-?%d+)(%d%d%d)", "%1,%2")
  until changed == 0
  return text
end

local function class_named(name)
  local names = {}
  for _, class in ipairs(core.models()) do
    if class.name == name then return class end
    names[#names + 1] = class.name
  end
  command.misuse(("no model '%s'%s; there are: %s"):format(name,
    core.did_you_mean(name, names), table.concat(names, ", ")))
end

local function range_of(option)
  if option.choices then return table.concat(option.choices, " | ") end
  if option.minimum then
    local bound = option.type == "integer" and "%.0f" or "%.6g"
    return ("%s, " .. bound .. " to " .. bound):format(option.type, option.minimum, option.maximum)
  end
  return option.type
end

local function print_options(options)
  for _, option in ipairs(options) do
    print(("    %-18s %s (default %s)"):format(option.name, option.meaning, option.default == ""
      and "none" or option.default))
    print(("    %-18s   %s"):format("", range_of(option)))
  end
end

-- What a model is described for: a task, a vocabulary, or the sizes of the forecasting task as it
-- stands.
local function sizes_for(class, values)
  if values.task then
    return core.task_info(core.options("task", values.task, values["task-options"] or ""))
  end
  if not class.tokens then return core.task_info(core.options("task", "forecasting", {})) end
  local vocabulary, length = command.integer(values, "vocabulary", 32128),
    command.integer(values, "segment", 4096)
  if not class.encodes then return { vocabulary = vocabulary, length = length } end
  -- an encoder's source is as long as the target
  return { vocabulary = vocabulary, length = length, source_vocabulary = vocabulary,
    source_length = length }
end

-- "parameters=1e6" -> the options at the size of that budget, and which of them changed to what.
local function matched(class, options, sizes, budget)
  local name, amount = budget:match "^([%w_]+)=(.+)$"
  if not tonumber(amount) or not match.budgets[name] then
    command.misuse(("--match is parameters=N or flops_per_token=N, not '%s'"):format(budget))
  end
  local given, changes = {}, {}
  for _, option in ipairs(class.options) do given[option.name] = options:spelled(option.name) end
  local model = match.model(spec.make("model", class.name, given), sizes,
    { [name] = tonumber(amount) })
  for _, option in ipairs(class.options) do
    local now = model:spelled(option.name)
    if now ~= given[option.name] then changes[#changes + 1] = option.name .. "=" .. now end
  end
  return model.options, table.concat(changes, " ")
end

local function describe(values, rest)
  if #rest == 0 then
    for _, class in ipairs(core.models()) do
      print(("%-24s %s (%s)"):format(class.name, class.summary, class.paper))
    end
    return
  end
  local class = class_named(rest[1])
  local options = core.options("model", class.name, values.options or "")
  local sizes = sizes_for(class, values)
  local changes
  if values.match then options, changes = matched(class, options, sizes, values.match) end
  local model = core.describe(options, sizes, sizes.length)
  print(("%s, version %d\n    %s\n    %s\n\nOPTIONS"):format(class.name, class.version,
    class.summary, class.paper))
  print_options(class.options)
  if changes then print(("\nMATCHED TO %s\n    %s"):format(values.match, changes)) end
  if #model.adapter > 0 then print("\nADAPTER") end
  for _, text in ipairs(model.adapter) do print("    " .. text) end
  print("\nPARAMETERS")
  for _, param in ipairs(model.parameters) do
    print(("    %-48s %-18s %14s"):format(param.name, param.shape, grouped(param.count)))
  end
  print(("    %-48s %-18s %14s"):format("total without embedding", "",
    grouped(model.total_without_embedding)))
  local whole = not sizes.data and ("total with %d embedding rows"):format(sizes.vocabulary)
    or ("total for %s"):format(sizes.data)
  print(("    %-48s %-18s %14s"):format(whole, "", grouped(model.total)))
  print("\nCARRIED STATE (per batch row)")
  for _, state in ipairs(model.states) do
    print(("    %-48s %-18s %s"):format(state.name, state.shape, state.kind))
  end
  print(("    %-48s %-18s %14s bytes"):format("total", "", grouped(model.state_bytes)))
  print(("\nFORWARD FLOP PER TOKEN\n    %s"):format(quantity.amount(model.flops_per_token)))
end

local function session_of(values)
  local model, task = values.model, values.task or "language_model"
  if not model then command.misuse "a --model NAME is needed; `longhaul describe` lists them" end
  return core.session {
    model = core.options("model", model, values.options or ""),
    task = core.options("task", task, values["task-options"] or ""),
    train = core.options("train", "train", values.train or ""),
    seed = command.integer(values, "seed", 1, 0, math.maxinteger),
    device = values.device or "cpu",
  }
end

local function print_metrics(values)
  local names = {}
  for name in pairs(metrics.check_scored(values)) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do print(("%-20s %.6g"):format(name, values[name])) end
end

local function train(values)
  if values.out then core.check_writable(values.out) end
  local session <close> = session_of(values)
  data.tell(session:info().data)
  if values.snapshot and core.exists(values.snapshot) then session:restore(values.snapshot) end
  local shown = progress.new(values.model)
  if not session:train(values.snapshot, function(p) shown:show(p) end) then
    return command.interrupted
  end
  shown:finish("trained")
  print_metrics(session:evaluate("test") or {})
  if values.out then session:save_weights(values.out, values["published-names"]) end
end

local function evaluate(values)
  local split = values.split or "test"
  if split ~= "valid" and split ~= "test" then
    command.misuse(("--split is valid or test, not '%s'"):format(split))
  end
  local session <close> = session_of(values)
  if not values.weights then command.misuse("eval needs --weights FILE.safetensors") end
  data.tell(session:info().data)
  session:load_weights(data.weights(values.weights))
  print_metrics(session:evaluate(split) or {})
end

local function export(values)
  if not values.out then command.misuse("export needs --out DIR; `longhaul export --help`") end
  local batches = command.integer(values, "batches", 20)
  core.make_folder(values.out)
  local session <close> = session_of(values)
  session:export(values.out, batches)
end

local most_token = 0x7fffffff

-- `place` is where it stands: "file:line".
local function check_token(token, place)
  if token < 0 or token > most_token then
    error(("%s: token %d is out of range"):format(place, token), 0)
  end
  return token
end

-- Rows of tokens from a .npy file.
local function read_token_array(path)
  local array, rows = core.read_npy(path), {}
  if #array.shape ~= 2 then
    error(("%s: tokens are an array [rows][length], not one of %d axes"):format(path, #array.shape),
      0)
  end
  if math.type(array[1]) == "float" then
    error(path .. ": tokens are integers, this array holds reals", 0)
  end
  if #array == 0 then error(path .. ": there are no tokens in it", 0) end
  for _, token in ipairs(array) do check_token(token, path) end
  local length = array.shape[2]
  for start = 1, #array, math.max(1, length) do
    rows[#rows + 1] = table.move(array, start, start + length - 1, 1, {})
  end
  return rows
end

local function token_of(word, path, line)
  local token = math.tointeger(tonumber(word))
  if not token then error(("%s:%d: '%s' is no token number"):format(path, line, word), 0) end
  return check_token(token, ("%s:%d"):format(path, line))
end

-- Rows of tokens from a .npy file or from text (one row a line); `ragged`: of any lengths.
local function read_tokens(path, ragged)
  if path:match("%.npy$") then return read_token_array(path) end
  local rows = {}
  for line in core.read_file(path):gmatch("[^\n]+") do
    local row = {}
    for word in line:gmatch("%S+") do
      row[#row + 1] = token_of(word, path, #rows + 1)
    end
    if #row == 0 then
      error(("%s:%d: there are no tokens in this row"):format(path, #rows + 1), 0)
    end
    if not ragged and rows[1] and #row ~= #rows[1] then
      error(("%s:%d: %d tokens, the first row has %d"):format(path, #rows + 1, #row, #rows[1]), 0)
    end
    rows[#rows + 1] = row
  end
  if #rows == 0 then error(path .. ": there are no tokens in it", 0) end
  return rows
end

-- What a model of vectors is told: the sizes of the forecasting task with the given options.
local function vector_sizes(values)
  return core.task_info(core.options("task", "forecasting", values["task-options"] or ""))
end

local function forward(values)
  for _, name in ipairs { "model", "out" } do
    if not values[name] then
      command.misuse(("forward needs --%s; `longhaul forward --help`"):format(name))
    end
  end
  if (values.tokens == nil) == (values.inputs == nil) then
    command.misuse "forward needs --tokens or --inputs; `longhaul forward --help`"
  end
  local sizes = values.inputs and vector_sizes(values)
    or { vocabulary = command.integer(values, "vocabulary", 32128), length = 0 }
  core.forward {
    model = core.options("model", values.model, values.options or ""),
    sizes = sizes, weights = values.weights,
    seed = command.integer(values, "seed", 1, 0, math.maxinteger),
    device = values.device or "cpu", tokens = values.tokens and read_tokens(values.tokens),
    source = values.source and read_tokens(values.source, true), inputs = values.inputs,
    segment = command.integer(values, "segment", sizes.length, 0), out = values.out,
    heads = values.heads,
  }
end

local model_options = {
  { "model=", "model class", "NAME" },
  { "options=", "model options, 'layers=4 width=128'", "TEXT" },
  { "seed=", "seed (default 1)", "N" },
  { "device=", "cpu, or cuda where built", "NAME" },
}

local function with(extra)
  local list = {}
  for _, option in ipairs(model_options) do list[#list + 1] = option end
  for _, option in ipairs(extra) do list[#list + 1] = option end
  return list
end

local training = {
  { "task=", "task class (default language_model)", "NAME" },
  { "task-options=", "task and corpus options, 'name=books segment=512 batch=8'", "TEXT" },
  { "train=", "training options, 'steps=500 rate=0.5'", "TEXT" },
}

return {
  {
    name = "describe", summary = "options, parameters, state and FLOPs of a model", run = describe,
    most = 1, usage = "describe [MODEL] [--options TEXT] [--vocabulary N] [--segment N]\n"
      .. "        [--match BUDGET] [--task NAME] [--task-options TEXT]",
    options = {
      { "options=", "model options", "TEXT" },
        { "vocabulary=", "embedding rows (default 32128)", "N" },
      { "segment=", "segment length for FLOPs (default 4096)", "N" },
      { "match=", "the width that meets a budget: parameters=N or flops_per_token=N", "BUDGET" },
      { "task=", "describe what a task makes of it, its adapter too", "NAME" },
      { "task-options=", "task and corpus options, 'name=books segment=512'", "TEXT" },
    },
  },
  {
    name = "train", summary = "train one model from options on the command line", run = train,
    usage = "train --model NAME [--options TEXT] [--task-options TEXT] [--train TEXT]\n        [--out FILE]",
    options = with { training[1], training[2], training[3],
      { "out=", "weight file to write", "FILE.safetensors" },
      { "published-names", "name tensors in it as published weight files do" },
        { "snapshot=", "checkpoint to write and resume from", "FILE" } },
  },
  {
    name = "eval", summary = "evaluate weights on a task", run = evaluate,
    usage = "eval --model NAME --weights FILE [--options TEXT] [--task-options TEXT]\n"
      .. "        [--split valid|test]",
    options = with { training[1], training[2], training[3],
      { "weights=", "weight file, or the name of fetched weights", "FILE.safetensors" },
        { "split=", "valid or test (default)", "NAME" } },
  },
  {
    name = "export", summary = "what another implementation needs to train the same run",
    run = export,
    usage = "export --model NAME --out DIR [--options TEXT] [--task-options TEXT] [--train TEXT]\n"
      .. "        [--batches N]",
    description = "Writes run.json (all options), weights.safetensors (initial values) and\n"
      .. "batches.safetensors (tokens, target, weights and starts of the first N batches, as F32).",
    options = with { training[1], training[2], training[3],
      { "batches=", "training batches (default 20)", "N" },
        { "out=", "folder to write", "DIR" } },
  },
  {
    name = "forward", summary =
      "outputs of any model on given tokens or vectors, segment by segment",
      run = forward,
    usage = "forward --model NAME [--weights FILE] (--tokens FILE | --inputs FILE) --out FILE.npy\n"
      .. "        [--options TEXT] [--segment N] ...",
    description = "Runs consecutive segments with carried state from a fresh start and writes\n"
      .. "the logits [rows][length][vocabulary] as .npy. Tokens: .npy of integers [rows][length],\n"
      .. "or text with a row a line. A model with an encoder reads --source too, whose rows may\n"
      .. "differ in length. Inputs: .npy of reals [rows][length][features], windows of a series\n"
      .. "one behind the other, for which the predictions are written. --heads: of one segment,\n"
      .. "[attentions][heads][length], the mean over a head's width.",
    options = with { { "vocabulary=", "embedding rows (default 32128)", "N" },
      { "weights=", "weight file; else initial values", "FILE.safetensors" },
      { "tokens=", "tokens to read", "FILE" }, { "source=", "tokens of the encoder", "FILE" },
      { "segment=", "tokens a pass; 0: all", "N" },
      { "inputs=", "vectors to read instead", "FILE.npy" },
      { "task-options=", "with --inputs: options of the forecasting task, for its sizes", "TEXT" },
        { "out=", "logits to write", "FILE.npy" },
      { "heads=", "write what recurrence encodings add to heads, too", "FILE.npy" } },
  },
}
