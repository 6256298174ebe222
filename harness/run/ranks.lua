-- The ranks of a run: processes that a launcher (mpirun, srun) started together, which train one
-- model. Each runs the same script; rank 0 reads and writes results, and what it finds there is
-- decided for all.
local core = require "longhaul.core"

local ranks = {}

ranks.rank, ranks.size = core.ranks()
ranks.first = ranks.rank == 0

--- What `decide` gives on rank 0, on every rank: a text. The other ranks do not call it.
function ranks.decide(decide)
  return core.share_text(ranks.first and decide() or "")
end

--- The same where `decide` may fail: then it does on every rank.
function ranks.decide_or_fail(decide)
  local text = ranks.decide(function()
    local good, result = pcall(decide)
    return (good and "+" or "-") .. tostring(result)
  end)
  if text:sub(1, 1) == "-" then error(text:sub(2), 0) end
  return text:sub(2)
end

--- Whether rank 0 finds the file.
function ranks.exists(path)
  return ranks.decide(function() return core.exists(path) and "yes" or "no" end) == "yes"
end

--- What f(...) gives; an error on one rank is one on all.
function ranks.together(f, ...)
  local good, result = pcall(f, ...)
  -- the others cannot be asked, and that is not why
  if not good and ranks.lost() then error(result, 0) end
  local failed = core.any_rank(not good)
  if not good then error(result, 0) end
  if failed then error(("failed on another rank than %d"):format(ranks.rank), 0) end
  return result
end

--- The number of each rank, in their order, on every rank.
function ranks.each(number) return core.each_rank(number) end

--- Whether each rank says the same text as this one, in their order; on every rank.
function ranks.alike(text)
  local number = tonumber(core.hash(text):sub(1, 12), 16)
  local all = ranks.each(number)
  for i, other in ipairs(all) do all[i] = other == number end
  return all
end

--- How many ranks this machine has; on every rank.
function ranks.near()
  local count = 0
  for _, here in ipairs(ranks.alike(core.machine().host)) do count = count + (here and 1 or 0) end
  return count
end

--- Whether a rank has ended, so that nothing can be agreed on any more.
function ranks.lost() return (select(3, core.ranks())) end

return ranks
