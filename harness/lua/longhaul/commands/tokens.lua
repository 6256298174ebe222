-- tokenize, detokenize: between text and the numbers of its tokens.
local command = require "longhaul.command"
local core = require "longhaul.core"

local function input_of(rest)
  if not rest[1] or rest[1] == "-" then return io.read "a" end
  return core.read_file(rest[1])
end

local function tokenizer_of(entry, values)
  if not values.tokens then
    command.misuse(("%s needs --tokens; `longhaul %s --help`"):format(entry, entry))
  end
  return command.tokenizer(core.tokenizer, values.tokens)
end

local function tokenize(values, rest)
  local tokenizer <close> = tokenizer_of("tokenize", values)
  local text = input_of(rest)
  if not values.lines then
    print(table.concat(tokenizer:encode(text), " "))
    return
  end
  for _, line in command.lines(text) do print(table.concat(tokenizer:encode(line), " ")) end
end

-- The tokens of a line of text; `place` is "file:line".
local function tokens_of(line, place, vocabulary)
  local list = {}
  for word in line:gmatch "%S+" do
    local token = math.tointeger(tonumber(word))
    if not token or token < 0 or token >= vocabulary then
      error(("%s: '%s' is no token of the vocabulary of %d"):format(place, word, vocabulary), 0)
    end
    list[#list + 1] = token
  end
  return list
end

local function detokenize(values, rest)
  local tokenizer <close> = tokenizer_of("detokenize", values)
  local vocabulary, between = tokenizer:vocabulary(), ""
  for number, line in command.lines(input_of(rest)) do
    local place = ("%s:%d"):format(rest[1] or "-", number)
    io.write(between, tokenizer:decode(tokens_of(line, place, vocabulary)))
    between = "\n"
  end
end

local tokens_option = { "tokens=", "tokenizer, as in lh.data.text: bytes, bpe:gpt2, ...", "TOKENIZER" }

return {
  {
    name = "tokenize", summary = "the tokens of a text, as numbers", run = tokenize, most = 1,
    usage = "tokenize --tokens TOKENIZER [--lines] [FILE]",
    description = "Reads FILE, or standard input, as one text and prints its tokens in a line, as "
      .. "`forward --ids` reads them.",
    options = { tokens_option, { "lines", "every line is a text; empty ones are left out" } },
  },
  {
    name = "detokenize", summary = "the text of tokens", run = detokenize, most = 1,
    usage = "detokenize --tokens TOKENIZER [FILE]",
    description = "Reads lines of token numbers from FILE, or standard input, and writes the text of each; "
      .. "what `tokenize` printed gives the same bytes again.",
    options = { tokens_option },
  },
}
