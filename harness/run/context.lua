-- How far back a trained model looks: what a row's `context` asks for, the probes that it leaves,
-- and the one number of them. harness/train/context.h says what is measured.
local context = {}

--- The field of a row, completed; nil and what is wrong with it.
function context.read(given)
  local length, passages = math.tointeger(given.length or 0), math.tointeger(given.passages or 256)
  for name in pairs(given) do
    if name ~= "length" and name ~= "passages" then
      return nil, ("field 'context' has length and passages, not '%s'"):format(tostring(name))
    end
  end
  if not length or length < 1 or length > 1 << 31 or length & (length - 1) ~= 0 then
    return nil, "field 'context': length is a power of 2 up to 2^31, the tokens of a passage"
  end
  if not passages or passages < 1 or passages > (1 << 47) // length then
    return nil, "field 'context': passages is how many are read, an integer of at least 1, "
      .. "which have at most 2^47 tokens together"
  end
  return { length = length, passages = passages }
end

--- Refuses a task, by what core.task_info says of it, whose tokens do not follow one another, and
--- passages that fill no batch of it: what is asked for is measured after all training.
function context.check(wanted, name, info)
  if info.vocabulary == 0 or info.output_features > 0 or info.source_vocabulary > 0 then
    error(("context: the task %s predicts no tokens one after the other"):format(name), 0)
  end
  if wanted.passages < info.rows then
    error(("context: passages = %d fill no batch of %d rows"):format(wanted.passages, info.rows), 0)
  end
end

--- Why `points`, which a session measured, have nothing of passages; nil where they have.
function context.lack(wanted, points)
  for _, point in ipairs(points) do
    if point.part == "kept" then return nil end
  end
  return ("context: the validation split has no batch of passages of %d tokens that are each "
    .. "predicted from those before"):format(wanted.length)
end

--- What a run's identity says of it.
function context.text(wanted)
  return ("context length=%d passages=%d"):format(wanted.length, wanted.passages)
end

--- The probes of what a session measured, { part, distance, value } each: "context_kept_64".
function context.probes(points)
  local list = {}
  for i, point in ipairs(points) do
    list[i] = { name = ("context_%s_%d"):format(point.part, point.distance), value = point.value }
  end
  return list
end

-- Of how much of the gain the distance is told.
local share = 0.95

--- The distance within which 95 % of the gain lies: what a model saves of the bits of a token when it
--- reads more than the token before it. Between two powers of 2 the gain grows as the logarithm does.
--- nil where nothing is gained, or no more than twice its standard error: of chance there is no
--- distance.
function context.tokens(points)
  local kept, best = {}, nil
  for _, point in ipairs(points) do
    if point.part == "kept" then
      kept[#kept + 1] = point
      if not best or point.value < best.value then best = point end
    end
  end
  if not best then return nil end
  local gain = kept[1].value - best.value
  if gain <= 2 * (best.error or 0) then return nil end
  local wanted = kept[1].value - share * gain
  for i = 2, #kept do
    local before, here = kept[i - 1], kept[i]
    if here.value <= wanted then
      local part = (before.value - wanted) / (before.value - here.value)
      return before.distance * (here.distance / before.distance) ^ part
    end
  end
end

return context
