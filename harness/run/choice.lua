-- By what a row's weights or its training options are chosen, and whether its data give that.
local metrics = require "longhaul.run.metrics"

local choice = {}

--- Fails where `what` chooses by a column that evaluations of the validation split will not give; the
--- function `sizes` reads the sizes of its text, once it comes to these.
function choice.check_column(what, column, sizes)
  local lack = metrics.sizeless(column, sizes)
  if lack then error(("%s: %s"):format(what, lack), 0) end
end

--- The same of all that a row chooses by, or is tried for.
function choice.check(row, sizes)
  local tune = row.tune or row.tried_for and row.tried_for.tune
  local best = metrics.column("valid", row.train:option "keep_best")
  choice.check_column("keep_best", best, sizes)
  if tune then choice.check_column("tune", tune.by, sizes) end
end

return choice
