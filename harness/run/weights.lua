-- What a weight file is of: model, options, task and vocabulary as its metadata say, or the
-- config.json that others put beside theirs.
local core = require "longhaul.core"
local data = require "longhaul.run.data"
local quote = require "longhaul.run.quote"

local weights = {}

-- ---- config.json, as transformers writes it ----

-- Of each model_type: the class, which of its options are which fields, which fields must have a
-- value that the class has built in (nil: the field may be missing), what else is written, from the
-- values of options, and which options say how a model computes, not what.
local types = {
  gpt2 = {
    model = "gpt2",
    options = { layers = "n_layer", width = "n_embd", heads = "n_head", context = "n_positions",
      dropout = "resid_pdrop" },
    must = { activation_function = "gelu_new", layer_norm_epsilon = 1e-5, scale_attn_weights = true,
      scale_attn_by_inverse_layer_idx = false, tie_word_embeddings = true },
    more = function(value)
      return { architectures = { "GPT2LMHeadModel" }, embd_pdrop = value "dropout",
        attn_pdrop = value "dropout" }
    end,
    ours = { recompute = true, cache = true },
  },
  mamba2 = {
    model = "mamba2",
    options = { layers = "num_hidden_layers", width = "hidden_size", expand = "expand",
      state = "state_size", head_width = "head_dim", groups = "n_groups", kernel = "conv_kernel",
      epsilon = "layer_norm_epsilon", tied = "tie_word_embeddings" },
    must = { hidden_act = "silu", use_bias = false, use_conv_bias = true },
    more = function(value)
      return { architectures = { "Mamba2ForCausalLM" },
        num_heads = value "expand" * value "width" // value "head_width" }
    end,
    ours = { step_min = true, step_max = true },
  },
  t5 = {
    model = "t5",
    options = { layers = "num_layers", width = "d_model", heads = "num_heads", head_width = "d_kv",
      hidden = "d_ff", dropout = "dropout_rate" },
    must = { feed_forward_proj = "relu", layer_norm_epsilon = 1e-6, tie_word_embeddings = true,
      relative_attention_num_buckets = 32, relative_attention_max_distance = 128 },
    more = function(value)
      return { architectures = { "T5ForConditionalGeneration" }, num_decoder_layers = value "layers",
        d_kv = value "head_width" > 0 and value "head_width" or value "width" // value "heads",
        decoder_start_token_id = 0 }
    end,
    ours = {},
  },
}

local function known_types()
  local names = {}
  for name in pairs(types) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, ", ")
end

local function number_text(value)
  return math.type(value) == "float" and value % 1 == 0 and ("%d"):format(value) or tostring(value)
end

-- What BPE's two files are called: tokens and merges.
local bpe_files = { { "vocab.json", "merges.txt" }, { "encoder.json", "vocab.bpe" } }

-- The vocabulary beside published weights, where it is one that longhaul reads.
local function tokens_of(folder)
  for _, names in ipairs(bpe_files) do
    if core.exists(folder .. "/" .. names[1]) and core.exists(folder .. "/" .. names[2]) then
      return "bpe:" .. folder .. "/"
    end
  end
  return nil
end

--- What a config.json says, as weights.about gives it; an error that names the field where the
--- class differs. An encoder-decoder with unlike stacks is refused, too.
function weights.of_config(path)
  local config = core.parse_json(core.read_file(path))
  local type_of = types[type(config) == "table" and config.model_type or ""]
  if not type_of then
    error(("%s: model_type '%s' is none that is read: %s"):format(path,
      tostring(type(config) == "table" and config.model_type), known_types()), 0)
  end
  for field, value in pairs(type_of.must) do
    if config[field] ~= nil and config[field] ~= value then
      error(("%s: %s is %s; %s has %s"):format(path, field, number_text(config[field]),
        type_of.model, tostring(value)), 0)
    end
  end
  if config.num_decoder_layers and config.num_decoder_layers ~= config.num_layers then
    error(("%s: num_decoder_layers is %d, num_layers %d; %s has as many of both"):format(path,
      config.num_decoder_layers, config.num_layers, type_of.model), 0)
  end
  local options = {}
  for option, field in pairs(type_of.options) do
    if config[field] ~= nil then
      options[#options + 1] = ("%s=%s"):format(option, number_text(config[field]))
    end
  end
  table.sort(options)
  return { model = type_of.model, model_options = table.concat(options, " "),
    vocabulary = config.vocab_size and number_text(config.vocab_size),
    tokens = tokens_of(path:match "^(.*)/[^/]*$") }
end

--- Where the config.json of a weight file lies.
function weights.config_path(path) return (path:match "^(.*/)[^/]*$" or "./") .. "config.json" end

local function type_of_model(name)
  for model_type, about in pairs(types) do
    if about.model == name then return model_type, about end
  end
end

--- Refuses a place for published weights whose config.json is that of something else.
function weights.check_config(path, model)
  local config = weights.config_path(path)
  if not type_of_model(model) or not core.exists(config) then return end
  local good, there = pcall(core.parse_json, core.read_file(config))
  if good and type(there) == "table" and there.model_type == type_of_model(model) then return end
  error(("%s is there and of no %s; config.json of the weights would replace it: choose another "
    .. "folder"):format(config, model), 0)
end

local function json_of(value)
  if type(value) == "table" then return "[" .. quote.json(value[1]) .. "]" end
  return type(value) == "string" and quote.json(value) or number_text(value)
end

-- Options, name=value each, that no field says and that are not the default.
local function unsaid(about, options)
  local usual, list = core.options("model", about.model, ""):text(), {}
  for name, value in options:text():gmatch "([%w_]+)=(%S+)" do
    local is_usual = usual:match("%f[%w_]" .. name .. "=(%S+)") == value
    if not is_usual and not about.options[name] and not about.ours[name] then
      list[#list + 1] = ("%s=%s"):format(name, value)
    end
  end
  return list
end

--- Writes config.json beside a file of published weights that longhaul wrote, as transformers reads
--- it, where the model has one there. Gives the options, name=value each, that it has no field for.
function weights.write_config(path)
  local said = core.weights_texts(path)
  local model_type, about = type_of_model(said.model)
  if not about then return {} end
  local options = core.options("model", said.model, said.model_options)
  local function value(name) return options:value(name) end
  local fields = about.more(value)
  fields.model_type, fields.vocab_size = model_type, math.tointeger(said.vocabulary)
  for name, built_in in pairs(about.must) do fields[name] = built_in end
  for option, field in pairs(about.options) do
    if fields[field] == nil then fields[field] = value(option) end
  end
  local lines = {}
  for name, content in pairs(fields) do
    lines[#lines + 1] = ("  %s: %s"):format(quote.json(name), json_of(content))
  end
  table.sort(lines)
  core.write_file(weights.config_path(path), "{\n" .. table.concat(lines, ",\n") .. "\n}\n")
  return unsaid(about, options)
end

-- ---- what a file says ----

--- What the weight file at `path` is of: { model =, model_options =, task =, task_options =,
--- vocabulary = rows of the embedding, tokens = the name of the vocabulary }, each nil where
--- neither the file nor a config.json beside it says so.
function weights.about(path)
  local about, config = core.weights_texts(path), weights.config_path(path)
  if not about.model and core.exists(config) then return weights.of_config(config) end
  if about.task then
    about.tokens = core.options("task", about.task, about.task_options):value "tokens"
  end
  return about
end

-- Options of the file with those of the command line on top, where both are of one class.
local function on_top(class, of_file, options, given)
  if class ~= of_file or not options then return given or "" end
  return options .. " " .. (given or "")
end

--- What a command line says (`model`, `options`, `task`, `task-options`, `tokens`, `vocabulary`)
--- completed by its weight file (`weights`): the same fields, `path` of the file (nil without one)
--- and `task_class`. An option that is given counts before that of the file.
function weights.complete(values)
  local path = values.weights and data.weights(values.weights)
  local about = path and weights.about(path) or {}
  local model = values.model or about.model
  if not model then return nil, path end
  local task = values.task or about.task or "language_model"
  return {
    path = path, model = model, task = task,
    options = on_top(model, about.model, about.model_options, values.options),
    task_options = on_top(task, about.task, about.task_options, values["task-options"]),
    tokens = values.tokens or about.tokens,
    vocabulary = values.vocabulary or about.vocabulary,
  }, path
end

return weights
