-- Event files are those that TensorBoard writes: the bytes were made by its own writer (tensorboard
-- 2.21, summary.writer.record_writer) from the same scalars.
local t = dofile "tests/test.lua"
local tensorboard = require "longhaul.report.tensorboard"

local expected = table.concat {
  "0f000000000000006d532b091a0d627261696e2e4576656e743a32fc9851292d000000000000003c418afb090000",
  "00000000e03f10ac022a1f0a100a096c6f73735f62697473150000c03f0a0b0a047261746515cdcccc3dd328136b",
  "2a00000000000000ae8d91f509000000000000e03f10ac022a1c0a1a0a13746573742f626974735f7065725f746f",
  "6b656e1500000040ed566a50",
}

local function hex(text)
  return (text:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

t.test("a version, a point without what it lacks, a result at the last step", function()
  local curve = { { step = "300", tokens = "9600", time_s = "0.5", rate = "0.1", loss_bits = "1.5", mse = "" } }
  t.equal(hex(tensorboard.events({ bits_per_token = "2", row = "7" }, curve)), expected)
end)

t.test("an infinite loss and score are among the scalars", function()
  local events = tensorboard.events({ perplexity = "inf" }, { { step = "1", loss_bits = "inf" } })
  for _, tag in ipairs { "loss_bits", "test/perplexity" } do
    t.contains(events, tag .. "\x15" .. ("<f"):pack(math.huge)) -- key of the value
  end
end)

t.test("of a run without results only its curve", function()
  local events = tensorboard.events({}, { { step = "1", loss_bits = "1" } })
  t.check(not events:find "test/")
  t.contains(events, "loss_bits")
end)

t.finish()
