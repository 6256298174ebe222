-- What a weight file is of: config.json of others as options of ours, or a refusal that names the
-- field.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local weights = require "longhaul.run.weights"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
local path = folder .. "/config.json"

local function of(text)
  core.write_file(path, text)
  return weights.of_config(path)
end

t.test("GPT-2's sizes", function()
  local about = of [[{"model_type": "gpt2", "n_layer": 24, "n_embd": 1024, "n_head": 16,
    "n_positions": 1024, "n_ctx": 1024, "resid_pdrop": 0.1, "vocab_size": 50257,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05}]]
  t.equal(about.model, "gpt2")
  t.equal(about.model_options, "context=1024 dropout=0.1 heads=16 layers=24 width=1024")
  t.equal(about.vocabulary, "50257")
  t.equal(about.tokens, nil)
  core.options("model", about.model, about.model_options)
  for _, names in ipairs { { "encoder.json", "vocab.bpe" }, { "vocab.json", "merges.txt" } } do
    core.write_file(folder .. "/" .. names[1], "{}")
    t.equal(weights.of_config(path).tokens, nil)
    core.write_file(folder .. "/" .. names[2], "")
    t.equal(weights.of_config(path).tokens, "bpe:" .. folder .. "/")
    for _, name in ipairs(names) do os.remove(folder .. "/" .. name) end
  end
end)

t.test("Mamba-2's and T5's", function()
  local about = of [[{"model_type": "mamba2", "num_hidden_layers": 24, "hidden_size": 768, "expand": 2,
    "state_size": 128, "head_dim": 64, "n_groups": 1, "conv_kernel": 4, "layer_norm_epsilon": 1e-05,
    "tie_word_embeddings": false, "hidden_act": "silu", "use_bias": false, "vocab_size": 50288}]]
  local options = core.options("model", about.model, about.model_options)
  t.equal(options:value "tied", false)
  t.equal(options:value "state", 128)
  about = of [[{"model_type": "t5", "num_layers": 6, "num_decoder_layers": 6, "d_model": 512,
    "num_heads": 8, "d_kv": 64, "d_ff": 2048, "feed_forward_proj": "relu",
    "relative_attention_num_buckets": 32, "vocab_size": 32128}]]
  t.equal(about.model_options, "head_width=64 heads=8 hidden=2048 layers=6 width=512")
  core.options("model", about.model, about.model_options)
end)

t.test("a Reformer's, whose hashed layers see across buckets", function()
  local about = of [[{"model_type": "reformer", "attn_layers": ["local", "lsh", "local"],
    "hidden_size": 16, "num_attention_heads": 2, "num_buckets": null, "is_decoder": true,
    "axial_pos_shape": [4, 16], "axial_pos_embds_dim": [6, 10]}]]
  t.equal(about.model_options, "attention=local,lsh_chunks,local heads=2 layers=3 "
    .. "position_widths=6,10 positions=4,16 width=16")
  t.equal(of([[{"model_type": "reformer", "hidden_size": 16}]]).model_options, "width=16")
end)

t.test("Transformer-XL's of WikiText-103", function()
  local fields = [["model_type": "transfo-xl", "adaptive": true, "attn_type": 0, "clamp_len": 1000,
    "cutoffs": [20000, 40000, 200000], "d_embed": 1024, "d_head": 64, "d_inner": 4096, "d_model": 1024,
    "div_val": 4, "dropatt": 0.0, "dropout": 0.1, "mem_len": 1600, "n_head": 16, "n_layer": 18,
    "pre_lnorm": false, "proj_share_all_but_first": true, "same_length": true, "tie_weight": true,
    "tie_projs": [false, true, true, true], "untie_r": true, "vocab_size": 267735]]
  local about = of("{" .. fields .. "}")
  t.equal(about.model, "dai_xl")
  t.equal(about.vocabulary, "267735")
  local options = core.options("model", about.model, about.model_options)
  for name, value in pairs { layers = 18, width = 1024, heads = 16, head_width = 64, hidden = 4096,
    memory = 1600, same_length = true, longest_distance = 1000, cluster_divisor = 4,
    share_biases = false, dropout = 0.1, attention_dropout = 0 } do
    t.equal(options:value(name), value)
  end
  t.equal(table.concat(options:value "cutoffs", ","), "20000,40000,200000")
  about = of((("{" .. fields .. "}"):gsub('clamp_len": 1000', 'clamp_len": -1')))
  t.equal(core.options("model", about.model, about.model_options):value "longest_distance", 0)
  for from, to in pairs { ['"pre_lnorm": false'] = '"pre_lnorm": true', ['"d_embed": 1024'] = '"d_embed": 512',
    ["[false, true, true"] = "[false, true, false", ['all_but_first": true'] = 'all_but_first": false' } do
    local at = fields:find(from, 1, true)
    local changed = fields:sub(1, at - 1) .. to .. fields:sub(at + #from)
    t.fails(function() of("{" .. changed .. "}") end, to:match '"(d_embed)"' or to:match '"(pre_lnorm)"'
      or (to:match "%[" and "tie_projs") or "proj_share_all_but_first")
  end
end)

t.test("what differs from the class is named", function()
  t.fails(function() of [[{"model_type": "gpt2", "activation_function": "relu"}]] end,
    "config.json: activation_function is relu; gpt2 has gelu_new")
  t.fails(function() of [[{"model_type": "t5", "feed_forward_proj": "gated-gelu"}]] end,
    "feed_forward_proj is gated-gelu; t5 has relu")
  t.fails(function() of [[{"model_type": "t5", "num_layers": 6, "num_decoder_layers": 2}]] end,
    "num_decoder_layers is 2, num_layers 6")
  t.fails(function() of [[{"model_type": "bert"}]] end,
    "model_type 'bert' is none that is read: gpt2, mamba2, reformer, t5")
  t.fails(function() of "[1]" end, "model_type 'nil'")
  t.fails(function() of "{bad" end, "config.json: no JSON at byte")
end)

t.test("what is no size is named by its field, or by the option that it is", function()
  for text, said in pairs {
    ['"gpt2", "n_layer": 1e300'] = "config.json: gpt2: option 'layers'",
    ['"gpt2", "n_layer": 2.5'] = "config.json: gpt2: option 'layers'",
    ['["gpt2"]'] = "model_type 'gpt2' is none that is read",
    ['"t5", "num_layers": 2, "num_decoder_layers": "x"'] = "num_decoder_layers is x, num_layers 2",
    ['"t5", "num_decoder_layers": 2'] = "num_decoder_layers is 2, num_layers nil",
    ['"transfo-xl", "tie_projs": 7'] = "tie_projs is 7",
    ['"transfo-xl", "clamp_len": "x"'] = "clamp_len is x; dai_xl has a number",
  } do
    t.fails(function() of('{"model_type": ' .. text .. "}") end, said)
  end
  t.equal(of([[{"model_type": "gpt2", "vocab_size": 1e30}]]).vocabulary, "1e+30")
end)

-- Before transformers 5 it is written as Python's json writes it, then as an object.
t.test("Mamba-2's steps have no limit", function()
  local function limited(limit)
    return of(('{"model_type": "mamba2", "hidden_size": 16, "time_step_limit": %s}'):format(limit)).model_options
  end
  for _, limit in ipairs { "[0.0, Infinity]", '[0.0, {"__float__": "Infinity"}]', "[0.0, null]", "null", "[]" } do
    t.equal(limited(limit), "width=16")
  end
  for limit, said in pairs { ["[0.0, 0.1]"] = "0,0.1", ["[0.001,Infinity]"] = "0.001,inf",
    ["[0.0, -Infinity]"] = "0,-inf", ["0.1"] = "0.1" } do
    t.fails(function() limited(limit) end, "config.json: time_step_limit is " .. said .. "; mamba2 has none")
  end
end)

local function saved(model, options)
  local task = model == "t5" and { "translation", "pairs=64 batch_tokens=64" }
    or { "language_model", "name=generate:books documents=4 document_bytes=2000 segment=16 batch=2" }
  local session <close> = core.session {
    model = core.options("model", model, options),
    task = core.options("task", table.unpack(task)),
    train = core.options("train", "train", "steps=1"), seed = 1, device = "cpu",
  }
  session:save_weights(folder .. "/model.safetensors", true)
  return folder .. "/model.safetensors"
end

t.test("options that no class here has are named with the file that says them", function()
  local file = saved("gpt2", "layers=1 width=16 heads=2 context=32")
  local text = core.read_file(file)
  for old, new in pairs { ["width="] = "wodth=", ["segment="] = "sogment=" } do
    core.write_file(file, (text:gsub(old, new)))
    t.fails(function() weights.complete { weights = file } end, ("%s: %s: unknown option '%s'"):format(file,
      old == "width=" and "gpt2" or "language_model", new:sub(1, -2)))
  end
end)

t.test("config.json is written as it is read", function()
  for model, given in pairs {
    gpt2 = "layers=1 width=16 heads=2 context=32 dropout=0.30000000000000004",
    mamba2 = "layers=1 width=16 state=4 head_width=8 expand=3 tied=false epsilon=1.2345678901234567e-05",
    t5 = "layers=1 width=16 heads=2 hidden=24",
    reformer = "layers=3 width=16 heads=2 attention=local,lsh_chunks chunk=8 local_chunk=4 rounds=2 "
      .. "buckets=4,2 positions=4,5 position_widths=6,10",
    dai_xl = "layers=1 width=16 heads=2 hidden=24 memory=6 same_length=true longest_distance=5 "
      .. "cutoffs=100,200 cluster_divisor=4 share_biases=false attention_dropout=0.3",
  } do
    os.remove(path)
    local file = saved(model, given)
    weights.check_config(file, model)
    t.equal(#weights.write_config(file), 0)
    weights.check_config(file, model)
    local ours, theirs = weights.about(file), weights.of_config(path)
    t.equal(theirs.model, model)
    t.equal(theirs.vocabulary, ours.vocabulary)
    local options = core.options("model", model, theirs.model_options)
    local first = core.options("model", model, ours.model_options)
    local function said(of, word)
      local value = of:value(word)
      return type(value) == "table" and table.concat(value, ",") or value
    end
    for word in given:gmatch "([%w_]+)=" do
      local want = word == "attention" and "local,lsh_chunks,local" or said(first, word)
      t.equal(said(options, word), want)
    end
    t.equal(core.parse_json(core.read_file(path)).d_kv, model == "t5" and 8 or nil)
  end
end)

t.test("Reformer's tensors lie as transformers has them", function()
  local text = core.read_file(saved("reformer", "layers=1 width=16 heads=2 hidden=24 "
    .. "attention=local local_chunk=4 positions=4,5 position_widths=6,10"))
  for name, shape in pairs {
    ["embeddings.position_embeddings.weights.0"] = "[4,1,6]",
    ["embeddings.position_embeddings.weights.1"] = "[1,5,10]",
    ["encoder.layers.0.feed_forward.dense.dense.weight"] = "[24,16]",
    ["encoder.layer_norm.weight"] = "[32]",
  } do
    local entry = text:match('"reformer%.' .. name:gsub("%.", "%%.") .. '":(%b{})')
    t.check(entry and entry:find('"shape":' .. shape, 1, true), name .. ": " .. tostring(entry))
  end
end)

t.test("what config.json has no field for is told", function()
  os.remove(path)
  local unsaid = weights.write_config(saved("gpt2",
    "layers=1 width=16 heads=2 context=32 window=8 recompute=false"))
  t.equal(table.concat(unsaid, " "), "window=8")
  unsaid = weights.write_config(saved("reformer",
    "layers=1 width=16 heads=2 attention=shared positions=16 residual=plain"))
  t.equal(table.concat(unsaid, " "), "residual=plain attention=shared positions=16 position_widths=''")
end)

t.test("a config.json of something else stays", function()
  core.write_file(path, '{"model_type": "bert"}')
  t.fails(function() weights.check_config(folder .. "/model.safetensors", "gpt2") end,
    "config.json is there and of no gpt2")
  core.write_file(path, "no JSON")
  t.fails(function() weights.check_config(folder .. "/model.safetensors", "gpt2") end,
    "choose another folder")
  weights.check_config(folder .. "/model.safetensors", "slide")
end)

t.test("what fails while a config.json is read does not make it that of something else", function()
  core.write_file(path, '{"model_type": "gpt2"}')
  local whole = core.parse_json_or_refusal
  core.parse_json_or_refusal = function() error("out of memory", 0) end
  local good, failure = pcall(weights.check_config, folder .. "/model.safetensors", "gpt2")
  core.parse_json_or_refusal = whole
  t.check(not good and failure == "out of memory", failure)
  os.remove(path)
  core.make_folder(path) -- which nobody can read
  good, failure = pcall(weights.check_config, folder .. "/model.safetensors", "gpt2")
  os.remove(path)
  t.check(not good and not failure:find("of no gpt2", 1, true), failure)
end)

t.test("of an option that is said twice the last counts", function()
  local said = weights.complete { model = "lstm", ["task-options"] = "tokens=words name=books tokens=bytes" }
  t.equal(said.tokens, "bytes")
end)

t.test("weights whose tokens mean something else are refused", function()
  local function task_of(more)
    return core.options("task", "language_model", "documents=6 document_bytes=2000 segment=32 batch=2 " .. more)
  end
  local books = task_of "name=generate:books tokens=bpe:train:300"
  local code = task_of "name=generate:code tokens=bpe:train:300"
  local digest, file = weights.vocabulary_digest(books), folder .. "/books.safetensors"
  t.check(digest and digest ~= weights.vocabulary_digest(code))
  t.equal(weights.vocabulary_digest(task_of "name=generate:books tokens=bytes"),
    weights.vocabulary_digest(task_of "name=generate:code tokens=bytes"))
  local session <close> = core.session { model = core.options("model", "lstm", "width=8 hidden=8"), task = books,
    train = core.options("train", "train", "steps=1"), seed = 1, device = "cpu" }
  session:save_weights(file, false, digest)
  t.equal(core.weights_texts(file).vocabulary_digest, digest)
  weights.check_vocabulary(file, books)
  t.fails(function() weights.check_vocabulary(file, code) end, "its tokens mean something else")
  -- the file is enough, and trains on what its task was
  local program = os.getenv "LONGHAUL_BIN"
  local function said(words)
    local pipe <close> = io.popen(("%s %s 2>&1"):format(program, words:gsub("FILE", file)))
    return pipe:read "a"
  end
  t.contains(said "generate --weights FILE --prompt 'The river' --count 0", "The river")
  t.contains(said "generate --weights FILE --tokens bpe:train:300:generate:code --prompt The --count 0",
    "its tokens mean something else")
  t.contains(said "eval --weights FILE --task-options name=generate:code", "its tokens mean something else")
  session:save_weights(file, false)
  t.contains(said "generate --weights FILE --prompt 'The river' --count 0", "does not say what its tokens mean")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
