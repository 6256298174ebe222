-- Reformer, Table 4: BLEU on WMT14 English-German, newstest2014, of reversible encoder-decoders;
-- the first row is the same model with plain residual connections, whose published figure is that
-- of Vaswani et al. 2017. Without WMT14 a study translates the messages of this machine's programs
-- (`longhaul data import /usr/share/locale --translations de`), and where there are none, as at
-- `small`, the embedded grammar.
-- At `study` 1.1 hours of two cores.
local lh = require "longhaul"

local bench = lh.experiment "reformer-table4"
bench:seeds(lh.by_scale { smoke = 1, study = 3, gpu = 1 })

local base = lh.by_scale {
  smoke = { layers = 1, width = 16, heads = 2 },
  small = { layers = 2, width = 64, heads = 4 },
  medium = { layers = 3, width = 128, heads = 4 },
  gpu = { layers = 6, width = 512, heads = 8, hidden = 2048, dropout = 0.1 },
}
local big = lh.by_scale {
  smoke = base, small = { layers = 2, width = 96, heads = 4 },
  medium = { layers = 3, width = 192, heads = 6 },
  gpu = { layers = 6, width = 1024, heads = 16, hidden = 4096, dropout = 0.3 },
}

-- The published vocabulary where it is at hand, else one of its size.
local subwords = lh.data.first { "sentencepiece/ende-32k.subwords", "none" } ~= "none"
local published = subwords and "subwords:ende-32k" or "sentencepiece:train:32000"

local wmt14 = "wmt14-en-de"
local corpus = lh.by_scale {
  smoke = wmt14, study = lh.data.first { wmt14, "messages-en-de", wmt14 }, gpu = wmt14,
}

local task = lh.tasks.translation {
  name = corpus, tokens = lh.by_scale { smoke = "bytes", small = "sentencepiece:train:1000",
    study = "sentencepiece:train:2000", gpu = published },
  pairs = lh.by_scale { smoke = 200, small = 20e3 },
  evaluate_pairs = lh.by_scale { smoke = 4, small = 200, gpu = 0 },
  batch_tokens = lh.by_scale { smoke = 256, small = 2048, gpu = 65536 },
  longer = lh.by_scale { smoke = 4, small = 50 },
}

-- Adam with the inverse square root (released); short runs end on a cosine. `share` of the base
-- model's 100,000 steps.
local function train(share, rate)
  return lh.train {
    optimizer = "adam", beta2 = 0.98, epsilon = 1e-9,
    schedule = lh.by_scale { smoke = "cosine", gpu = "rsqrt" },
    steps = lh.by_scale { smoke = 6 * share, small = 1500 * share, medium = 5000 * share,
      gpu = 100e3 * share },
    rate = lh.by_scale { smoke = 3e-3, medium = 2e-3, gpu = rate },
    warmup = lh.by_scale { smoke = 2, small = 150, medium = 500, gpu = 8000 },
    log_every = lh.by_scale { smoke = 2, small = 50, gpu = 100 },
  }
end

local rows = {
  { "Vaswani et al. (2017), base model", base, { residual = "plain" }, train(1, 0.088) },
  { "Reversible Transformer (base, 100K steps)", base, {}, train(1, 0.088) },
  { "Reversible Transformer (base, 500K steps, no weight sharing)", base, { shared = false },
    train(5, 0.088) },
  { "Reversible Transformer (big, 300K steps, no weight sharing)", big, { shared = false },
    train(3, 0.0625) },
}
for _, row in ipairs(rows) do
  bench:row {
    row[1], model = lh.models.reformer_encoder_decoder(
      lh.merged({ positions = 2048 }, row[2], row[3])), task = task,
    train = row[4], dataset = "wmt14_ende_newstest2014",
  }
end

bench:table {
  columns = { "bleu", "sacrebleu_uncased", "sacrebleu_cased", "bits_per_token",
    "peak_memory_bytes" },
  published = "reformer_table4",
}
return bench
