-- By what a row's weights or its training options are chosen, and whether its data give that.
local metrics = require "longhaul.run.metrics"

local choice = {}

--- Fails where `what` chooses by a column that evaluations of a task's validation split will not give; the
--- function `sizes` reads the sizes of its text, once it comes to these.
function choice.check_column(what, task, column, sizes)
  local lack = metrics.never(task, column) or metrics.sizeless(column, sizes)
  if lack then error(("%s: %s"):format(what, lack), 0) end
end

--- The same of all that a row chooses by, or is tried for.
function choice.check(row, sizes)
  local tune = row.tune or row.tried_for and row.tried_for.tune
  local best = metrics.column("valid", row.train:option "keep_best")
  choice.check_column("keep_best", row.task.name, best, sizes)
  if tune then choice.check_column("tune", row.task.name, tune.by, sizes) end
end

return choice
