-- Learning rates that are hardly meant: the defaults of training are Adafactor's and those of a long one.
local core = require "longhaul.core"
local quote = require "longhaul.run.quote"

local rates = {}

local SMALL = 1e-4 -- a highest rate of Adam that is hardly meant for training from nothing

-- The highest rate of a row's schedule: that of rsqrt at the end of its warm-up.
local function peak_of(train)
  local is_rsqrt = train:option "schedule" == "rsqrt"
  return is_rsqrt and core.schedule_rate(train.options, train:option "warmup") or train:option "rate"
end

local function doubts_of(row)
  local function option(name) return row.train:option(name) end
  local list, optimizer, peak = {}, option "optimizer", peak_of(row.train)
  if option "steps" > 0 and option "warmup" > option "steps" then
    list[1] = ("warmup=%d is longer than its %d steps, and the rate never comes to %.2g: say warmup in lh.train")
      :format(option "warmup", option "steps", peak)
  end
  if optimizer ~= "adafactor" and option "rate" == 1 and not row.untuned then
    list[#list + 1] = "rate=1, the default, is Adafactor's, and large for " .. optimizer .. ": say rate in lh.train"
  end
  if optimizer:find "^adam" and peak < SMALL and peak < option "rate" and option "steps" > 0 then
    list[#list + 1] = ("rate=%g comes to %.2g at most, as schedule=rsqrt divides by the root of steps and warmup: "
      .. "say schedule = \"cosine\" or \"constant\", or a larger rate"):format(option "rate", peak)
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
