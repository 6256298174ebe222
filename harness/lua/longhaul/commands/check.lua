-- check: whether a model keeps what it declares.
local command = require "longhaul.command"
local core = require "longhaul.core"
local fold = require "longhaul.run.fold"
local lists = require "longhaul.run.lists"
local progress = require "longhaul.run.progress"
local small = require "longhaul.small"

-- A small language model's task, one with a source where the model has an encoder, or windows of a
-- small series.
local function small_sizes(class)
  local vocabulary, source = 13, 24
  if not class.tokens then
    return { input_features = 6, output_features = 4, time_features = 2, seq_len = 8, label_len = 4,
      pred_len = 8, stride = 8 }
  end
  if not class.encodes then return { vocabulary = vocabulary } end
  return { vocabulary = vocabulary, source_vocabulary = vocabulary, source_length = source }
end

local function class_of(name)
  if not name then command.misuse "longhaul check: which MODEL? `longhaul describe` lists them" end
  local classes = core.models()
  return lists.named(classes, command.one_of("model", name, lists.names(classes)))
end

local function sizes_for(class, values)
  if not values.task then return small_sizes(class) end
  return core.task_info(command.options("task", values.task, values["task-options"] or ""))
end

local marks = { ok = "ok", failed = "FAILED", warning = "warning", ["left out"] = "-" }

local function print_findings(report)
  local failed = 0
  for _, finding in ipairs(report) do
    fold.print(("%-7s %-12s %s"):format(marks[finding.verdict], finding.check, finding.text))
    if finding.verdict == "failed" then failed = failed + 1 end
  end
  return failed
end

-- Checks with a bar of what is checked now.
local function watched(name, spec)
  local board = progress.board()
  function spec.hear(what, done, all)
    board:show("check " .. name, { step = done, steps = all, text = ("%d/%d %s"):format(done + 1, all, what) })
  end
  local good, report = pcall(core.check_model, spec)
  board:finish("check " .. name)
  if not good then error(report, 0) end
  return report
end

local function check(values, rest)
  local class = class_of(rest[1])
  command.options("model", class.name, values.options or "") -- says what is wrong with them
  local sizes = sizes_for(class, values)
  local length = command.integer(values, "segment", sizes.length)
  local options = small.text(class, values.options or "", sizes, length)
  local report = watched(class.name, { model = core.options("model", class.name, options), sizes = sizes,
    length = length, seed = command.integer(values, "seed", 1, 0, math.maxinteger) })
  local failed = print_findings(report)
  fold.print(("\n%s, two rows, two segments of %d"):format(class.name, report.length))
  if options ~= "" then fold.print("options: " .. options) end
  return failed > 0 and command.failed or command.ok
end

return {
  {
    name = "check", summary = "whether a model keeps what it declares, before it is believed", run = check,
    most = 1, takes = function() return lists.names(core.models()) end,
    usage = "check MODEL [--options TEXT] [--segment N] [--task NAME] [--task-options TEXT] [--seed N]",
    description = "On small random data, a line each: whether outputs are finite and depend on what is "
      .. "read; causality, where the class declares it; whether rows of a batch are independent; whether "
      .. "one seed gives the same numbers twice; whether a document begins afresh and what is carried "
      .. "can be saved; whether other segments give the same outputs, where state is declared; gradients "
      .. "against differences, to 10 % in float; which parameters get none (a warning). A model that "
      .. "fails one exits with 1. What is not said of layers, widths, windows and the like is small, so that it "
      .. "takes seconds on the processor; the last line says it.",
    options = {
      { "options=", "model options, 'layers=2 width=16'; the others are small where the model takes it", "TEXT" },
      { "segment=", "length of a segment (default: the shortest from 16 on that the model takes)", "N" },
      command.task_option "with a task's sizes, and the adapter that it needs",
      { "task-options=", "task and corpus options, 'name=books segment=64'", "TEXT", with = "task" },
      { "seed=", "seed of values and data (default 1)", "N" },
    },
  },
}
