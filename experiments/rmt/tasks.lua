-- The tasks that ask for all of a sequence (Bulatov et al. 2022, section 4): a word of symbols, a
-- sign to begin, and the word twice (copy) or backwards (reverse), each symbol predicted from the
-- right ones before it.
local writes = {
  copy = function(word)
    local out = {}
    for i = 1, 2 * #word do out[i] = word[(i - 1) % #word + 1] end
    return out
  end,
  reverse = function(word)
    local out = {}
    for i = 1, #word do out[i] = word[#word + 1 - i] end
    return out
  end,
}

return {
  parameters = { task = "copy", word = 24, alphabet = 10 },
  sizes = function(p)
    local answers = (p.task == "copy" and 2 or 1) * p.word
    return { vocabulary = p.alphabet + 1, length = p.word + answers }
  end,
  example = function(p)
    local tokens, targets, mask = {}, {}, {}
    for i = 1, p.word do
      tokens[i], targets[i], mask[i] = math.random(p.alphabet), 0, false
    end
    local answer, last = writes[p.task](tokens), 0
    for i, symbol in ipairs(answer) do
      local at = p.word + i
      tokens[at], targets[at], mask[at] = last, symbol, true
      last = symbol
    end
    return tokens, targets, mask
  end,
}
