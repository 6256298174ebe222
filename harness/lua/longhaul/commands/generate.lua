-- generate: text from a model, as it comes.
local command = require "longhaul.command"
local core = require "longhaul.core"
local tokenizers = require "longhaul.run.tokenizer"
local weights = require "longhaul.run.weights"

local function number(values, name, default, most, range)
  local value = tonumber(values[name] or default)
  if not value or value < 0 or value > most then
    command.misuse(("--%s takes a number, %s, not '%s'"):format(name, range, values[name]))
  end
  return value
end

local function prompt_of(values)
  if values.prompt and values["prompt-file"] then
    command.misuse("--prompt and --prompt-file: give one of them")
  end
  local text = values["prompt-file"] and core.read_file(values["prompt-file"]) or values.prompt
  if not text or text == "" then
    command.misuse("generate needs a --prompt TEXT or --prompt-file FILE")
  end
  return text
end

-- What takes long is said once.
local function tell(model, segment)
  if segment == 0 then return end
  io.stderr:write(("longhaul: %s keeps nothing from token to token: each reads its segment of up to "
    .. "%d anew\n"):format(model, segment))
end

-- Whether a model reads the sources of a task by its encoder.
local function reads_sources(model, task)
  local encodes, fits = {}, {}
  for _, class in ipairs(core.models()) do encodes[class.name] = class.encodes end
  for _, pair in ipairs(core.pairs()) do fits[pair.model .. " " .. pair.task] = pair.way == "own" end
  return encodes[model] and fits[model .. " " .. task]
end

-- What the command line and the weight file say together; all that is needed is there.
local function completed(values)
  if not values.weights then
    command.misuse "generate needs --weights; `longhaul generate --help`"
  end
  local said, path = weights.complete(values)
  for _, name in ipairs { "model", "tokens" } do
    if not said or not said[name] then
      command.misuse(("generate needs --%s: %s does not say it"):format(name, path))
    end
  end
  if reads_sources(said.model, said.task) then
    error(("%s learnt to answer the sources of %s, and a text that is continued has none"):format(
      said.model, said.task), 0)
  end
  return said
end

local function generate(values)
  local said = completed(values)
  local prompt, count = prompt_of(values), command.integer(values, "count", 200, 0)
  local temperature = number(values, "temperature", 1, math.huge, "0 or more")
  local top_p = number(values, "top-p", 1, 1, "0 to 1")
  local top_k, seed = command.integer(values, "top-k", 0, 0),
    command.integer(values, "seed", 1, 0, math.maxinteger)
  local task = not values.tokens and command.options("task", said.task, said.task_options) or nil
  local tokenizer <close> = command.tokenizer(tokenizers.fitting, said.tokens,
    tonumber(said.vocabulary), said.path, task)
  weights.check_tokenizer(said.path, tokenizer, said.tokens)
  local generator <close> = core.generator {
    model = command.options("model", said.model, said.options),
    vocabulary = tokenizer:vocabulary(), weights = said.path,
    seed = seed,
    device = values.device or "cpu", segment = command.integer(values, "segment", said.segment or 0, 0),
  }
  tell(said.model, generator:segment())
  local read = tokenizer:encode(prompt)
  local text_of = tokenizers.continuation(tokenizer, prompt, read)
  generator:feed(read)
  io.stdout:write(prompt)
  for _ = 1, count do
    io.stdout:write(text_of(generator:next(temperature, top_k, top_p)))
    io.stdout:flush()
  end
  print(text_of())
end

return {
  {
    name = "generate", summary = "continue a text, token by token", run = generate,
    usage = "generate --weights FILE --prompt TEXT [--model NAME] [--tokens TOKENIZER] [--count N] ...",
    description = "Reads the prompt and writes what the model draws after it. A model with windows "
      .. "goes on in a new window when one is full; one with recurrence then knows the text "
      .. "before it only by what its state carries. A causal model without a cache reads what there "
      .. "is of a segment anew for each token. A weight file that longhaul wrote says which model, "
      .. "options and vocabulary it is of; what the command line says counts first.",
    options = {
      command.model_option(),
      { "options=", "model options, 'layers=4 width=128'", "TEXT" },
      { "weights=", "weight file, a folder with one, or the name of fetched weights", "FILE" },
      { "tokens=", "tokenizer, as in lh.data.text: bytes, bpe:gpt2, ...", "TOKENIZER" },
      { "prompt=", "text to continue", "TEXT" },
      { "prompt-file=", "file with it", "FILE" },
      { "count=", "tokens to draw (default 200)", "N" },
      { "temperature=", "1: as the model says; 0: always the likeliest (default 1)", "T" },
      { "top-k=", "draw among so many likeliest tokens; 0: all", "K" },
      { "top-p=", "draw among the likeliest with this probability together (default 1)", "P" },
      { "seed=", "seed of the draws (default 1)", "N" },
      { "segment=", "tokens of a segment that is read anew (default: the weight file's, else near 256)",
        "N" },
      command.device_option "cpu, or cuda where built",
    },
  },
}
