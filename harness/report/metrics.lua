-- What the columns of runs.csv mean to a reader: title, digits, which end is better, and whether a
-- value is a cost of the model (one column for all corpora) or a quality on one corpus.
local progress = require "longhaul.progress"

local metrics = {}

local function amount(value) return progress.amount(value) end
local function mebibytes(value) return ("%.1f"):format(value / 2 ^ 20) end

local list = {
  bits_per_token = { title = "bits/token", digits = 3, better = "min" },
  bits_per_byte = { title = "bits/byte", digits = 3, better = "min" },
  perplexity = { title = "perplexity", digits = 2, better = "min" },
  word_perplexity = { title = "word perplexity", digits = 2, better = "min" },
  accuracy = { title = "accuracy", digits = 3, better = "max" },
  accuracy_bin0 = { title = "accuracy, bin 0", digits = 3, better = "max" },
  accuracy_bin1 = { title = "accuracy, bin 1", digits = 3, better = "max" },
  best_accuracy = { title = "accuracy, best evaluation", digits = 3, better = "max" },
  best_accuracy_bin0 = { title = "accuracy, bin 0, best evaluation", digits = 3, better = "max" },
  best_accuracy_bin1 = { title = "accuracy, bin 1, best evaluation", digits = 3, better = "max" },
  error_percent = { title = "error %", digits = 2, better = "min" },
  valid_bits_per_token = { title = "valid. bits/token", digits = 3, better = "min" },
  valid_perplexity = { title = "valid. perplexity", digits = 2, better = "min" },
  valid_error_percent = { title = "valid. error %", digits = 2, better = "min" },
  valid_word_perplexity = { title = "valid. word perplexity", digits = 2, better = "min" },
  valid_mse = { title = "valid. MSE", digits = 3, better = "min" },
  valid_mae = { title = "valid. MAE", digits = 3, better = "min" },
  rsa_gate = { title = "gate of the REMs", digits = 3 },
  mse = { title = "MSE", digits = 3, better = "min" },
  mae = { title = "MAE", digits = 3, better = "min" },
  bleu = { title = "BLEU", digits = 1, better = "max" },
  sacrebleu_cased = { title = "sacreBLEU cased", digits = 1, better = "max" },
  sacrebleu_uncased = { title = "sacreBLEU uncased", digits = 1, better = "max" },
  relative_step_time = { title = "relative step time", digits = 2, better = "min", cost = true },
  step_time_ms = { title = "step time, ms", digits = 1, better = "min", cost = true },
  tokens_per_second = { title = "tokens/s", format = amount, better = "max", cost = true },
  peak_memory_bytes = { title = "peak memory, MiB", format = mebibytes, better = "min",
    cost = true },
  inference_memory_bytes = { title = "inference memory, MiB", format = mebibytes, better = "min",
    cost = true },
  layout_parameters = { title = "parameters, published layout", digits = 0 },
  parameters = { title = "parameters", format = amount, cost = true },
  flops_per_token = { title = "FLOP/token", format = amount, better = "min", cost = true },
  kaplan_flops_per_token = { title = "FLOP/token (Kaplan)", format = amount, better = "min" },
  wall_time_s = { title = "training time", format = progress.duration, better = "min",
    cost = true },
}

--- Whether a table or chart can show this column.
function metrics.is_known(name) return list[name] ~= nil end

--- All names, sorted.
function metrics.names()
  local names = {}
  for name in pairs(list) do names[#names + 1] = name end
  table.sort(names)
  return names
end

function metrics.title(name) return list[name] and list[name].title or name end

--- "min", "max" or nil.
function metrics.better(name) return list[name] and list[name].better end

function metrics.is_cost(name) return list[name] ~= nil and list[name].cost == true end

--- A value as a reader wants it; "" for nil.
function metrics.text(name, value)
  if value == nil or value ~= value then return "" end
  local metric = list[name] or {}
  if metric.format then return metric.format(value) end
  return ("%." .. (metric.digits or 3) .. "f"):format(value)
end

--- A difference with its sign.
function metrics.difference(name, value)
  if value == nil or value ~= value then return "" end
  if (list[name] or {}).format then
    return (value < 0 and "-" or "+") .. metrics.text(name, math.abs(value))
  end
  return ("%+." .. ((list[name] or {}).digits or 3) .. "f"):format(value)
end

return metrics
