-- Learning rates that are hardly meant: the defaults of training are Adafactor's and those of a long one.
-- So are options of a schedule or an optimizer that was not chosen.
local core = require "longhaul.core"
local row_notes = require "longhaul.run.row_notes"

local rates = {}

local SMALL = 1e-4 -- a highest rate of Adam that is hardly meant for training from nothing

-- Options, what they belong to, and of which values of it: with the default of that nothing reads them. (Where
-- another was chosen, as by scale, what it does not read may be meant for the others.)
local belongings = {
  { { "final_rate", "decay_from" }, "schedule", "linear and cosine" },
  { { "step_every", "step_factor" }, "schedule", "step and delayed_step" },
  { { "beta1", "beta2", "epsilon" }, "optimizer", "adam and adamw" },
}
local defaults = core.options("train", "train", {})

local function is_default(train, name) return train:spelled(name) == defaults:spelled(name) end

-- The highest rate of a row's schedule: that of rsqrt at the end of its warm-up.
local function peak_of(train)
  local is_rsqrt = train:option "schedule" == "rsqrt"
  return is_rsqrt and core.schedule_rate(train.options, train:option "warmup") or train:option "rate"
end

-- Sentences on options that were given and that nothing reads.
local function unread(train)
  local list = {}
  for _, belonging in ipairs(belongings) do
    local names, owner, values = table.unpack(belonging)
    for _, name in ipairs(is_default(train, owner) and names or {}) do
      if not is_default(train, name) then
        list[#list + 1] = ("%s=%s says nothing with the default, %s=%s; it is of %s"):format(name, train:spelled(name),
          owner, train:spelled(owner), values)
      end
    end
  end
  return list
end

local function doubts_of(run)
  local row = run.row
  local function option(name) return row.train:option(name) end
  local list, optimizer, peak = unread(row.train), option "optimizer", peak_of(row.train)
  if option "steps" > 0 and option "warmup" > option "steps" then
    list[#list + 1] = ("warmup=%d is longer than its %d steps, and the rate never comes to %.2g: "
      .. "say warmup in lh.train"):format(option "warmup", option "steps", peak)
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

--- Sentences on the rows of runs whose training is hardly meant so, those of one line of the script that are
--- so alike together.
function rates.notes(runs) return row_notes.all(runs, doubts_of) end

return rates
