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
  core.write_file(folder .. "/encoder.json", "{}")
  core.write_file(folder .. "/vocab.bpe", "")
  t.equal(weights.of_config(path).tokens, "bpe:" .. folder .. "/")
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

t.test("what differs from the class is named", function()
  t.fails(function() of [[{"model_type": "gpt2", "activation_function": "relu"}]] end,
    "config.json: activation_function is relu; gpt2 has gelu_new")
  t.fails(function() of [[{"model_type": "t5", "feed_forward_proj": "gated-gelu"}]] end,
    "feed_forward_proj is gated-gelu; t5 has relu")
  t.fails(function() of [[{"model_type": "t5", "num_layers": 6, "num_decoder_layers": 2}]] end,
    "num_decoder_layers is 2, num_layers 6")
  t.fails(function() of [[{"model_type": "bert"}]] end,
    "model_type 'bert' is none that is read: gpt2, mamba2, t5")
  t.fails(function() of "[1]" end, "model_type 'nil'")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()
