-- Writes the losses of whole training steps by the PyTorch peers, in double precision, and by the
-- models of the library `transformers`; tests/models/test_training.lua holds longhaul against them.
--   PYTHON=... longhaul lua tests/peers/golden.lua >tests/golden/training.csv
-- or, where PYTHON's library has some of the models only, the rows of one: `golden.lua rmt`, with
-- transformers 4.35.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local peer = require "longhaul.bench.peer"

local steps = 20
local size = "layers=4 width=128 heads=2 window=32 dropout=0"
local own, releases = "block_stack.py", "releases.py"
local models = {
  { own, "slide", size },
  { own, "slide",
    "layers=2 width=48 heads=3 window=16 dropout=0 see_self=true logit_divisor=sqrt_width" },
  { own, "slide", "layers=2 width=48 heads=3 window=16 dropout=0 normalize=false position_bias=false" },
  { own, "brt", size .. " recurrence=fixed:skip recurrent_layers=2,3" },
  { releases, "mamba2", "layers=2 width=64 state=16 head_width=16 groups=2 step_max=0.5" },
  { releases, "mamba2", "layers=3 width=32 state=24 head_width=16 kernel=3 tied=false epsilon=0.01" },
  { releases, "gated_deltanet",
    "layers=2 width=64 heads=2 value_heads=4 head_width=12 expand=1.5" },
  { releases, "gated_deltanet",
    "layers=3 width=32 heads=4 head_width=8 hidden=48 kernel=3 tied=true initial_deviation=0.1" },
  { releases, "rmt", "layers=2 width=32 heads=2 hidden=48 block=32 memory_tokens=3 dropout=0 "
    .. "initial_deviation=0.1 shifted_positions=true" },
  { releases, "rmt", "layers=3 width=32 heads=4 block=16 memory_tokens=2 memory=20 dropout=0 "
    .. "initial_deviation=0.1 shifted_positions=true memory_reads_cache=true" },
  { releases, "compressive", "layers=2 width=32 heads=2 hidden=48 block=32 memory=32 "
    .. "compressed_memory=16 dropout=0 initial_deviation=0.1" },
  { releases, "compressive", "layers=3 width=32 heads=4 block=16 memory=24 compressed_memory=12 "
    .. "compression_rate=4 compression=dilated compression_loss=auto_encoding dropout=0 "
    .. "initial_deviation=0.1" },
  { releases, "compressive", "layers=2 width=32 heads=2 block=32 memory=40 compressed_memory=20 "
    .. "compression_loss=task dropout=0 initial_deviation=0.1" },
}
-- Documents end within the twenty steps, so rows start anew on the way.
local task = "name=generate:books documents=6 document_bytes=900 segment=128 batch=4"
local optimizers = { "optimizer=adafactor warmup=10 rate=0.2",
  "optimizer=adam schedule=constant warmup=5 rate=0.005" }

local rows = {}
for _, entry in ipairs(models) do
  local script, model, options = table.unpack(entry)
  for _, train in ipairs((not arg[1] or arg[1] == model) and optimizers or {}) do
    local session <close> = core.session {
      model = core.options("model", model, options),
      task = core.options("task", "language_model", task),
      train = core.options("train", "train", train), seed = 1, device = "cpu",
    }
    local losses = peer.train(session, steps, script, "--eager --precision f64").losses
    for step, loss in ipairs(losses) do
      rows[#rows + 1] = { model = model, options = options, task_options = task,
        train_options = train, step = step, loss_bits = ("%.12g"):format(loss) }
    end
  end
end
io.write(csv.format({ "model", "options", "task_options", "train_options", "step", "loss_bits" },
  rows))
