-- The pretrained GPT-2 that the study of Yoshida et al. 2020 begins with: the released weights from `gpu` on, below a
-- small one trained here, so that the whole study runs without a download. It learns text that the study does not use.
local lh = require "longhaul"

local bench = lh.experiment "gpt2_recurrent-pretrain"

local size = lh.by_scale {
  smoke = { layers = 2, width = 16, heads = 2, context = 32, dropout = 0 },
  small = { layers = 3, width = 64, heads = 4, context = 256, dropout = 0 },
  medium = { layers = 6, width = 192, heads = 6, context = 512, dropout = 0 },
  gpu = {},
}
local released = lh.by_scale { smoke = false, gpu = true }

local task = lh.tasks.language_model {
  lh.data.text {
    lh.by_scale { smoke = "generate:books", medium = lh.data.first { "enwik8", "generate:code" } }, tokens = "bytes",
    documents = lh.by_scale { smoke = 40, small = 600 }, data_seed = 2, document_bytes = lh.by_scale { smoke = 1024, small = 16384 },
    split_bytes = lh.by_scale { smoke = 1024, small = 16384 }, limit_eval_bytes = lh.by_scale { smoke = 2048, small = 65536 },
  },
  segment = lh.by_scale { smoke = 32, small = 256, medium = 512 }, batch = 16,
}

bench:row {
  "GPT-2", model = lh.models.gpt2(size), task = task, seeds = 1, keep_weights = true,
  train = lh.train {
    optimizer = "adam", schedule = "cosine", clip = 1,
    steps = lh.by_scale { smoke = 12, small = 1500, medium = 8000, gpu = 0 },
    rate = lh.by_scale { smoke = 3e-3, medium = 1e-3 }, warmup = lh.by_scale { smoke = 2, small = 100 },
    log_every = lh.by_scale { smoke = 4, small = 20 },
  },
  weights = released and "gpt2" or nil,
}
bench:table { columns = { "bits_per_byte", "parameters" } }
return bench
