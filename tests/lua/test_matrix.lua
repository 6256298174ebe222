-- Every pair of model and task that `longhaul matrix` marks takes a step and an evaluation; every
-- other one is refused with the reason that it prints.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"

-- A file of examples of 16 positions; `head`: sizes beside the length.
local function examples(head, body)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(("return { sizes = function() return { length = 16, %s } end, example = function() "
    .. "local a, b = {}, {} for t = 1, 16 do %s end return a, b end }"):format(head, body)))
  return path
end
local echo = examples("vocabulary = 5",
  "a[t] = math.random(0, 4) b[t] = a[math.max(1, t - 1)]")
local mean = examples("inputs = 2, outputs = 1",
  "a[t] = { math.normal(), t } b[t] = { a[t][1] + a[1][1] }")

-- Small enough for all pairs. `length`: of the segments that a model reads, for one whose window
-- is its segment.
local tasks = {
  language_model = { length = 16, text = "name=generate:books documents=6 document_bytes=2000 "
    .. "tokens=bytes segment=16 batch=2 evaluate_batches=2" },
  random_walk = { length = 16, text = "segment=16 batch=2 episodes=4 steps=16 evaluate_episodes=4" },
  algorithm = { length = 16,
    text = "segment=16 batch=2 episodes=4 statements=4 evaluate_episodes=4" },
  duplication = { length = 16, text = "word=7 alphabet=5 batch=2 evaluate_sequences=2" },
  recall = { length = 16, text = "vocabulary=16 pairs=3 lengths=16 batch=2 evaluate_sequences=2" },
  imagenet64 = { length = 192, text = "side=8 batch=1 images=2 evaluate_images=1" },
  regular_language = { length = 16,
    text = "longest=16 increment=16 strings=8 evaluate_strings=8 batch=4" },
  simulated_network = { length = 16, text = "length=16 segments=4" },
  forecasting = { length = 16, text = "seq_len=12 label_len=4 pred_len=4 batch=4 "
    .. "limit_windows=40 evaluate_windows=6" },
  -- two batches of other lengths and rows, and a beam search
  translation = { length = 64,
    text = "pairs=12 evaluate_pairs=2 tokens=bytes max_tokens=60 batch_tokens=256 beam=2 longer=2" },
  defect = { length = 64, text = "source_length=61 functions=8 evaluate_functions=8 batch=4" },
  scripted_tokens = { length = 16, text = ("file=%s batch=4 evaluate_examples=4"):format(echo) },
  scripted_vectors = { length = 16, text = ("file=%s batch=4 evaluate_examples=4"):format(mean) },
}

local core_sizes = "layers=1 width=8 heads=2 hidden=8"
local blocks = "layers=2 width=8 heads=2 dropout=0 window="
local models = {
  xl = blocks .. "LENGTH", slide = blocks .. "8",
  brt = blocks .. "8 recurrence=fixed:skip recurrent_layers=1",
  memorizing = blocks .. "8 memory=12 top=3 memory_layer=1",
  transformer_xl = core_sizes .. " span=5", universal = "width=8 heads=2 hidden=8 steps=2 span=4",
  staircase = core_sizes .. " forward_size=2 steps=2",
  cached_staircase = core_sizes .. " forward_size=2 step_size=4",
  feedback = core_sizes .. " span=4", dai_xl = core_sizes .. " memory=5",
  rmt = core_sizes .. " block=4 memory_tokens=2",
  compressive = core_sizes .. " block=4 memory=4 compressed_memory=4",
  lstm = "layers=1 width=6 hidden=8", rnn = "layers=1 width=6 hidden=8",
  transformer = core_sizes, rsa = "layers=1 width=8 heads=2 rsa_kinds=1,0,0,0,0,0",
  gpt2 = "layers=1 width=8 heads=2 context=256",
  gpt2_recurrent = "layers=1 width=8 heads=2 context=256 window=8 insertion=0 summary_hidden=5",
  t5 = core_sizes, reformer = "layers=1 heads=2 width=4 hidden=8 chunk=8 positions=256",
  reformer_encoder_decoder = core_sizes, informer = core_sizes .. " mix=false",
  linear_attention = core_sizes, mamba2 = "layers=1 width=8 state=4 head_width=4",
  gated_deltanet = "layers=1 width=8 heads=2 head_width=4 hidden=12",
  routing = core_sizes .. " window=4 clusters=2",
  logsparse = core_sizes, series_xl = core_sizes, seasonal_naive = "season=4",
}
local learns_nothing = { seasonal_naive = true }

local function open(model, task, more)
  local sizes = (models[model] or ""):gsub("LENGTH", tostring(tasks[task].length))
  return core.session {
    model = core.options("model", model, sizes),
    task = core.options("task", task, tasks[task].text .. (more or "")),
    train = core.options("train", "train", "steps=2 optimizer=adam rate=0.01 warmup=0"),
    seed = 1, device = "cpu",
  }
end

-- Trains and evaluates; the score is a number.
local function use(model, task, more)
  local session <close> = open(model, task, more)
  local before = session:evaluate("valid")
  t.check(session:train(nil, function() return true end), "training did not end")
  for _, split in ipairs { "valid", "test" } do
    local scored = session:evaluate(split)
    local value = scored.bits_per_token or scored.mse
    t.check(value == value and value > 0, ("%s on %s: %s is %s"):format(model, task, split, value))
  end
  local value = session:evaluate("valid")
  local changed = (value.mse or value.bits_per_token) ~= (before.mse or before.bits_per_token)
  t.check(changed == not learns_nothing[model], model .. " learns nothing of " .. task)
end

local possible, all = {}, core.pairs()
for _, pair in ipairs(all) do
  possible[pair.task] = possible[pair.task] or {}
  if not pair.reason then table.insert(possible[pair.task], pair.model) end
end

for task in pairs(tasks) do
  t.test("models that do " .. task, function()
    for _, model in ipairs(possible[task]) do
      local good, message = pcall(use, model, task)
      t.check(good, ("%s on %s: %s"):format(model, task, message))
    end
  end)
end

t.test("models that tell classes of defects", function()
  for _, model in ipairs(possible.defect) do
    local good, message = pcall(use, model, "defect", " source_length=64 head=classification")
    t.check(good, ("%s: %s"):format(model, message))
  end
end)

t.test("other pairs are refused with the reason and who would do", function()
  for _, pair in ipairs(all) do
    if pair.reason then
      local good, message = pcall(open, pair.model, pair.task)
      t.check(not good, pair.model .. " runs on " .. pair.task)
      t.contains(message, pair.model .. ": " .. pair.reason .. "; these would do: ")
      t.contains(message, possible[pair.task][1])
      t.check(not message:find("would do:.*%f[%w_]" .. pair.model .. "%f[^%w_]"), message)
    end
  end
end)

t.test("9 pairs in 10 are possible", function()
  local running = 0
  for _, pair in ipairs(all) do running = running + (pair.reason and 0 or 1) end
  t.check(running >= 0.9 * #all, ("%d of %d pairs run"):format(running, #all))
end)

os.remove(echo)
os.remove(mean)
t.finish()
