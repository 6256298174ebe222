-- How many claims hold: the verdicts of claims.csv counted by paper, for the terminal, the report
-- and docs/claims.md.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local statistics = require "longhaul.report.statistics"

local totals = {}

totals.columns = { "paper", "predicate_source", "scale", "device", "claims", "holds",
  "in_direction", "fails", "undecided",
  "untested", "strict_holds", "strict_fails", "published_holds" }

local verdicts = { "holds", "in direction", "fails", "undecided", "untested" }

local function column_of(verdict) return (verdict:gsub(" ", "_")) end

--- Who makes the claim of a verdict: the paper or, where none does, the experiments of its cells.
function totals.maker(record)
  for _, name in ipairs { record.paper, record.experiment } do
    if name ~= "" then return name end
  end
  return "own"
end

local function empty(record, paper)
  local made = { paper = paper, predicate_source = record.predicate_source, scale = record.scale,
    device = record.device,
    claims = 0, strict_holds = 0, strict_fails = 0, published_holds = 0 }
  for _, verdict in ipairs(verdicts) do made[column_of(verdict)] = 0 end
  return made
end

local function count(total, record)
  local column = column_of(record.verdict)
  total.claims, total[column] = total.claims + 1, total[column] + 1
  local strict = "strict_" .. (record.strict or "")
  if total[strict] and record.verdict ~= "untested" then total[strict] = total[strict] + 1 end
  if record.published == "holds" then total.published_holds = total.published_holds + 1 end
end

local function key_of(total)
  return table.concat({ total.predicate_source, total.scale, total.device }, "\n")
end

--- Verdicts do not say how an undecided claim stands: `strict_holds` and `strict_fails` count what
--- the means alone say of all that could fail. The totals of verdicts (records of claims.csv): one
--- by who makes the claim, and one of paper "all", for each source of predicates ("paper": published, "ours"),
--- scale and device.
---@return table[]
function totals.of(records)
  local groups, order = {}, {}
  for _, record in ipairs(records) do
    local key = key_of(record)
    if not groups[key] then
      groups[key] = { all = empty(record, "all"), by_maker = {} }
      order[#order + 1] = key
    end
    local group, maker = groups[key], totals.maker(record)
    if not group.by_maker[maker] then
      group.by_maker[maker] = empty(record, maker)
      table.insert(group, group.by_maker[maker])
    end
    count(group.by_maker[maker], record)
    count(group.all, record)
  end
  local list = {}
  for _, key in ipairs(order) do
    table.move(groups[key], 1, #groups[key], #list + 1, list)
    list[#list + 1] = groups[key].all
  end
  return list
end

local decided = { holds = 3, ["in direction"] = 3, fails = 3, untested = 2 }

-- Whether all that could be measured was, by as many seeds as decide.
local function is_complete(record)
  local seeds = tonumber(record.seeds) or statistics.fewest_seeds
  return record.measured ~= "" and record.lacking == "0" and seeds >= statistics.fewest_seeds
end

-- How much a verdict says: decided, or open after all that could be measured; untested; undecided
-- though something was measured; nothing.
local function weight(record)
  if record.verdict == "undecided" and is_complete(record) then return 3 end
  return decided[record.verdict] or record.measured ~= "" and 1 or 0
end

--- What tells a claim at a scale ("": at any) on a device from others. Two scripts may call claims of their
--- own alike, also over cells of one experiment; records of before that was told have no `script`.
function totals.key(record, scale, script)
  return table.concat({ totals.maker(record), record.claim, scale, record.device, script or "" }, "\n")
end

--- One record for each claim and device, as of scale `called` (nil: its own): the one that says most, and of those
--- that say as much the one of the scale that `scales` names first.
function totals.best(records, scales, called)
  local rank, best, order = {}, {}, {}
  for i, scale in ipairs(scales) do rank[scale] = #scales - i end
  local function value(record) return weight(record) * #scales + rank[record.scale] end
  for _, record in ipairs(records) do
    local key = totals.key(record, "", record.script)
    if rank[record.scale] then
      if not best[key] then order[#order + 1] = key end
      if not best[key] or value(record) > value(best[key]) then best[key] = record end
    end
  end
  for i, key in ipairs(order) do
    local copy = {}
    for name, field in pairs(best[key]) do copy[name] = field end
    copy.scale = called or copy.scale
    order[i] = copy
  end
  return order
end

--- The totals of the verdicts in <folder>/claims.csv; none where there is no such file.
function totals.read(folder)
  local path = folder .. "/claims.csv"
  return core.exists(path) and totals.of((csv.read(path))) or {}
end

--- Writes them to <folder>/totals.csv; gives the path.
function totals.write(folder)
  csv.write(folder .. "/totals.csv", totals.columns, totals.read(folder))
  return folder .. "/totals.csv"
end

-- ---- for readers ----

--- What heads the cells of a total.
totals.titles = { "paper", "claims", "holds", "in direction", "fails", "undecided", "untested",
  "means hold", "means fail",
  "in the paper's tables" }

--- A total's cells, as texts.
function totals.cells(total)
  local of_paper = total.predicate_source == "paper"
  local cells = { of_paper and total.paper or total.paper .. ", ours", total.claims }
  for _, verdict in ipairs(verdicts) do cells[#cells + 1] = total[column_of(verdict)] end
  table.move({ total.strict_holds, total.strict_fails, of_paper and total.published_holds or "" },
    1, 3, #cells + 1, cells)
  for i, cell in ipairs(cells) do cells[i] = tostring(cell) end
  return cells
end

--- A table for the terminal.
function totals.text(list)
  local lines = {}
  local function add(cells)
    lines[#lines + 1] = ("%-22s" .. ("%13s"):rep(#cells - 1)):format(table.unpack(cells))
  end
  local head = { table.unpack(totals.titles) }
  head[#head] = "in tables"
  add(head)
  for _, total in ipairs(list) do add(totals.cells(total)) end
  return table.concat(lines, "\n")
end

--- A table in Markdown of the totals at one scale and on one device.
function totals.markdown(list, scale, device)
  local lines = { "| " .. table.concat(totals.titles, " | ") .. " |", "|---|"
    .. ("---:|"):rep(#totals.titles - 1) }
  for _, total in ipairs(list) do
    if total.scale == scale and total.device == device then
      lines[#lines + 1] = "| " .. table.concat(totals.cells(total), " | ") .. " |"
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

return totals
