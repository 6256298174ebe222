-- The comparison on language: every architecture with the same number of parameters, on bytes of
-- books, LaTeX and Wikipedia and on sub-words, against what it costs.
local lh = require "longhaul"
local corpus_of = lh.include "../corpus.lua"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compare-language"
bench:seeds(setting.seeds)

local tokens_per_step = lh.by_scale { smoke = 256, small = 2048, medium = 8192, gpu = 65536 }

-- Short documents, whole ones on a GPU.
local piece = lh.by_scale { smoke = 2048, small = 16384, medium = 65536, gpu = 0 }

local function corpus(name, tokens)
  return corpus_of(piece, {
    name, tokens = tokens, documents = lh.by_scale { smoke = 40, small = 500 },
    limit_eval_bytes = lh.by_scale { smoke = 4096, small = 32768, medium = 262144, gpu = 0 },
  })
end

local sub_words = lh.by_scale {
  smoke = "sentencepiece:train:300", small = "sentencepiece:train:500",
  medium = "sentencepiece:train:1000", gpu = "sentencepiece:t5-32k",
}
local length = 8 * setting.span
local encyclopedia = lh.data.first { "enwik8", "code" }
local words = lh.data.first { "wikitext-103", "books" }
local corpora = {
  { "books", corpus("books", "bytes") },
  { "latex", corpus("latex", "bytes") },
  { encyclopedia, corpus(encyclopedia, "bytes") },
  { words .. ", sub-words", corpus(words, sub_words) },
}

for _, entry in ipairs(corpora) do
  local function task(segment)
    return lh.tasks.language_model { entry[2], segment = segment, batch = tokens_per_step // length }
  end
  local rows = setting.rows { task = task, span = setting.span, length = length }
  setting.add(bench, rows, entry[1], { by = "valid_bits_per_byte" })
end

bench:table {
  columns = { "bits_per_byte", "relative_step_time", "peak_memory_bytes", "flops_per_token",
    "state_bytes", "parameters" },
  baseline = "Sliding window",
}
bench:best_at { seconds = lh.by_scale { smoke = { 1 }, small = { 5, 10, 20 }, medium = { 60, 180, 600 } },
  flops = lh.by_scale { smoke = { 1e9 }, small = { 1e11, 3e11 }, medium = { 1e13, 1e14 } } }
for _, over in ipairs { "seconds", "flops" } do
  bench:plot { "loss", x = over, name = "loss_by_" .. over }
end
for _, cost in ipairs { "step_time_ms", "peak_memory_bytes", "flops_per_token", "held_bytes" } do
  bench:plot { "pareto", x = { cost, log = true }, y = "bits_per_byte", frontier = true,
    name = "pareto_" .. cost }
end
return bench
