-- Text as its tokens come, and tokenizers that are not a model's.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local tokenizer = require "longhaul.run.tokenizer"

local function open(name)
  local good, opened = pcall(core.tokenizer, name)
  if not good and tostring(opened):find "this build lacks" then t.skip(opened) end
  return good and opened or error(opened, 0)
end

-- The text of all tokens behind `prompt`, one by one; what came with each is added to `pieces`.
local function come_one_by_one(opened, prompt, tokens, pieces)
  local text_of = tokenizer.continuation(opened, prompt, opened:encode(prompt))
  for i, token in ipairs(tokens) do pieces[i] = text_of(token) end
  pieces[#pieces + 1] = text_of()
  return table.concat(pieces)
end

-- A text of more tokens than are decoded together, whose tail goes on behind a prompt as the whole
-- text does.
local text = ("the river of the town, and the old captain said of it:\nthat it was long. "):rep(12)

local function check_whole(name, prompt)
  local opened <close> = open(name)
  local whole, begin = opened:encode(text), #opened:encode(prompt)
  t.check(#whole > 150, "a short text")
  local pieces = {}
  local came = come_one_by_one(opened, prompt, table.move(whole, begin + 1, #whole, 1, {}), pieces)
  t.equal(opened:decode(whole):sub(1, #prompt) .. came, opened:decode(whole))
  t.check(pieces[1] ~= "" and #pieces[1] < 20, "text waits for what comes later")
end

local prompt = "the river of the town,"

t.test("words come with the blanks between them", function()
  check_whole("words:train:200:generate:books", prompt)
end)
t.test("pieces come with theirs", function()
  check_whole("sentencepiece:train:300:generate:books", prompt)
end)
t.test("so do merges and bytes", function()
  check_whole("bpe:train:300:generate:books", prompt)
  check_whole("bytes", prompt)
end)

t.test("a blank at the end of a prompt is not written twice", function()
  for _, name in ipairs { "words:train:200:generate:books", "sentencepiece:train:300:generate:books", "bytes" } do
    local opened <close> = open(name)
    local came = come_one_by_one(opened, "the ", opened:encode "of", {})
    t.equal(came, "of")
  end
end)

t.test("a character that a number spells waits for all of it", function()
  local path = os.tmpname()
  core.write_file(path .. ".subwords", "'<pad>_'\n'<EOS>_'\n'the_'\n'\\'\n'2'\n'3'\n';'\n'_'\n'u'\n")
  local opened <close> = open("subwords:" .. path .. ".subwords")
  os.remove(path)
  os.remove(path .. ".subwords")
  local pieces = {}
  -- the_ \ 2 3 3 ; _ the_
  local came = come_one_by_one(opened, "the", { 3, 4, 5, 5, 6, 7, 2 }, pieces)
  t.equal(came, " \u{e9} the")
  t.equal(table.concat(pieces, "", 1, 4), "")
  t.equal(pieces[5], " \u{e9}")
end)

t.test("tokens of another vocabulary are refused, by both numbers", function()
  t.fails(function() tokenizer.fitting("bytes", 200, "w.safetensors") end,
    "bytes has a vocabulary of 260, w.safetensors one of 200")
  t.fails(function() tokenizer.fitting("bytes", 1e30, "w.safetensors") end, "w.safetensors one of 1000000000")
  local opened <close> = tokenizer.fitting("bytes", nil, "w.safetensors")
  t.equal(opened:vocabulary(), 260)
  t.fails(function() opened:decode { 65, 260 } end, "bytes: token 260 is outside the vocabulary of 260")
  t.fails(function() opened:decode { 2 ^ 32 + 65 } end, "no token's number")
end)

t.finish()
