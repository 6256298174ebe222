-- Tokenizers beside models: one that fits, and the text of tokens as they come.
local core = require "longhaul.core"

local tokenizer = {}

--- Opens a tokenizer for `owner`, whose tokens are of a vocabulary of so many (nil: that is not
--- known); an error where its own has another number, since the ids of one mean nothing in the other. One
--- that is trained without naming a corpus is so on that of a task's `options`, where these are given.
function tokenizer.fitting(name, vocabulary, owner, options)
  local opened = core.tokenizer(name, options)
  local own = opened:vocabulary()
  if not vocabulary or own == vocabulary then return opened end
  opened:close()
  error(("%s has a vocabulary of %d, %s one of %.0f"):format(name, own, owner, vocabulary), 0)
end

--- Refuses what a row's samples ask for and its task does not have.
function tokenizer.check_samples(row, info)
  for _, sample in ipairs(row.samples or {}) do
    local _ <close> = tokenizer.fitting(sample.tokens, info.vocabulary, "the row's model", row.task.options)
    if sample.context > info.length then
      error(("sample: a context of %d tokens, but segments hold %d"):format(sample.context,
        info.length), 0)
    end
  end
end

-- A tail of tokens is decoded anew with each one: it begins again with the last few when it is long.
local longest, overlap = 64, 16

local function last_of(list, count)
  return table.move(list, math.max(1, #list - count + 1), #list, 1, {})
end

-- What tokens to come cannot change of a text. SentencePiece has U+FFFD for a character whose last
-- bytes are to come, subwords a backslash and digits.
local function settled(text)
  while text:sub(-3) == "\u{FFFD}" do text = text:sub(1, -4) end
  return (text:gsub("\\%d*$", ""))
end

--- A function that takes the next token behind a text and gives what comes to it, blanks before a
--- word included; nil instead of a token: what is still held back. `read`: the text's tokens.
function tokenizer.continuation(opened, text, read)
  local tail = last_of(read, overlap)
  local given = opened:decode(tail)
  -- the text has the blank that its tokens lack
  local has_blank = text:find "%s$" and not given:find "%s$"
  local function shorten(whole)
    local shorter = last_of(tail, overlap)
    local own = opened:decode(shorter)
    if own ~= "" and whole:sub(-#own) == own then tail, given = shorter, own end
  end
  return function(token)
    tail[#tail + 1] = token
    local whole = opened:decode(tail)
    local known = token and settled(whole) or whole
    local more = known:sub(#given + 1)
    if more == "" then return "" end
    given = known
    if has_blank then more, has_blank = more:gsub("^ ", ""), false end
    if #tail > longest and known == whole then shorten(whole) end
    return more
  end
end

return tokenizer
