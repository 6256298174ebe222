-- Learning rates that are hardly meant: the defaults of training are Adafactor's and those of a long one.
local quote = require "longhaul.run.quote"

local rates = {}

local function doubts_of(row)
  local function option(name) return row.train:option(name) end
  local list, optimizer = {}, option "optimizer"
  if option "steps" > 0 and option "warmup" > option "steps" then
    list[1] = ("warmup=%d is longer than its %d steps, so that the rate never comes to %g: say warmup in lh.train")
      :format(option "warmup", option "steps", option "rate")
  end
  if optimizer ~= "adafactor" and option "rate" == 1 and not row.untuned then
    list[#list + 1] = "rate=1, the default, is Adafactor's, and large for " .. optimizer .. ": say rate in lh.train"
  end
  return list
end

--- Sentences on the rows of runs whose rate is hardly meant, those of one line of the script that are so
--- alike together: 'a.lua:3: row "XL:512" and 4 more: warmup=1000 is longer than ...'.
function rates.notes(runs)
  local texts, alike, seen = {}, {}, {}
  for _, run in ipairs(runs) do
    local row = run.row
    for _, doubt in ipairs(seen[row] and {} or doubts_of(row)) do
      local key = row.line .. "\n" .. doubt
      local known = alike[key] or { row = row, count = 0, doubt = doubt }
      if known.count == 0 then alike[key], texts[#texts + 1] = known, known end
      known.count = known.count + 1
    end
    seen[row] = true
  end
  for i, known in ipairs(texts) do
    texts[i] = ("%s: row \"%s\"%s: %s"):format(known.row.line, quote.line(known.row.label),
      known.count > 1 and (" and %d more"):format(known.count - 1) or "", known.doubt)
  end
  return texts
end

return rates
