-- The comparison on length: trained on documents of L bytes, evaluated on documents of L to 8 L,
-- which are read whole or, by what carries a state, in the segments of training. What a step costs
-- by its length is in length_costs.lua.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compare-length"
bench:seeds(setting.seeds)

local length = 2 * setting.span
local tokens_per_step = lh.by_scale { smoke = 256, small = 2048, medium = 8192, gpu = 65536 }

-- Documents of so many bytes; a byte is a token.
local function task_of(bytes)
  return function(segment)
    return lh.tasks.language_model {
      lh.data.text {
        "books", tokens = "bytes", documents = lh.by_scale { smoke = 40, small = 500 },
        document_bytes = 64 * length, split_bytes = bytes,
        limit_eval_bytes = lh.by_scale { smoke = 4096, small = 65536, medium = 262144 },
      },
      segment = segment, batch = math.max(1, tokens_per_step // math.max(segment, length)),
    }
  end
end

local function name_of(times) return ("documents of %d bytes"):format(times * length) end

local rows = setting.rows {
  task = task_of(length), span = setting.span, length = length, longest = 8 * length,
}
setting.add(bench, rows, name_of(1), { by = "valid_bits_per_byte" })

local trained = table.move(bench.rows, 1, #bench.rows, 1, {})
for _, times in ipairs { 2, 4, 8 } do
  for _, row in ipairs(trained) do
    local segment = row.task:option "segment"
    bench:row {
      row.label, model = row.model, dataset = name_of(times), from = { bench, row.label, dataset = name_of(1) },
      task = task_of(times * length)(segment < length and segment or times * length),
      train = lh.train { steps = 0, optimizer = "adam" },
    }
  end
end

bench:table { columns = { "bits_per_byte" } }
return bench
