-- Block-Recurrent Transformer, Table 1: its rows of short segments with as many documents in a step
-- as the others have. At equal tokens a step of XL:512 meets eight times the documents of a row whose
-- segment is eight windows long (section 4.2), and the paper trains until that no longer matters.
-- At `study` 1 hour of two cores.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

-- Rows that Table 1 has are its runs.
local bench = lh.experiment("brt-equal", { runs = "brt-table1" })
bench:seeds(setting.seeds)

local window, long = setting.size.window, setting.long
local compared = { pg19_bytes = true, arxiv = true }

local function add(dataset, label, model, task, train)
  bench:row { label, model = model, task = task, train = train, dataset = dataset.name }
end

local function add_both(dataset, label, model, segment)
  local task, train = setting.task(dataset, segment), setting.train(dataset)
  add(dataset, label, model, task, train)
  add(dataset, label .. ", equal documents", model, task:with { batch = dataset.tokens // long },
    train:with { segments_per_step = long // segment })
end

local function add_long(dataset, label, model)
  add(dataset, label, model, setting.task(dataset, long), setting.train(dataset))
end

for _, dataset in ipairs(setting.datasets) do
  if compared[dataset.name] then
    for _, row in ipairs(setting.windows) do add_both(dataset, table.unpack(row)) end
    add_both(dataset, "Memorizing Transformer 32k", setting.memorizing(), window)
    add_long(dataset, "Slide:12L", lh.models.slide(setting.model()))
    add_long(dataset, "Rec:fixed:skip", lh.models.brt(setting.model { recurrence = "fixed:skip" }))
  end
end

bench:table { columns = { "bits_per_byte", "bits_per_token", "relative_step_time" }, baseline = "Slide:12L" }
return bench
