-- The GPT-2 of the study of Yoshida et al. 2020 and its vocabulary: GPT-2 small from `gpu` on.
-- Below, a small one that is pretrained here, over a vocabulary that is trained here too: over
-- bytes an overlap mends the words that windows cut, and that hides what recurrence brings.
local lh = require "longhaul"

return {
  size = lh.by_scale {
    smoke = { layers = 2, width = 16, heads = 2, context = 64, dropout = 0 },
    small = { layers = 3, width = 64, heads = 4, context = 256, dropout = 0 },
    medium = { layers = 6, width = 192, heads = 6, context = 512, dropout = 0.1 },
    gpu = {},
  },
  tokens = lh.by_scale {
    smoke = "bytes", small = "bpe:train:512:generate:books+generate:latex",
    medium = "bpe:train:2048:" .. lh.data.first { "enwik8", "generate:code" }, gpu = "bpe:gpt2",
  },
  released = lh.by_scale { smoke = false, gpu = true },
}
