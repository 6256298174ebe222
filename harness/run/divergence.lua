-- When a run that came to its end has diverged. Its numbers stay in its row, with the status
-- `diverged`: it is finished, but no best value and part of no mean.
--
-- The rule: at the end its loss is worse than a guess by a margin that noise does not reach.
--   tokens   bits_per_token above log2(vocabulary) + 1: each token given half of what a uniform
--            guess gives it, or less
--   numbers  an MSE above ten times that of predicting zero everywhere (`zero_mse`), unless all are zero, as
--            the values of a constant series are: of these every model is infinitely worse
-- on the validation split; and, of a run that ends with its last weights rather than its best, by
-- the last point of its curve: the training loss in the same way, or a gradient norm that is not
-- finite. A loss that still falls is that of a model which learns slowly, however bad its first weights
-- were: below the curve's first point, and not back above its least one by a bit or twice the MSE. The
-- test split, which may ask for more than was trained, must only be finite. A run that
-- takes no step has not diverged, however badly another model's weights serve it, nor has one whose
-- rate was still 0, as that of the first step of a warmup is: the loss of first weights may be above
-- a guess. A loss that is no number is not divergence but a failure: training and evaluation stop
-- with an error.
local csv = require "longhaul.run.csv"

local divergence = {}

local bits_above_guess, times_zero = 1, 10
local bits_above_least, times_least = 1, 2

local function says(what, value, unit, bound, of)
  return ("diverged: %s %.4g%s, above %.4g, %s"):format(what, value, unit, bound, of)
end

local function check_bits(what, bits, vocabulary)
  local bound = math.log(vocabulary, 2) + bits_above_guess
  return bits and not (bits <= bound)
    and says(what, bits, " bits/token", bound,
      ("a bit more than a guess among %d"):format(vocabulary)) or nil
end

local function check_mse(what, mse, zero)
  local bound = times_zero * zero
  return mse and (bound > 0 or mse == math.huge) and not (mse <= bound)
    and says(what, mse, " MSE", bound, ("%d times that of predicting zero"):format(times_zero))
      or nil
end

-- `loss` has bits_per_token or mse; what it is held against has vocabulary or zero_mse.
local function check(what, loss, against)
  if loss.bits_per_token and (against.vocabulary or 0) > 0 then
    return check_bits(what, loss.bits_per_token, against.vocabulary)
  end
  return loss.mse and against.zero_mse and check_mse(what, loss.mse, against.zero_mse) or nil
end

local function check_last(point, against)
  local norm = point.gradient_norm
  if norm and not (math.abs(norm) < math.huge) then
    return "diverged: the last gradient norm is not finite"
  end
  return check("training loss", { bits_per_token = point.loss_bits, mse = point.mse }, against)
end

--- Whether a curve (points of store:read_curve) ends before any step had a rate: with first weights.
function divergence.has_first_weights(curve)
  return #curve == 1 and tonumber(curve[1].step) == 1 and tonumber(curve[1].rate) == 0
end

-- The training losses of a curve's points, which are texts; a point may be without one.
local function losses_of(curve, name)
  local list = {}
  for _, point in ipairs(curve) do list[#list + 1] = csv.number(point[name]) end
  return list
end

--- Whether the training loss of a curve (points of store:read_curve) still falls at its end, and the
--- validation loss `valid` is below where it began.
function divergence.falls(curve, valid)
  local bits = losses_of(curve, "loss_bits")
  local list, least = #bits > 0 and bits or losses_of(curve, "mse"), math.huge
  if #list < 2 then return false end
  for _, loss in ipairs(list) do least = math.min(least, loss) end
  local bound = #bits > 0 and least + bits_above_least or least * times_least
  local last = list[#list]
  return math.max(last, valid.bits_per_token or valid.mse) < list[1] and last <= bound
end

local function is_finite(loss)
  local value = loss.bits_per_token or loss.mse
  return value ~= nil and value < math.huge
end

--- Why a run has diverged, or nil. `result`: the `step` that it ended with, whether it still has its
--- `first_weights`, whether its loss still `falls`, `valid` and `test` (nil: not read) as session:evaluate
--- gives them, `vocabulary` (0: none), and `last`, the last point of the curve (loss_bits, mse,
--- gradient_norm as numbers), of a run that ends with its last weights.
function divergence.reason(result)
  if result.step == 0 then return nil end
  local against = (result.first_weights or result.falls) and is_finite(result.valid) and {}
    or { vocabulary = result.vocabulary, zero_mse = result.valid.zero_mse }
  local test = result.test and (result.test.bits_per_token or result.test.mse)
  return check("validation loss", result.valid, against)
    or (result.last and check_last(result.last, against))
    or (test == math.huge and "diverged: the test loss is not finite") or nil
end

return divergence
