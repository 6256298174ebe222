-- The claims of the papers on the report's page: how many hold where something was decided, each that
-- was decided with what was measured, then the others, which a reader opens.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local page = require "longhaul.report.page"
local totals = require "longhaul.report.totals"

local claims_markup = {}

local columns = { "claim", "verdict", "sentence", "measured", "expected", "published", "experiment",
  "scale", "device", "seeds", "note", "scale_changes" }

local decides = { holds = true, ["in direction"] = true, fails = true }

-- A table for each scale and device at which something was decided.
local function totals_tables(list)
  local groups, parts = {}, {}
  for _, total in ipairs(list) do
    local title = ("scale %s on %s"):format(total.scale, total.device)
    local group = groups[title]
    if not group then
      group = { title = title, rows = {}, decided = 0 }
      groups[title], groups[#groups + 1] = group, group
    end
    table.insert(group.rows, totals.cells(total))
    group.decided = group.decided + total.holds + total.in_direction + total.fails
  end
  for _, group in ipairs(groups) do
    if group.decided > 0 then
      parts[#parts + 1] = page.table { class = "text", head = { totals.titles }, rows = group.rows,
        caption = "Verdicts by paper, " .. group.title .. "; \"means\" counts what the means alone say, "
          .. "of undecided claims too" }
    end
  end
  return table.concat(parts, "\n")
end

local function by_verdict(records)
  local decided, open = {}, {}
  for _, record in ipairs(records) do
    table.insert(decides[record.verdict] and decided or open, record)
  end
  return decided, open
end

--- The section of <folder>/claims; "" where nothing was judged.
function claims_markup.html(folder)
  local path = folder .. "/claims/claims.csv"
  if not core.exists(path) then return "" end
  local records = csv.read(path)
  local decided, open = by_verdict(records)
  local parts = { '<h2 id="claims">What the papers claim</h2>', totals_tables(totals.of(records)) }
  if #decided > 0 then
    parts[#parts + 1] = page.text_table("Claims that runs decide, with what was measured", columns,
      decided)
  end
  if #open > 0 then
    parts[#parts + 1] = ("<details><summary>%d claims that runs do not decide, or nobody tested"
      .. "</summary>\n%s</details>"):format(#open, page.text_table("Claims left open, and why", columns,
      open))
  end
  return table.concat(parts, "\n")
end

return claims_markup
