-- The Routing Transformer in training: clusters are chosen and centroids moved with the same bits
-- whatever the threads.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"

local text = "name=generate:books documents=8 document_bytes=8192 segment=256 batch=8"
local options = "layers=2 width=32 heads=4 window=32 clusters=8 dropout=0.1 centroid_decay=0.9"

local function open(steps)
  return core.session {
    model = core.options("model", "routing", options),
    task = core.options("task", "language_model", text),
    train = core.options("train", "train",
      ("steps=%d warmup=2 log_every=1 optimizer=adam rate=0.003"):format(steps)),
    seed = 1, device = "cpu",
  }
end

local function losses(threads, steps)
  core.set_threads(threads)
  local session <close> = open(steps)
  local list = {}
  session:train(nil, function(progress) list[progress.step] = progress.loss_bits end)
  list[#list + 1] = session:evaluate("valid").bits_per_token
  return list
end

local one = losses(1, 8)
t.test("it learns", function()
  t.equal(#one, 9)
  t.check(one[8] < one[1] - 0.1)
end)
for threads = 2, 3 do
  t.test(("%d threads give the bits of one"):format(threads), function()
    local many = losses(threads, 8)
    t.equal(#many, #one)
    for i = 1, #one do t.equal(many[i], one[i]) end
  end)
end
t.finish()
