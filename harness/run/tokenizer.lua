-- Tokenizers beside models: one that fits.
local core = require "longhaul.core"

local tokenizer = {}

--- Opens a tokenizer for `owner`, whose tokens are of a vocabulary of so many (nil: that is not
--- known); an error where its own has another number, since the ids of one mean nothing in the other.
function tokenizer.fitting(name, vocabulary, owner)
  local opened = core.tokenizer(name)
  local own = opened:vocabulary()
  if not vocabulary or own == vocabulary then return opened end
  opened:close()
  error(("%s has a vocabulary of %d, %s one of %d"):format(name, own, owner, vocabulary), 0)
end

--- Refuses what a row's samples ask for and its task does not have.
function tokenizer.check_samples(row, info)
  for _, sample in ipairs(row.samples or {}) do
    local _ <close> = tokenizer.fitting(sample.tokens, info.vocabulary, "the row's model")
    if sample.context > info.length then
      error(("sample: a context of %d tokens, but segments hold %d"):format(sample.context,
        info.length), 0)
    end
  end
end

return tokenizer
