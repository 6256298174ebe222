-- Runs in bf16 on the processor: every kind of attention learns as in f32 within one part in a
-- hundred, the bits do not depend on the threads, and where bf16 is missing the option says what
-- is.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"

local text = "name=generate:books documents=8 document_bytes=8192 segment=96 batch=4"
-- Model, options, training.
local models = {
  { "slide", "layers=2 width=64 heads=2 window=32 dropout=0.1", "optimizer=adafactor rate=0.3" },
  { "brt", "layers=2 width=32 heads=2 window=32 dropout=0.1 recurrence=fixed:skip "
    .. "recurrent_layers=1", "optimizer=adam" },
  { "brt", "layers=2 width=32 heads=2 window=32 dropout=0 recurrence=lstm:dual recurrent_layers=1 feedback=true",
    "optimizer=adamw" },
  { "transformer_xl", "layers=2 width=64 heads=2 span=32 dropout=0", "optimizer=adamw" },
  { "dai_xl", "layers=2 width=32 heads=2 dropout=0", "optimizer=adam" },
  { "compressive", "layers=2 width=32 heads=2 dropout=0 block=32 memory=32 compressed_memory=32",
    "optimizer=adam" },
  { "rmt", "layers=2 width=32 heads=2 dropout=0 block=32 memory_tokens=4 memory=16", "optimizer=adam" },
  { "reformer", "layers=2 width=32 heads=2 dropout=0 positions=96 chunk=16 rounds=2",
    "optimizer=adam rate=0.001" },
  { "routing", "layers=2 width=32 heads=4 window=16 clusters=4 dropout=0.1", "optimizer=adam" },
  { "feedback", "layers=2 width=32 heads=2 span=8 dropout=0", "optimizer=adam" },
  { "staircase", "layers=2 width=32 heads=2 forward_size=16 steps=2 dropout=0.1",
    "optimizer=adam" },
  { "gpt2", "layers=2 width=32 heads=2 dropout=0.1 window=32 context=64", "optimizer=adam" },
  { "lstm", "layers=2 width=32 hidden=32 dropout=0", "optimizer=adam" },
}

local function losses(model, precision, threads, steps)
  core.set_threads(threads)
  local train = ("steps=%d warmup=2 %s log_every=1 precision=%s"):format(steps, model[3], precision)
  if not train:find("rate=", 1, true) then train = train .. " rate=0.003" end
  local session <close> = core.session {
    model = core.options("model", model[1], model[2]),
    task = core.options("task", "language_model", text),
    train = core.options("train", "train", train), seed = 1, device = "cpu",
  }
  local list = {}
  session:train(nil, function(p) list[#list + 1] = p.loss_bits end)
  return list
end

local there, message = pcall(losses, models[1], "bf16", 1, 1)
if not there then
  t.test("bf16 that is missing is said to be", function()
    t.contains(message, "precision=bf16 on the processor needs ")
    t.check(message:find("libdnnl-dev", 1, true) or message:find("avx512_bf16 or AMX", 1, true),
      message)
  end)
end

t.test("tf32 needs a GPU", function()
  t.fails(function() losses(models[1], "tf32", 1, 1) end,
    "precision=tf32 on the processor needs a GPU")
end)

for _, model in ipairs(there and models or {}) do
  t.test(model[1] .. " learns in bf16", function()
    local fine, coarse = losses(model, "f32", 2, 12), losses(model, "bf16", 2, 12)
    t.equal(#coarse, 12)
    local same = true
    for i = 1, 12 do
      t.near(coarse[i] / fine[i], 1, 0.01)
      same = same and coarse[i] == fine[i]
    end
    t.check(not same, "computes in f32")
  end)
  t.test(model[1] .. " gives the same bits with any threads", function()
    local one, three = losses(model, "bf16", 1, 4), losses(model, "bf16", 3, 4)
    for i = 1, 4 do t.equal(three[i], one[i]) end
  end)
end
t.finish()
