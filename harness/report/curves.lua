-- The training curves of a row over its steps, over the time that so many steps take on the idle
-- machine, and over what they compute.
local curves = {}

--- What a curve can run over, and what an axis of it is called.
curves.titles = { step = "step", seconds = "seconds of training steps", flops = "training FLOPs" }

--- Of the finished seeds of a group, a list for each, with its `seed`: { step =, tokens =, value = }
--- of a column, in order.
function curves.of(from, group, column)
  local list = {}
  for i, run in ipairs(group and group.done or {}) do
    list[i] = { seed = run.seed }
    for _, point in ipairs(from:read_curve(run.run_id, math.huge)) do
      local step, value = tonumber(point.step), tonumber(point[column])
      if step and value then
        table.insert(list[i], { step = step, tokens = tonumber(point.tokens), value = value })
      end
    end
  end
  return list
end

--- The training losses of a group and their unit: bits per token, or squared errors where there are
--- no bits.
function curves.training_loss(from, group)
  local bits = curves.of(from, group, "loss_bits")
  for _, points in ipairs(bits) do
    if #points > 0 then return bits, "bits/token" end
  end
  return curves.of(from, group, "mse"), "MSE"
end

-- Three passes, of which two go backward.
local passes_of_step = 3

--- How much of `over` a step of the row takes; nil where that was not measured: a step's time on the
--- idle machine.
function curves.per_step(results, row, seeds, over)
  if over == "step" then return 1 end
  if over == "seconds" then
    local time, _, busy = results:value(row.label, "step_time_ms", row.dataset),
      results:reason(row.label, "step_time_ms", row.dataset)
    return time and not busy and time / 1000 or nil
  end
  local first = seeds[1] and seeds[1][1]
  local token = results:value(row.label, "flops_per_token", row.dataset)
  return first and first.tokens and token and passes_of_step * token * first.tokens / first.step
end

return curves
