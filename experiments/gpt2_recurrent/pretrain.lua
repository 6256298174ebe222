-- The pretrained GPT-2 that the study of Yoshida et al. 2020 begins with: the released weights from
-- `gpu` on, below a small one trained here, so that the whole study runs without a download. It
-- learns text that the study does not use.
local lh = require "longhaul"

local bench = lh.experiment "gpt2_recurrent-pretrain"

local pretrained = lh.include "model.lua"

local task = lh.tasks.language_model {
  lh.data.text {
    lh.by_scale { smoke = "generate:books", medium = lh.data.first { "enwik8", "generate:code" } },
    tokens = pretrained.tokens,
    documents = lh.by_scale { smoke = 40, small = 600 }, data_seed = 2,
    document_bytes = lh.by_scale { smoke = 1024, small = 16384 },
    split_bytes = lh.by_scale { smoke = 1024, small = 16384 },
    limit_eval_bytes = lh.by_scale { smoke = 2048, small = 65536 },
  },
  segment = lh.by_scale { smoke = 32, small = 256, medium = 512 }, batch = 16,
}

bench:row {
  "GPT-2", model = lh.models.gpt2(pretrained.size), task = task, seeds = 1, keep_weights = true,
  train = lh.train {
    optimizer = "adam", schedule = "cosine", clip = 1,
    steps = lh.by_scale { smoke = 12, small = 3000, medium = 8000, gpu = 0 },
    rate = lh.by_scale { smoke = 3e-3, medium = 1e-3 },
    warmup = lh.by_scale { smoke = 2, small = 100 },
    log_every = lh.by_scale { smoke = 4, small = 20 },
  },
  weights = pretrained.released and "gpt2" or nil,
}
bench:table { columns = { "bits_per_byte", "parameters" } }
return bench
