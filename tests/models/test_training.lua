-- Whole training steps (forward, backward, optimizer, carried state, documents that end) beside
-- those of an independent implementation in PyTorch: tests/peers/golden.lua wrote
-- tests/golden/training.csv.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local t = dofile "tests/test.lua"

-- The rows of each run, in the order of its steps.
local function runs_of(rows)
  local runs, by_name = {}, {}
  for _, row in ipairs(rows) do
    local name = ("%s %s, %s"):format(row.model, row.options, row.train_options)
    if not by_name[name] then
      by_name[name] = { name = name, model = row.model, options = row.options,
        task = row.task_options, train = row.train_options, losses = {} }
      runs[#runs + 1] = by_name[name]
    end
    table.insert(by_name[name].losses, tonumber(row.loss_bits))
  end
  return runs
end

local function losses_of(run)
  local session <close> = core.session {
    model = core.options("model", run.model, run.options),
    task = core.options("task", "language_model", run.task),
    train = core.options("train", "train", ("%s steps=%d log_every=1"):format(run.train,
      #run.losses)), seed = 1, device = "cpu",
  }
  local losses = {}
  session:train(nil, function(progress) losses[progress.step] = progress.loss_bits end)
  return losses
end

local runs = runs_of(csv.read("tests/golden/training.csv"))
t.test("there are runs", function() t.check(#runs >= 8) end)
for _, run in ipairs(runs) do
  t.test(run.name, function()
    local losses = losses_of(run)
    t.equal(#losses, #run.losses)
    t.check(losses[#losses] < 0.8 * losses[1], "the losses hardly fall")
    for step, loss in ipairs(run.losses) do
      -- Training multiplies what products round: by ten in seven steps at the most, in all builds.
      -- A mistake in a gradient or an update shows in the first steps.
      t.near(losses[step] / loss, 1, 1e-6 * 10 ^ ((step - 1) / 7))
    end
  end)
end
t.finish()
