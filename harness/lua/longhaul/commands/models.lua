-- train, eval, export, forward: one model at a time.
local causality = require "longhaul.run.causality"
local choice = require "longhaul.run.choice"
local command = require "longhaul.command"
local core = require "longhaul.core"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local progress = require "longhaul.run.progress"
local stand_in = require "longhaul.run.stand_in"
local weights = require "longhaul.run.weights"

-- What a command line and its weight file say together.
local function completed(values)
  local said, path = weights.complete(values)
  if said then return said end
  command.misuse(path and ("%s does not say which model it is of: --model NAME is needed"):format(path)
    or "a --model NAME is needed; `longhaul describe` lists them")
end

-- The options of the task. Weights are of one vocabulary: it may lie beside them, and which one it is
-- is not guessed, nor is it by `generate`.
local function task_options_of(said)
  local options = command.options("task", said.task, said.task_options)
  local tokens = options:value "tokens"
  if not said.path or not tokens or tokens == said.tokens then return options end
  if not said.tokens then
    command.misuse(("eval needs --task-options 'tokens=...': %s does not say its vocabulary"):format(
      said.path))
  end
  return core.options("task", said.task, ("%s tokens='%s'"):format(said.task_options,
    said.tokens:gsub("[\\']", "\\%0")))
end

local function session_of(values)
  local said = completed(values)
  local task = task_options_of(said)
  if said.path then weights.check_vocabulary(said.path, task) end
  return core.session {
    model = command.options("model", said.model, said.options),
    task = task,
    train = command.options("train", "train", values.train or ""),
    seed = command.integer(values, "seed", 1, 0, math.maxinteger),
    device = values.device or "cpu",
  }, said, task
end

local function print_metrics(values)
  for _, name in ipairs(lists.keys(metrics.check_scored(values))) do
    print(("%-20s %s"):format(name, metrics.spell(values[name])))
  end
end

-- Before the training, not after it.
local function check_published_names(name, path)
  local class = lists.named(core.models(), name)
  if class and not class.published_names then error(("%s has no published names of its tensors"):format(name), 0) end
  if path then weights.check_config(path, name) end
end

local function save_weights(session, path, published, task)
  session:save_weights(path, published, weights.vocabulary_digest(task))
  if not published then return end
  local unsaid = weights.write_config(path)
  if not unsaid then
    print "no config.json is written: transformers has none for this model"
  elseif #unsaid > 0 then
    print(("%s has no field for %s: others compute without"):format(weights.config_path(path),
      table.concat(unsaid, ", ")))
  end
end

-- A training whose worth cannot be told is refused before it.
local function check_splits(session, values, task)
  local plan = command.options("train", "train", values.train or "")
  if plan:value "evaluate_every" > 0 then session:check_split "valid" end
  session:check_split "test"
  choice.check_column("keep_best", task, metrics.column("valid", plan:value "keep_best"), function()
    return session:measure_split "valid"
  end)
end

local function interrupted(text, ...)
  io.stderr:write("interrupted; ", text:format(...), "\n")
  return command.interrupted
end

local function train(values)
  command.output(values.out)
  command.output(values.snapshot)
  if values["published-names"] then check_published_names(values.model, values.out) end
  local session <close>, said, task = session_of(values)
  stand_in.tell(session:info())
  check_splits(session, values, said.task)
  causality.check(session, values.model)
  if values.snapshot and core.exists(values.snapshot) then session:restore(values.snapshot) end
  local shown = progress.new(values.model)
  if not session:train(values.snapshot, function(p) shown:show(p) end) then
    if not values.snapshot then return interrupted "nothing was kept without --snapshot" end
    return interrupted("the same command goes on from %s", values.snapshot)
  end
  shown:finish("trained")
  if values.out then save_weights(session, values.out, values["published-names"], task) end
  local scored = session:evaluate "test"
  if not scored then return interrupted "the test split was not read" end
  print_metrics(scored)
end

local function evaluate(values)
  if not values.weights then command.misuse("eval needs --weights FILE.safetensors") end
  local session <close>, said = session_of(values)
  stand_in.tell(session:info())
  session:load_weights(said.path)
  print_metrics(session:evaluate(values.split or "test") or {})
end

local function export(values)
  if not values.out then command.misuse("export needs --out FOLDER; `longhaul export --help`") end
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

local function token_of(word, place)
  local token = math.tointeger(tonumber(word))
  if not token then error(("%s: '%s' is no token number"):format(place, word), 0) end
  return check_token(token, place)
end

-- Rows of tokens from a .npy file or from text (one row a line); `ragged`: of any lengths.
local function read_tokens(path, ragged)
  if path:match("%.npy$") then return read_token_array(path) end
  local rows = {}
  for number, line in command.lines(core.read_file(path)) do
    local row, place = {}, ("%s:%d"):format(path, number)
    for word in line:gmatch("%S+") do row[#row + 1] = token_of(word, place) end
    if #row == 0 then error(place .. ": there are no tokens in this row", 0) end
    if not ragged and rows[1] and #row ~= #rows[1] then
      error(("%s: %d tokens, the first row has %d"):format(place, #row, #rows[1]), 0)
    end
    rows[#rows + 1] = row
  end
  if #rows == 0 then error(path .. ": there are no tokens in it", 0) end
  return rows
end

-- What a model of vectors is told: the sizes of the forecasting task with the given options.
local function vector_sizes(said)
  local options = said.task == "forecasting" and said.task_options or ""
  return core.task_info(command.options("task", "forecasting", options))
end

local function forward(values)
  if not values.out then command.misuse("forward needs --out; `longhaul forward --help`") end
  if (values.ids == nil) == (values.inputs == nil) then
    command.misuse "forward needs --ids or --inputs; `longhaul forward --help`"
  end
  command.output(values.out)
  command.output(values.heads)
  if values.inputs then values.task = values.task or "forecasting" end
  local said = completed(values)
  local sizes = values.inputs and vector_sizes(said)
    or { vocabulary = command.integer(said, "vocabulary", 32128), length = 0 }
  core.forward {
    model = command.options("model", said.model, said.options),
    sizes = sizes, weights = said.path,
    seed = command.integer(values, "seed", 1, 0, math.maxinteger),
    device = values.device or "cpu", tokens = values.ids and read_tokens(values.ids),
    source = values.source and read_tokens(values.source, true), inputs = values.inputs,
    segment = command.integer(values, "segment", sizes.length, 0), out = values.out,
    heads = values.heads,
  }
end

local model_options = {
  command.model_option(),
  { "options=", "model options, 'layers=4 width=128'", "TEXT" },
  { "seed=", "seed (default 1)", "N" },
  command.device_option "cpu, or cuda where built",
}

local function with(extra)
  local list = {}
  for _, option in ipairs(model_options) do list[#list + 1] = option end
  for _, option in ipairs(extra) do list[#list + 1] = option end
  return list
end

local weights_say = "A weight file that longhaul wrote says which model, options, task and vocabulary it is of, "
  .. "of others config.json beside it (gpt2, mamba2, reformer, t5, transfo-xl): the command line counts first."

local training = {
  command.task_option "task class (default language_model)",
  { "task-options=", "task and corpus options, 'name=books segment=512 batch=8'", "TEXT" },
  { "train=", "training options, 'steps=500 rate=0.5'", "TEXT" },
}

return {
  {
    name = "train", summary = "train one model from options on the command line", run = train,
    usage = "train --model NAME [--options TEXT] [--task-options TEXT] [--train TEXT] [--out FILE]",
    options = with { training[1], training[2], training[3],
      { "out=", "weight file to write", "FILE.safetensors" },
      { "published-names", "name tensors in it as published weight files do", with = "out" },
        { "snapshot=", "checkpoint to write and resume from", "FILE" } },
  },
  {
    name = "eval", summary = "evaluate weights on a task", run = evaluate,
    usage = "eval --weights FILE [--model NAME] [--options TEXT] [--task NAME] [--task-options TEXT] "
      .. "[--split valid|test]",
    description = weights_say,
    options = with { training[1], training[2], training[3],
      { "weights=", "weight file, a folder with one, or the name of fetched weights", "FILE" },
        { "split=", "valid or test (default)", "NAME", words = { "valid", "test" } } },
  },
  {
    name = "export", summary = "what another implementation needs to train the same run",
    run = export,
    usage = "export --model NAME --out FOLDER [--options TEXT] [--task-options TEXT] [--train TEXT] "
      .. "[--batches N]",
    description = "Writes run.json (all options), weights.safetensors (initial values) and "
      .. "batches.safetensors (tokens, vectors, sources, targets, weights and starts of the first N "
      .. "batches, as F32, whichever the task has).",
    options = with { training[1], training[2], training[3],
      { "batches=", "training batches (default 20)", "N" },
        { "out=", "folder to write", "FOLDER" } },
  },
  {
    name = "forward", summary =
      "outputs of any model on given tokens or vectors, segment by segment",
      run = forward,
    usage = "forward [--model NAME] [--weights FILE] (--ids FILE | --inputs FILE) --out FILE.npy "
      .. "[--options TEXT] [--segment N] ...",
    description = "Runs consecutive segments with what the model carries from a fresh start and writes "
      .. "the logits [rows][length][vocabulary] as .npy. Ids of tokens: .npy of integers [rows][length], "
      .. "or text with a row a line. A model with an encoder reads --source too, whose rows may "
      .. "differ in length. Inputs: .npy of reals [rows][length][features], windows of a series "
      .. "one behind the other, for which the predictions are written. --heads: of one segment, "
      .. "[attentions][heads][length], the mean over a head's width. " .. weights_say,
    options = with { { "vocabulary=", "embedding rows (default 32128)", "N", without = "inputs" },
      { "weights=", "weight file, or a folder with one; else initial values", "FILE" },
      { "ids=", "ids of tokens to read", "FILE" },
      { "source=", "ids of the encoder's tokens", "FILE", without = "inputs" },
      { "segment=", "tokens a pass; 0: all", "N" },
      { "inputs=", "vectors to read instead", "FILE.npy" },
      { "task-options=", "with --inputs: options of the forecasting task, for its sizes", "TEXT", with = "inputs" },
        { "out=", "logits to write", "FILE.npy" },
      { "heads=", "write what recurrence encodings add to heads, too", "FILE.npy" } },
  },
}
