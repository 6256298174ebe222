-- Writes the losses of whole training steps by the PyTorch peer, in double precision; the test
-- beside tests/models/test_training.lua holds longhaul against them.
--   PYTHON=... longhaul lua tests/peers/golden.lua >tests/golden/training.csv
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local peer = require "longhaul.bench.peer"

local steps = 20
local size = "layers=4 width=128 heads=2 window=32 dropout=0"
local models = {
  { "slide", size },
  { "slide", "layers=2 width=48 heads=3 window=16 dropout=0 see_self=true logit_divisor=sqrt_width" },
  { "slide", "layers=2 width=48 heads=3 window=16 dropout=0 normalize=false position_bias=false" },
  { "brt", size .. " recurrence=fixed:skip recurrent_layers=2,3" },
}
-- Documents end within the twenty steps, so rows start anew on the way.
local task = "name=generate:books documents=6 document_bytes=900 segment=128 batch=4"
local optimizers = { "optimizer=adafactor warmup=10 rate=0.2",
  "optimizer=adam schedule=constant warmup=5 rate=0.005" }

local rows = {}
for _, model in ipairs(models) do
  for _, train in ipairs(optimizers) do
    local session <close> = core.session {
      model = core.options("model", model[1], model[2]),
      task = core.options("task", "language_model", task),
      train = core.options("train", "train", train), seed = 1, device = "cpu",
    }
    local losses = peer.train(session, steps, "block_stack.py", "--eager --precision f64").losses
    for step, loss in ipairs(losses) do
      rows[#rows + 1] = { model = model[1], options = model[2], task_options = task,
        train_options = train, step = step, loss_bits = ("%.12g"):format(loss) }
    end
  end
end
io.write(csv.format({ "model", "options", "task_options", "train_options", "step", "loss_bits" },
  rows))
