-- A task of tokens that needs no building: a file of examples.
return {
  says = "a task written in Lua, outside the tree: a file that makes its examples",
  files = { { "NAME.lua", [==[
-- NAME: a word, then as many blanks, where the word is to be told again. docs/lua.md, "A task of
-- your own", has the rules; replace sizes and example by your task.
return {
  -- What a script may say otherwise: lh.tasks.scripted_tokens { "NAME.lua", parameters = { word = 32 } }
  parameters = { word = 16, alphabet = 9 },

  -- The positions of the longest example, and how many tokens there are: 0 to vocabulary - 1.
  sizes = function(p) return { vocabulary = p.alphabet + 1, length = 2 * p.word } end,

  -- What guessing scores, which tables and charts tell of the data.
  chance = function(p) return { accuracy = 1 / p.alphabet } end,

  -- One example, drawn by math.random: tokens, the targets at their positions, and what of them is
  -- asked for. `split` is "train", "valid" or "test".
  example = function(p, split)
    local tokens, targets, mask = {}, {}, {}
    for t = 1, p.word do
      tokens[t], tokens[p.word + t] = math.random(p.alphabet), 0
      targets[t], targets[p.word + t] = 0, tokens[t]
      mask[t], mask[p.word + t] = false, true
    end
    return tokens, targets, mask
  end,
}
]==] } },
  next = "longhaul train --model slide --options 'layers=2 width=32 heads=2 window=32' "
    .. "--task scripted_tokens --task-options file=NAME.lua --train 'steps=200 warmup=20'",
}
