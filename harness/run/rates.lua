-- Learning rates that are hardly meant: the defaults of training are Adafactor's and those of a long one.
local core = require "longhaul.core"
local row_notes = require "longhaul.run.row_notes"

local rates = {}

local SMALL = 1e-4 -- a highest rate of Adam that is hardly meant for training from nothing

-- The highest rate of a row's schedule: that of rsqrt at the end of its warm-up.
local function peak_of(train)
  local is_rsqrt = train:option "schedule" == "rsqrt"
  return is_rsqrt and core.schedule_rate(train.options, train:option "warmup") or train:option "rate"
end

local function doubts_of(run)
  local row = run.row
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
--- alike together.
function rates.notes(runs) return row_notes.all(runs, doubts_of) end

return rates
