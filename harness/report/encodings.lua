-- What recurrence encoding matrices (REMs) look like: the weight of a key by its lag (Huang et al.
-- 2023, eqs. 2 and 3).
local core = require "longhaul.core"

local encodings = {}

-- The heads of a layer in the order of rsa_kinds: regular, cosine, sine, then the same dilated.
local function heads_of(kinds, dilations)
  local names, heads, dilated = { "regular", "cosine", "sine" }, {}, 0
  for k = 1, 6 do
    for _ = 1, kinds[k] or 0 do
      if k > 3 then dilated = dilated + 1 end
      heads[#heads + 1] = {
        kind = names[(k - 1) % 3 + 1], dilation = k > 3 and (dilations[dilated] or dilations[1])
          or 1,
      }
    end
  end
  return heads
end

--- The weight at a lag; 0 where the dilation does not divide it, and at 0.
function encodings.weight(head, lag)
  if lag < 1 or lag % head.dilation ~= 0 then return 0 end
  local power = lag // head.dilation
  if head.kind == "regular" then return head.lambda ^ power end
  local wave = head.kind == "cosine" and math.cos or math.sin
  return head.gamma ^ power * wave(power * head.theta)
end

-- "λ=-0.98 d=2", short enough for a legend.
local function name_of(head)
  local text = head.kind == "regular" and ("λ=%.2f"):format(head.lambda)
    or ("%s γ=%.2f θ=%.2f"):format(head.kind:sub(1, 3), head.gamma, head.theta)
  return head.dilation > 1 and ("%s d=%d"):format(text, head.dilation) or text
end

local lags = 24

--- Curves { {lag, weight} ... } and names of the heads of layer `layer` (counted from 1), from a
--- row's model and what the model said of itself after training.
function encodings.patterns(model, probes, layer)
  local curves, names = {}, {}
  for i, head in ipairs(heads_of(model:option "rsa_kinds" or {}, model:option "rsa_dilation"
    or {})) do
    for _, field in ipairs { "lambda", "gamma", "theta" } do
      head[field] = probes[("layer_%d_rsa_head_%d_%s"):format(layer, i, field)]
    end
    if head.lambda or head.gamma then
      local curve = {}
      for lag = 0, lags do curve[lag + 1] = { lag, encodings.weight(head, lag), n = 2 } end
      curves[#curves + 1], names[#names + 1] = curve, name_of(head)
    end
  end
  return curves, names
end

--- What the encodings of layer `layer` add to each of its heads, g P V averaged over the head's
--- width, while the model of a row with these weights reads a string of letters "0" and "1": an
--- array of heads, each an array over the letters.
function encodings.outputs(row, weights, input, layer)
  local tokens, logits, heads = {}, os.tmpname(), os.tmpname()
  for letter in input:gmatch "." do tokens[#tokens + 1] = math.tointeger(tonumber(letter)) end
  local good, message = pcall(core.forward, {
    model = row.model.options, sizes = core.task_info(row.task.options), weights = weights,
    device = "cpu", tokens = { tokens }, out = logits, heads = heads,
  })
  local array = good and core.read_npy(heads)
  os.remove(logits)
  os.remove(heads)
  if not good then error(message, 0) end
  local list, count, length = {}, array.shape[2], array.shape[3]
  for h = 1, count do
    local first = ((layer - 1) * count + h - 1) * length
    list[h] = { table.unpack(array, first + 1, first + length) }
  end
  return list
end

return encodings
