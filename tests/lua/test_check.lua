-- Every model of the tree keeps what `longhaul check` asks of plug-ins.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"

local layers = "layers=2 width=8 heads=2 "
local core_options = layers .. "hidden=12 dropout=0 "

-- Small options of each; what is read of it is a task's of tokens, unless it reads vectors alone.
local small = {
  xl = layers .. "window=8", slide = layers .. "window=4",
  brt = "layers=3 width=8 heads=2 window=4 states=4",
  memorizing = "layers=3 width=8 heads=2 window=4 memory=12 top=3 memory_layer=2",
  transformer_xl = core_options .. "span=5", universal = "width=8 heads=2 hidden=12 steps=2 span=4",
  staircase = core_options .. "forward_size=2 steps=3",
  cached_staircase = core_options .. "forward_size=2 step_size=6", feedback = core_options .. "span=5",
  dai_xl = core_options .. "memory=5",
  compressive = core_options .. "block=4 memory=5 compressed_memory=3 compression_rate=2",
  rmt = core_options .. "block=4 memory_tokens=2", lstm = "layers=2 width=6 hidden=8",
  rnn = "layers=2 width=6 hidden=8", linear_attention = core_options,
  mamba2 = "layers=2 width=8 state=6 head_width=4", gated_deltanet = "layers=2 width=8 heads=2 hidden=12 head_width=4",
  transformer = core_options, rsa = "layers=2 width=3 heads=3 rsa_kinds=1,1,1,0,0,0",
  gpt2 = layers .. "context=16 window=4", gpt2_recurrent = layers .. "context=16 summary_hidden=5 window=4 carry=true",
  t5 = core_options, reformer = core_options .. "positions=16 chunk=4 rounds=2",
  routing = core_options .. "window=4 clusters=2",
  reformer_encoder_decoder = core_options .. "positions=24",
  informer = core_options .. "factor=1", logsparse = core_options .. "kernel=2", series_xl = core_options,
  dlinear = "kernel=3", seasonal_naive = "season=8",
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
    t.check(small[class.name] ~= nil, "it has no small options here")
    local report = core.check_model { model = core.options("model", class.name, small[class.name]),
      sizes = sizes_for(class) }
    for _, finding in ipairs(report) do
      local absent = left_out[finding.check]
      local expected = absent and absent[class.name] and "left out" or "ok"
      t.check(finding.verdict == expected, describe(report))
    end
  end)
end

-- Released code that goes another way at a segment's boundary is an option; with it the promise is broken.
t.test("a state that keeps something else at a boundary is found", function()
  local options = core_options:gsub("dropout=0", "forward_size=2 steps=4 cache=outputs")
  local report = core.check_model { model = core.options("model", "staircase", options),
    sizes = { vocabulary = 11 } }
  t.contains(describe(report), "in segments of 16 and of 32 the output of position 16")
end)

t.finish()
