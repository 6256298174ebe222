-- What a weight file is of: model, options, task and vocabulary as its metadata say, or the
-- config.json that others put beside theirs.
local core = require "longhaul.core"
local data = require "longhaul.run.data"
local lists = require "longhaul.run.lists"
local option_text = require "longhaul.run.option_text"
local quote = require "longhaul.run.quote"

local weights = {}

-- The options that the file at `path` says; an error that names it where they are none of the class.
local function options_of(path, kind, class, text)
  local options, wrong = core.options_or_refusal(kind, class, text)
  if not options then error(("%s: %s"):format(path, wrong), 0) end
  return options
end

-- ---- config.json, as transformers writes it ----

-- A number with all of its digits, of which tostring keeps 14.
local function number_text(number)
  local text = tostring(number)
  return tonumber(text) == number and text or ("%.17g"):format(number)
end

local function text_of(value)
  if type(value) == "number" then return number_text(math.tointeger(value) or value) end
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for i, part in ipairs(value) do parts[i] = text_of(part) end
  return table.concat(parts, ",")
end

-- An option's value where 0 stands for a usual one.
local function or_else(value, usual) return value > 0 and value or usual end

-- The kind of each layer of a Reformer; what the library calls "lsh" sees across buckets.
local function kinds_of(value)
  local turn, kinds = {}, {}
  for kind in value "attention":gmatch "[^,]+" do turn[#turn + 1] = kind:gsub("^lsh_chunks$", "lsh") end
  for i = 1, value "layers" do kinds[i] = turn[(i - 1) % #turn + 1] end
  return kinds
end

-- Whether a range of two numbers ends nowhere above 0; transformers 5 has an object for what JSON has no number for.
local function is_open(range)
  if type(range) ~= "table" then return range == nil end
  local least, most = table.unpack(range, 1, 2)
  if type(most) == "table" then most = most.__float__ == "Infinity" and math.huge end
  return (least or 0) == 0 and (most == nil or most == math.huge)
end

local function product(values)
  local result = 1
  for _, value in ipairs(values) do result = result * value end
  return result
end

-- Of each model_type: the class, which of its options are which fields, which fields must have a
-- value that the class has built in (nil: the field may be missing), options that are read from
-- more than one field, what else is written, from the values of options, which options say how a
-- model computes, not what, or are said otherwise, and which values of options can be said.
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
    read = function(config, refuse)
      if not is_open(config.time_step_limit) then refuse("time_step_limit", "none") end
      return {}
    end,
    more = function(value)
      return { architectures = { "Mamba2ForCausalLM" },
        num_heads = value "expand" * value "width" // value "head_width" }
    end,
    ours = { step_min = true, step_max = true },
  },
  reformer = {
    model = "reformer",
    options = { width = "hidden_size", heads = "num_attention_heads",
      head_width = "attention_head_size", hidden = "feed_forward_size",
      rounds = "num_hashes", chunk = "lsh_attn_chunk_length", buckets = "num_buckets",
      local_chunk = "local_attn_chunk_length", positions = "axial_pos_shape",
      position_widths = "axial_pos_embds_dim", dropout = "hidden_dropout_prob" },
    must = { is_decoder = true, hidden_act = "relu", axial_pos_embds = true,
      tie_word_embeddings = false, lsh_num_chunks_before = 1, lsh_num_chunks_after = 0,
      local_num_chunks_before = 1, local_num_chunks_after = 0 },
    read = function(config)
      local kinds = config.attn_layers
      if type(kinds) ~= "table" then return {} end
      return { layers = #kinds, attention = text_of(kinds):gsub("%f[%w]lsh%f[%W]", "lsh_chunks") }
    end,
    more = function(value)
      return { architectures = { "ReformerModelWithLMHead" }, attn_layers = kinds_of(value),
        attention_head_size = or_else(value "head_width", value "width" // value "heads"),
        feed_forward_size = or_else(value "hidden", 4 * value "width"),
        max_position_embeddings = product(value "positions"),
        local_attention_probs_dropout_prob = 0.0, lsh_attention_probs_dropout_prob = 0.0 }
    end,
    ours = { layers = true, feed_forward_chunk = true, eval_rounds = true },
    says = {
      attention = function(text)
        return (text:gsub("lsh_chunks", ""):gsub("local", ""):match "^,*$")
      end,
      positions = function(text) return text:match "^%d+,%d+$" end,
      position_widths = function(text) return text:match "^%d+,%d+$" end,
      residual = function(text) return text ~= "plain" end,
    },
  },
  ["transfo-xl"] = {
    model = "dai_xl",
    options = { layers = "n_layer", width = "d_model", heads = "n_head", head_width = "d_head",
      hidden = "d_inner", memory = "mem_len", same_length = "same_length", cutoffs = "cutoffs",
      cluster_divisor = "div_val", dropout = "dropout", attention_dropout = "dropatt" },
    must = { adaptive = true, attn_type = 0, layer_norm_epsilon = 1e-5, pre_lnorm = false,
      proj_share_all_but_first = true, tie_weight = true, tie_word_embeddings = true },
    read = function(config, refuse)
      if config.d_embed and config.d_embed ~= config.d_model then
        refuse("d_embed", "d_model, " .. text_of(config.d_model))
      end
      local ties = config.tie_projs or {}
      for i, tied in ipairs(type(ties) == "table" and ties or { ties }) do
        if tied ~= (i > 1) then refuse("tie_projs", "false for the first cluster, true for the others") end
      end
      local clamp = tonumber(config.clamp_len or 0) or refuse("clamp_len", "a number")
      return { share_biases = config.untie_r == false, longest_distance = math.max(clamp, 0) }
    end,
    more = function(value)
      return { architectures = { "TransfoXLLMHeadModel" }, d_embed = value "width",
        d_head = or_else(value "head_width", value "width" // value "heads"),
        d_inner = or_else(value "hidden", 4 * value "width"), clamp_len = value "longest_distance",
        cutoffs = value "cutoffs", untie_r = not value "share_biases" }
    end,
    ours = { share_biases = true, longest_distance = true, initial_deviation = true },
  },
  t5 = {
    model = "t5",
    options = { layers = "num_layers", width = "d_model", heads = "num_heads", head_width = "d_kv",
      hidden = "d_ff", dropout = "dropout_rate" },
    must = { feed_forward_proj = "relu", layer_norm_epsilon = 1e-6, tie_word_embeddings = true,
      relative_attention_num_buckets = 32, relative_attention_max_distance = 128 },
    more = function(value)
      return { architectures = { "T5ForConditionalGeneration" }, num_decoder_layers = value "layers",
        d_kv = or_else(value "head_width", value "width" // value "heads"),
        decoder_start_token_id = 0 }
    end,
    ours = {},
  },
}

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

-- A text as Python's json writes it in JSON: it has words for numbers that JSON has not, as Mamba-2's time_step_limit
-- has one before transformers 5.
local function as_json(text)
  return (text:gsub("([:%[,]%s*%-?)Infinity", "%11e999"):gsub("([:%[,]%s*)NaN", "%1null"))
end

-- A config.json, and what is known of its model_type.
local function read_config(path)
  local config, wrong = core.parse_json_or_refusal(as_json(core.read_file(path)))
  if wrong then error(("%s: %s"):format(path, wrong), 0) end
  local model_type = type(config) == "table" and config.model_type or nil
  local type_of = types[model_type or ""]
  if type_of then return config, type_of end
  error(("%s: model_type '%s' is none that is read: %s"):format(path, text_of(model_type),
    table.concat(lists.keys(types), ", ")), 0)
end

-- Refuses what the class has built in otherwise, and an encoder-decoder with unlike stacks.
local function check_built_in(path, config, type_of, refuse)
  for field, value in pairs(type_of.must) do
    if config[field] ~= nil and config[field] ~= value then refuse(field, tostring(value)) end
  end
  if config.num_decoder_layers and config.num_decoder_layers ~= config.num_layers then
    error(("%s: num_decoder_layers is %s, num_layers %s; %s has as many of both"):format(path,
      text_of(config.num_decoder_layers), text_of(config.num_layers), type_of.model), 0)
  end
end

--- What a config.json says, as weights.about gives it; an error that names the field where the
--- class differs.
function weights.of_config(path)
  local config, type_of = read_config(path)
  local function refuse(field, has)
    error(("%s: %s is %s; %s has %s"):format(path, field, text_of(config[field]), type_of.model, has), 0)
  end
  check_built_in(path, config, type_of, refuse)
  local options = {}
  for option, field in pairs(type_of.options) do
    local text = config[field] ~= nil and text_of(config[field]) or ""
    if text ~= "" then options[#options + 1] = ("%s=%s"):format(option, text) end
  end
  for option, value in pairs(type_of.read and type_of.read(config, refuse) or {}) do
    options[#options + 1] = ("%s=%s"):format(option, text_of(value))
  end
  table.sort(options)
  local text = table.concat(options, " ")
  options_of(path, "model", type_of.model, text)
  return { model = type_of.model, model_options = text,
    vocabulary = config.vocab_size and text_of(config.vocab_size),
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
  local there = core.parse_json_or_refusal(core.read_file(config))
  if type(there) == "table" and there.model_type == type_of_model(model) then return end
  error(("%s is there and of no %s; config.json of the weights would replace it: choose another "
    .. "folder"):format(config, model), 0)
end

-- A real number keeps its point: the library takes no 0 for a rate.
local function json_of(value)
  if math.type(value) == "float" then return number_text(value) end
  if type(value) == "string" then return quote.json(value) end
  if type(value) ~= "table" then return text_of(value) end
  local parts = {}
  for i, part in ipairs(value) do parts[i] = json_of(part) end
  return "[" .. table.concat(parts, ", ") .. "]"
end

-- Options, name=value each, that no field says and that are not the default, or of values that it
-- cannot say.
local function unsaid(about, options)
  local usual, list = core.options("model", about.model, ""):text(), {}
  for name, value in options:text():gmatch "([%w_]+)=(%S+)" do
    local is_usual = usual:match("%f[%w_]" .. name .. "=(%S+)") == value
    local said = is_usual or about.options[name] or about.ours[name]
    if about.says and about.says[name] then said = about.says[name](value) end
    if not said then
      list[#list + 1] = ("%s=%s"):format(name, value)
    end
  end
  return list
end

--- Writes config.json beside a file of published weights that longhaul wrote, as transformers reads
--- it. Gives the options, name=value each, that it has no field for; nil where the model has none there,
--- and nothing is written.
function weights.write_config(path)
  local said = core.weights_texts(path)
  local model_type, about = type_of_model(said.model)
  if not about then return nil end
  local options = core.options("model", said.model, said.model_options)
  local function value(name) return options:value(name) end
  local fields = about.more(value)
  fields.model_type, fields.vocab_size = model_type, math.tointeger(said.vocabulary)
  for name, built_in in pairs(about.must) do fields[name] = built_in end
  for option, field in pairs(about.options) do
    local content = value(option)
    local empty = type(content) == "table" and #content == 0
    if fields[field] == nil and not empty then fields[field] = content end
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
--- vocabulary = rows of the embedding, tokens = the name of the vocabulary, segment = the tokens of
--- a segment that it was trained with }, each nil where neither the file nor a config.json beside it says so.
function weights.about(path)
  local about, config = core.weights_texts(path), weights.config_path(path)
  if not about.model and core.exists(config) then return weights.of_config(config) end
  if about.task then
    local options = options_of(path, "task", about.task, about.task_options)
    about.tokens, about.segment = options:value "tokens", options:value "segment"
  end
  return about
end

-- ---- vocabularies ----

--- What the tokens of a task mean, as a digest; nil where it has none, or they cannot be opened by its options.
function weights.vocabulary_digest(task)
  local name = task:value "tokens"
  if not name then return nil end
  local good, opened = pcall(core.tokenizer, name, task)
  if not good then return nil end
  local digest = opened:digest()
  opened:close()
  return digest
end

-- Refuses weights whose tokens meant something else than `digest`. A file that does not say is noted, where
-- the vocabulary is one of many of its name.
local function check_digest(path, digest, name)
  local about = core.weights_texts(path)
  if about.vocabulary_digest and about.vocabulary_digest ~= digest then
    error(("%s: its tokens mean something else than those of tokens=%s here, so that its embedding is of no use: "
      .. "name the corpus that its vocabulary was trained on (tokens=KIND:train:SIZE:CORPUS), or train without it")
      :format(path, name), 0)
  end
  if about.model and not about.vocabulary_digest and name:find ":train:" then
    io.stderr:write(("note: %s does not say what its tokens mean; that it is what those of tokens=%s do is not "
      .. "checked\n"):format(path, name))
  end
end

--- Refuses weights for a task (its options) whose tokens mean something else.
function weights.check_vocabulary(path, task)
  local digest = weights.vocabulary_digest(task)
  if digest then check_digest(path, digest, task:value "tokens") end
end

--- The same for an open tokenizer that is called `name`.
function weights.check_tokenizer(path, tokenizer, name) check_digest(path, tokenizer:digest(), name) end

-- Options of the file with those of the command line on top, where both are of one class.
local function on_top(class, of_file, options, given)
  if class ~= of_file or not options then return given or "" end
  return options .. " " .. (given or "")
end

-- What the command line says of the model against its file, which shapes need not tell. What is wrong in
-- its options is said where they are read.
local function contradictions(path, about, model, options)
  if not about.model then return {} end
  if model ~= about.model then return { { about.model, model } } end
  local list, there = {}, about.model_options or ""
  local of_file = option_text.values(options_of(path, "model", model, there):text())
  local read = core.options_or_refusal("model", model, options)
  if not read then return list end
  local here = option_text.values(read:text())
  for _, pair in ipairs(option_text.pairs(there)) do
    local name = pair[1]
    if of_file[name] ~= here[name] then
      list[#list + 1] = { ("%s=%s"):format(name, of_file[name]), ("%s=%s"):format(name, here[name]) }
    end
  end
  return list
end

-- What is told on standard error: it goes on all the same, for the command line counts first.
local function tell(path, about, model, options)
  for _, pair in ipairs(contradictions(path, about, model, options)) do
    io.stderr:write(("note: %s is of %s; the command line says %s, which counts\n"):format(path,
      pair[1], pair[2]))
  end
end

--- What a command line says (`model`, `options`, `task`, `task-options`, `tokens`, `vocabulary`)
--- completed by its weight file (`weights`): the same fields, `path` of the file (nil without one)
--- and `task_class`. An option that is given counts before that of the file.
function weights.complete(values)
  local path = values.weights and data.weights(values.weights)
  local about = path and weights.about(path) or {}
  local model = values.model or about.model
  if not model then return nil, path end
  local options = on_top(model, about.model, about.model_options, values.options)
  tell(path, about, model, options)
  local task = values.task or about.task or "language_model"
  return {
    path = path, model = model, task = task,
    options = options,
    task_options = on_top(task, about.task, about.task_options, values["task-options"]),
    tokens = values.tokens or option_text.values(values["task-options"] or "").tokens or about.tokens,
    vocabulary = values.vocabulary or about.vocabulary, segment = about.segment,
  }, path
end

return weights
