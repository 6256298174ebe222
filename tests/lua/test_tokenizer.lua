-- Tokenizers that are not a model's.
local t = dofile "tests/test.lua"
local tokenizer = require "longhaul.run.tokenizer"

t.test("tokens of another vocabulary are refused, by both numbers", function()
  t.fails(function() tokenizer.fitting("bytes", 200, "w.safetensors") end,
    "bytes has a vocabulary of 260, w.safetensors one of 200")
  local opened <close> = tokenizer.fitting("bytes", nil, "w.safetensors")
  t.equal(opened:vocabulary(), 260)
  t.fails(function() opened:decode { 65, 260 } end, "bytes: token 260 is outside the vocabulary of 260")
  t.fails(function() opened:decode { 2 ^ 32 + 65 } end, "no token's number")
end)

t.finish()
