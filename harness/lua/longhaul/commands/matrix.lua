-- matrix: which model does which task.
local core = require "longhaul.core"
local fold = require "longhaul.run.fold"

-- The pairs as rows: per model the marks of its tasks, and the reasons in the order of their
-- numbers.
local function read_pairs()
  local models, tasks, cells, reasons, number_of = {}, {}, {}, {}, {}
  for _, pair in ipairs(core.pairs()) do
    if not cells[pair.model] then
      cells[pair.model] = {}
      models[#models + 1] = pair.model
    end
    if #models == 1 then tasks[#tasks + 1] = pair.task end
    if pair.reason and not number_of[pair.reason] then
      reasons[#reasons + 1] = pair.reason
      number_of[pair.reason] = #reasons
    end
    cells[pair.model][pair.task] = pair.reason and ("(%d)"):format(number_of[pair.reason])
      or pair.way == "own" and "x" or "a"
  end
  return { models = models, tasks = tasks, cells = cells, reasons = reasons }
end

local function count_running(matrix)
  local running, all = 0, 0
  for _, model in ipairs(matrix.models) do
    for _, task in ipairs(matrix.tasks) do
      all = all + 1
      if not matrix.cells[model][task]:find "^%(" then running = running + 1 end
    end
  end
  return running, all
end

local function matrix()
  local read = read_pairs()
  local rows = { { "", table.unpack(read.tasks) } }
  for _, model in ipairs(read.models) do
    local cells = { model }
    for t, task in ipairs(read.tasks) do cells[t + 1] = read.cells[model][task] end
    rows[#rows + 1] = cells
  end
  print(fold.table(rows, fold.width()))
  fold.print("\nx: as it stands; a: behind an adapter (`longhaul describe MODEL --task TASK`; an informer asks for "
    .. "`--options mix=false`)")
  for number, reason in ipairs(read.reasons) do
    fold.print(("(%d) %s; the models with a mark in the task's column would do"):format(number,
      reason))
  end
  print(("\n%d of %d pairs run"):format(count_running(read)))
end

return {
  {
    name = "matrix", summary = "which model does which task", run = matrix, usage = "matrix",
    description = "All pairs of model and task. What a pair asks of options (a window that divides "
      .. "the segment, mix=false of an informer that reads tokens) a run says where it matters.",
    options = {},
  },
}
