-- Every model of the tree keeps what `longhaul check` asks of plug-ins.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"

local small = require "longhaul.small"

-- What is said of some beside small numbers.
local own = {
  dai_xl = "dropout=0", gpt2_recurrent = "carry=true", reformer = "rounds=2", rsa = "rsa_kinds=1,1,1,0,0,0",
  informer = "factor=1", logsparse = "kernel=2",
}

-- What is not declared, or not there to be checked, as segments of one length alone.
local function set_of(names)
  local set = {}
  for name in names:gmatch "%S+" do set[name] = true end
  return set
end

local left_out = {
  causality = set_of "rsa reformer routing informer logsparse series_xl dlinear seasonal_naive",
  segments = set_of("xl memorizing dai_xl transformer rsa gpt2 t5 reformer routing reformer_encoder_decoder "
    .. "informer logsparse series_xl dlinear seasonal_naive"),
}

local function sizes_for(class)
  if not class.tokens then
    return { input_features = 6, output_features = 4, time_features = 2, seq_len = 8, label_len = 4,
      pred_len = 8, stride = 8 }
  end
  return { vocabulary = 11, source_vocabulary = class.encodes and 11 or 0, source_length = class.encodes and 24 or 0 }
end

local function describe(report)
  local lines = {}
  for i, finding in ipairs(report) do
    lines[i] = ("%s %s: %s"):format(finding.verdict, finding.check, finding.text)
  end
  return table.concat(lines, "\n")
end

for _, class in ipairs(core.models()) do
  t.test(class.name .. " passes", function()
    local sizes = sizes_for(class)
    local options = core.options("model", class.name, small.text(class, own[class.name] or "", sizes))
    t.check(core.describe(options, sizes, 16).total < 40000, "it is not small")
    local report = core.check_model { model = options, sizes = sizes }
    for _, finding in ipairs(report) do
      local absent = left_out[finding.check]
      local expected = absent and absent[class.name] and "left out" or "ok"
      t.check(finding.verdict == expected, describe(report))
    end
  end)
end

local function class_of(name)
  for _, class in ipairs(core.models()) do
    if class.name == name then return class end
  end
end

-- Released code that goes another way at a segment's boundary is an option, with which nothing is promised.
t.test("a state that keeps something else at a boundary with its options is not held to a split", function()
  for name, said in pairs { staircase = "steps=4 forward_size=2 cache=outputs", feedback = "carry=normed",
    cached_staircase = "computed_steps=2 step_size=8 forward_size=2", gpt2_recurrent = "carry=true window=0" } do
    local sizes = { vocabulary = 11 }
    local text = small.text(class_of(name), said, sizes)
    local report = describe(core.check_model { model = core.options("model", name, text), sizes = sizes })
    t.contains(report, "left out segments: not declared, or not with these options")
    t.check(not report:find("failed", 1, true), report)
  end
end)

-- A window is no longer than its segment; one that overlaps the window before begins elsewhere in other segments.
t.test("a segment that is one window is not held to shorter ones, nor are windows that overlap", function()
  for said, length in pairs { ["window=8"] = 4, ["window=8 carry=true"] = 8, ["window=4 overlap=2"] = 6 } do
    local sizes = { vocabulary = 11 }
    local text = small.text(class_of "gpt2_recurrent", said, sizes, length)
    local model = core.options("model", "gpt2_recurrent", text)
    local report = describe(core.check_model { model = model, sizes = sizes, length = length })
    t.check(not report:find("failed", 1, true), report)
  end
end)

t.test("what is said of a model stays, and the rest is small as far as the model takes it", function()
  local sizes = { vocabulary = 11 }
  t.equal(small.text(class_of "lstm", "layers=5 hidden=99", sizes), "layers=5 hidden=99 width=16")
  t.equal(small.text(class_of "brt", "heads=4", sizes), "heads=4 layers=3 width=16 window=8") -- recurrent_layers=-3
  t.equal(small.text(class_of "gpt2", "", sizes), "layers=2 heads=2 width=16 window=8 context=32")
  -- the window is the segment
  t.equal(small.text(class_of "xl", "window=24", sizes, 24), "window=24 layers=2 heads=2 width=16")
  t.equal(small.text(class_of "xl", "", sizes, 512), "layers=2 heads=2 width=16")
end)

t.test("a check says what it looks at, and how much of it there is", function()
  local told = {}
  core.check_model { model = core.options("model", "lstm", "layers=1 width=4 hidden=4"), sizes = { vocabulary = 11 },
    hear = function(what, done, all) told[#told + 1] = ("%d/%d %s"):format(done + 1, all, what) end }
  t.equal(told[1], "1/13 outputs")
  t.equal(told[6], "6/13 segments")
  t.contains(told[7], "7/13 gradient of ")
  t.equal(told[13], "13/13 parameters")
  t.equal(#told, 13)
end)

t.finish()
