-- What the experiments run at scale `paper` are the published settings: tests/golden/settings.csv,
-- each with where it stands. And what keeps the papers' proportions when the scale shrinks.
local t = dofile "tests/test.lua"
local csv = require "longhaul.run.csv"
local script = require "longhaul.script"

local loaded = {}
local function load(experiment, scale)
  local key = experiment .. " " .. scale
  if not loaded[key] then
    loaded[key] = script.load(("experiments/%s.lua"):format(experiment), { scale = scale })
  end
  return loaded[key]
end

-- An option as its text has it: numbers by value, lists with commas.
local function text_of(value)
  if type(value) == "table" then value = table.concat(value, ",") end
  local text = tostring(value):gsub("%+", ",")
  local number = tonumber(text)
  return number and ("%.12g"):format(number) or text
end

-- `*` is every row, ^label$ that one, else what the label begins with; a semicolon stands for a
-- comma.
local function matches(pattern, label)
  pattern = pattern:gsub(";", ",")
  if pattern == "*" then return true end
  local whole = pattern:match "^%^(.*)%$$"
  if whole then return label == whole end
  return label:sub(1, #pattern) == pattern
end

local function value_of(row, part, option)
  if part == "row" then return row[option] end
  return row[part]:spelled(option)
end

local function check(setting)
  local bench, rows = load(setting.experiment, "paper"), 0
  if setting.part == "rows" then return t.equal(text_of(#bench.rows), setting.value) end
  for _, row in ipairs(bench.rows) do
    if matches(setting.rows, row.label)
      and (setting.dataset == "*" or setting.dataset == row.dataset) then
      rows = rows + 1
      local found = text_of(value_of(row, setting.part, setting.option))
      if found ~= text_of(setting.value) then
        error(("%s, row '%s': %s %s is %s, published %s (%s)"):format(setting.experiment, row.label,
          setting.part,
          setting.option, found, setting.value, setting.source))
      end
    end
  end
  t.check(rows > 0, ("%s has no row '%s' on %s"):format(setting.experiment, setting.rows,
    setting.dataset))
end

for _, setting in ipairs((csv.read "tests/golden/settings.csv")) do
  t.test(("%s %s %s.%s"):format(setting.experiment, setting.rows, setting.part, setting.option), function()
    check(setting)
  end)
end

t.test("at smoke no evaluation goes over all of a corpus", function()
  for path in io.popen "grep -l ^return.bench experiments/*/*.lua":lines() do
    for _, row in ipairs(script.load(path, { scale = "smoke" }).rows) do
      local text = row.task.text
      t.check(text:find "evaluate_%w+=[1-9]" or text:find "limit_eval_bytes=[1-9]"
        or row.task.name == "simulated_network", ("%s: %s"):format(path, row.dataset))
    end
  end
end)

-- ---- Proportions, at every scale --------------------------------------------------------------

local scales = require "longhaul.run.scales"

local function each_row(experiment, body)
  for _, scale in ipairs(scales) do
    for _, row in ipairs(load(experiment, scale).rows) do
      body(row, row.label, function(part, option) return tonumber(row[part]:spelled(option)) end,
        scale)
    end
  end
end

t.test("BRT: a segment is a window for XL and Memorizing, eight windows for the others", function()
  each_row("brt/table1", function(row, label, option, scale)
    local one = label:find "^XL" or label:find "^Memorizing"
    t.equal(option("task", "segment") // option("model", "window"), one and 1 or 8)
    t.equal(option("task", "segment") % option("model", "window"), 0)
    if label:find "^Rec" or label:find "^Feedback" then t.equal(option("model", "states"), 0) end
    if label == "Memorizing Transformer 32k" then
      t.equal(option("model", "memory"), 64 * option("model", "window"))
    end
    -- the same tokens per step, whatever the segment; eight times as many for GitHub (section 4.1)
    local more = scale == "paper" and row.dataset == "github" and 8 or 1
    t.equal(option("task", "segment") * option("task", "batch"), more
      * ({ smoke = 1024, small = 4096, study = 4096, medium = 4096, gpu = 65536, paper = 131072 })[scale])
    t.equal(row.train:option "optimizer", "adafactor")
  end)
end)

-- All that makes a row what it is.
local function whole(row)
  return table.concat({ row.label, row.dataset, row.model.text, row.task.text, row.train.text }, " ")
end

t.test("BRT: with equal documents a step has as many and as many tokens; the other rows are Table 1's", function()
  for _, scale in ipairs(scales) do
    local published, of_dataset, equal = {}, {}, 0
    for _, row in ipairs(load("brt/table1", scale).rows) do published[whole(row)] = true end
    for _, row in ipairs(load("brt/equal", scale).rows) do
      local segments = row.train:option "segments_per_step"
      local tokens = row.task:option "batch" * row.task:option "segment" * segments
      of_dataset[row.dataset] = of_dataset[row.dataset] or tokens
      t.equal(tokens, of_dataset[row.dataset])
      if row.label:find ", equal documents$" then
        t.equal(row.task:option "segment" * segments, 8 * load("brt/table1", scale).rows[1].model:option "window")
        equal = equal + 1
      else
        t.check(published[whole(row)], row.label .. " is a row of Table 1")
      end
    end
    t.check(equal >= 4)
  end
end)

t.test("BRT: windows of 1, 2 and 4 times, and one layer more", function()
  for _, scale in ipairs(scales) do
    local by = {}
    for _, row in ipairs(load("brt/table1", scale).rows) do
      by[row.label] = by[row.label] or row.model
    end
    local function get(label, option) return tonumber(by[label]:spelled(option)) end
    t.equal(get("XL:1024", "window"), 2 * get("XL:512", "window"))
    t.equal(get("XL:2048", "window"), 4 * get("XL:512", "window"))
    t.equal(get("Slide:12L", "window"), get("XL:512", "window"))
    t.equal(get("Slide:13L", "layers"), get("Slide:12L", "layers") + 1)
  end
end)

t.test("BRT: ablations have the recurrent layers of section 4.5, where there are as many", function()
  local function layers_at(scale)
    local layers = {}
    for _, row in ipairs(load("brt/ablations", scale).rows) do
      layers[row.label] = row.model:spelled "recurrent_layers"
    end
    return layers
  end
  for _, scale in ipairs { "study", "gpu", "paper" } do
    local layers = layers_at(scale)
    t.equal(layers["one layer"], "10")
    t.equal(layers["two adjacent"], "9,10")
    t.equal(layers["two apart"], "4,10")
  end
  for scale, one in pairs { smoke = "1", small = "2", medium = "2" } do
    local layers = layers_at(scale)
    t.equal(layers["one layer"], one)
    t.equal(layers["two adjacent"], "1,2")
    t.equal(layers["two apart"], nil)
  end
end)

t.test("Staircase: N chunks of C are the span that Transformer-XL sees", function()
  each_row("staircase/table2", function(_, label, option)
    local span = option("task", "segment") // 2
    if label:find "^Staircase, N" then
      t.equal(option("model", "steps") * option("model", "forward_size"), span)
    elseif label:find "^Transformer%-XL" or label:find "^Universal" then
      t.equal(option("model", "span"), span)
    elseif label:find "^Feedback" then
      t.equal(option("model", "span"), 2 * span)
    else
      t.equal(option("model", "step_size"), span + option("model", "forward_size"))
    end
  end)
end)

t.test("Staircase: an LSTM has the parameters of the rows beside it, on text from medium on", function()
  local lh, size = require "longhaul", {}
  for _, scale in ipairs { "small", "study", "medium", "gpu", "paper" } do
    for _, row in ipairs(load("staircase/table1", scale).rows) do
      size[row.dataset .. row.label] = 2 * lh.parameters(row.model, 1000) - lh.parameters(row.model, 2000)
    end
    for _, name in ipairs { "random_walk", "algorithm", "enwik8" } do
      local share = size[name .. "LSTM"] / size[name .. "Transformer-XL [9]"]
      if name ~= "enwik8" or scale ~= "small" and scale ~= "study" then
        t.check(math.abs(share - 1) < 0.09, ("%s, %s: %.2f"):format(scale, name, share))
      end
    end
  end
end)

t.test("Reformer: duplication is 0w0w, rounds are those of the label, a chunk divides it", function()
  each_row("reformer/table2", function(row, label, option)
    local length = 2 * (option("task", "word") + 1)
    local rounds = label:match "| LSH%-(%d+)$"
    t.equal(option("model", "positions"), length)
    t.equal(length % option("model", "chunk"), 0)
    if rounds then
      t.equal(option("model", "rounds"), tonumber(rounds))
      t.equal(row.model:option "attention", "lsh")
    end
    local trained, evaluated = label:match "^(.-) | (.*)$"
    t.equal(option("train", "steps") > 0, trained == evaluated)
    t.equal(row.from ~= nil, trained ~= evaluated)
  end)
end)

t.test("Recurrent GPT-2: a segment is whole windows behind an overlap", function()
  for _, experiment in ipairs { "gpt2_recurrent/figure4", "gpt2_recurrent/table2" } do
    each_row(experiment, function(_, _, option)
      local window, overlap = option("model", "window"), option("model", "overlap")
      t.equal(option("task", "overlap"), overlap)
      t.equal((option("task", "segment") - overlap) % (window - overlap), 0)
      t.check(overlap < window, "the overlap is shorter than the window")
    end)
  end
end)

t.finish()
