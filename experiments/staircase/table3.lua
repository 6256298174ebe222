-- Staircase, Table 3: dialogue (Reddit's substitute) by forward size, at a fixed number of
-- recurrent steps.
-- At `study` 1.0 hour of two cores.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "staircase-table3"
local language = setting.language
local size = language.step_size

local rows = {}
for _, share in ipairs { 8, 4, 2 } do
  local slug = ("cached_staircase:r1:f%d"):format(256 // share)
  rows[#rows + 1] = { ("Cache St., C = NC/%d"):format(share), slug, setting.cached(size // share) }
end
for _, steps in ipairs { 2, 4 } do
  for _, part in ipairs { size // 2, size } do
    local slug = ("staircase:r%d:f%d"):format(steps, 256 * part // size // steps)
    rows[#rows + 1] = {
      ("Staircase, N = %d, C = %d"):format(steps, part // steps), slug,
      setting.staircase(steps, part),
    }
  end
end

for _, row in ipairs(rows) do
  bench:row {
    row[1], slug = row[2], model = row[3], task = setting.reddit.task, train = language.train,
    seeds = language.seeds, dataset = setting.reddit.name,
  }
end
bench:table {
  columns = { "valid_perplexity", "perplexity", "step_time_ms", "flops_per_token", "peak_memory_bytes",
    "inference_memory_bytes" },
  published = "staircase_table3",
}
bench:plot { "lines", x = { "forward_size", log = true }, x_title = "forward size, tokens", y = "valid_perplexity",
  group = "steps", band = "seeds", published = "staircase_table3" }
return bench
