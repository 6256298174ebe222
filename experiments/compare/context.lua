-- The comparison on context: how far back a model looks. On books and code the bits of a token by
-- its place in the document, by how many tokens are read before it, and what one other token so far
-- back costs; on recall the right answers by the distance of the fact. The
-- one number: the distance within which 95 % of the gain lies.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compare-context"
bench:seeds(setting.seeds)

local span = setting.span
local length = 8 * span
local tokens_per_step = lh.by_scale { smoke = 256, small = 2048, medium = 8192, gpu = 65536 }

-- Passages are as long as the segments; documents are twice as long, or more.
local passages = lh.by_scale { smoke = 16, small = 128, medium = 512, gpu = 1024 }

local function text(name)
  return function(segment)
    return lh.tasks.language_model {
      lh.data.text {
        name, tokens = "bytes", documents = lh.by_scale { smoke = 40, small = 500 },
        document_bytes = 32 * length, split_bytes = 2 * length,
        limit_eval_bytes = passages * 4 * length,
      },
      segment = segment, batch = tokens_per_step // length,
    }
  end
end

-- Facts that return, more often soon than late: where all distances are alike, none of these models
-- has begun to look facts up by the last step of small.
local facts_length = lh.by_scale { smoke = length // 4, small = length // 8, medium = length // 4 }
local facts_per_step = lh.by_scale { smoke = 256, small = 1024, medium = 8192, gpu = 65536 }

local function facts(segment)
  return lh.tasks.recall {
    vocabulary = lh.by_scale { smoke = 80, small = 32, medium = 512 }, power = 0.1,
    pairs = 4, lengths = facts_length, segment = segment, batch = facts_per_step // facts_length,
    evaluate_sequences = lh.by_scale { smoke = 16, small = 1000 },
  }
end

local corpora = { "books", lh.by_scale { smoke = "code", small = false, medium = "code" } or nil }

local function add(rows, dataset, by, times)
  for _, row in ipairs(rows) do
    row.context = { length = length, passages = passages }
    setting.add(bench, { row }, dataset, { by = by, times = times })
  end
end

for _, name in ipairs(corpora) do
  add(setting.rows { task = text(name), span = span, length = length }, name, "valid_bits_per_byte")
end
add(setting.rows { task = facts, span = span // 4, length = facts_length }, "facts", "valid_accuracy",
  lh.by_scale { smoke = 1, small = 3, medium = 1 })

bench:table {
  columns = { "context_tokens", "bits_per_byte", "accuracy", "state_bytes", "parameters" },
}
for _, part in ipairs { "position", "kept", "changed" } do
  for _, name in ipairs(corpora) do
    bench:plot { "profile", part = part, dataset = name, band = "seeds", name = part .. "_" .. name }
  end
end
bench:plot { "profile", part = "recall", dataset = "facts", band = "seeds", name = "recall" }
return bench
