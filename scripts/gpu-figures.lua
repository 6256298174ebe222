-- What expressions of figures in documents may say of a card (known-figures.lua, whose table of functions this adds to,
-- and whose helpers it takes): what scripts/gpu-check.sh left there, in gpu-correct and gpu-speed of the card's folder.
local core = require "longhaul.core"
local cost = require "longhaul.run.cost"
local csv = require "longhaul.run.csv"
local lists = require "longhaul.run.lists"

local known, helpers, root = ...
local markdown, matching = helpers.markdown, helpers.matching

local function text(format, number, factor)
  number = tonumber(number)
  return number and format:format((factor or 1) * number) or ""
end

-- ---- calls ----

--- The parts of the calls of a card: how long each took, what came of it, and of which commit it was.
function known.gpu_calls(machine)
  local lines = {}
  for _, folder in ipairs(core.list_folder(root .. machine)) do
    local path = ("%s/%s/summary.csv"):format(machine, folder)
    for _, row in ipairs(core.exists(root .. path) and matching(path, {}) or {}) do
      lines[#lines + 1] = { folder, row.part, row.verdict, row.seconds, row.code_version, row.date:sub(1, 10) }
    end
  end
  return markdown({ "call", "part", "verdict", "seconds", "commit", "date" }, lines,
    { part = true, verdict = true, commit = true, date = true })
end

--- How many kernels the conformance suite found good there.
function known.gpu_conforming(path) return #matching(path, { verdict = "good" }) end

--- Of losses.csv: how far losses are from the processor's at most, and how far they may be.
function known.gpu_losses(path)
  local lines = {}
  for i, row in ipairs(matching(path, {})) do
    lines[i] = { row.model, row.optimizer, row.precision, row.steps, text("%.1e", row.first_difference),
      text("%.0e", row.first_bound), text("%.1e", row.largest_difference), text("%.0e", row.bound), row.verdict }
  end
  return markdown({ "model", "optimizer", "precision", "steps", "off in the first ten", "allowed", "off in all",
    "allowed", "verdict" }, lines, { optimizer = true, precision = true, verdict = true })
end

-- ---- speed ----

--- Of rates.csv: what the card reached, beside what the estimate takes for it.
function known.gpu_rates(path, name)
  local device, lines = cost.device(name), {}
  for i, row in ipairs(matching(path, {})) do
    local taken = row.name == "copy" and device.bandwidth or device[row.name]
    local result = row.result ~= "" and (", result in %s"):format(row.result) or ""
    lines[i] = { row.name .. result, text("%.2f", row.value, 1e-12), text("%.2f", taken, 1e-12),
      "T" .. row.unit:gsub("byte", "B") }
  end
  return markdown({ "", "measured", "in the estimate", "unit" }, lines, { unit = true })
end

--- Of speed.csv: steps, beside what was expected of them.
function known.gpu_steps(path)
  local lines = {}
  for i, row in ipairs(matching(path, {})) do
    local how = row.execution ~= "graph" and ", " .. row.execution or ""
    lines[i] = { row.model .. how, row.precision, ("%s x %s"):format(row.batch, row.segment), text("%g", row.dropout),
      text("%.1f", row.expected_ms), text("%.1f", row.following_step_ms),
      ("%.2f"):format(row.following_step_ms / row.expected_ms), text("%.1f", row.step_time_ms),
      text("%.0f", row.flops, 1e-12), text("%.0f", row.share_of_bf16, 100), text("%.1f", row.peak_memory_bytes, 1e-9) }
  end
  return markdown({ "model", "precision", "tokens", "dropout", "expected, ms", "in a row, ms", "times expected",
    "alone, ms", "TFLOP/s", "of bf16's rate, %", "memory, GB" }, lines, { precision = true })
end

-- ---- kernels ----

-- What our kernels took, by name, { ms, expected }, and the sum of these.
local function by_entry(rows)
  local entries, sum = {}, { ms = 0, expected = 0 }
  for _, row in ipairs(rows) do
    local name = row.entry ~= "" and row.entry or "others"
    if not entries[name] then
      entries[name] = { ms = 0, expected = tonumber(row.entry_expected_ms) }
      sum.expected = sum.expected + (entries[name].expected or 0)
    end
    entries[name].ms, sum.ms = entries[name].ms + row.ms, sum.ms + row.ms
  end
  return entries, sum
end

-- The models of profile.csv in its order.
local function profiles(path)
  local order, models = lists.set(), {}
  for _, row in ipairs(matching(path, {})) do order:add(row.model) end
  for i, name in ipairs(order.list) do
    local rows = matching(path, { model = name })
    models[i] = { rows = rows, title = ("%s, %s, %s layers"):format(name, rows[1].precision, rows[1].layers) }
    models[i].entries, models[i].sum = by_entry(rows)
  end
  return models
end

--- Of profile.csv: what our kernels took in a step and what was expected of them, of those that take a share of
--- `least` in one of the models.
function known.gpu_profile(path, least)
  local models, most, head, lines = profiles(path), {}, { "" }, {}
  for i, model in ipairs(models) do
    head[2 * i], head[2 * i + 1] = model.title .. ": ms", "expected"
    for name, entry in pairs(model.entries) do most[name] = math.max(most[name] or 0, entry.ms / model.sum.ms) end
  end
  local function add(label, entry_of)
    local line = { label }
    for i, model in ipairs(models) do
      local entry = entry_of(model) or {}
      line[2 * i], line[2 * i + 1] = text("%.2f", entry.ms), text("%.2f", entry.expected)
    end
    lines[#lines + 1] = line
  end
  local names = lists.keys(most)
  table.sort(names, function(a, b) return most[a] > most[b] or most[a] == most[b] and a < b end)
  for _, name in ipairs(names) do
    if most[name] < least then break end
    add(("`%s`"):format(name), function(model) return model.entries[name] end)
  end
  add("all", function(model) return model.sum end)
  return markdown(head, lines)
end

-- A kernel's name without what it takes, and without types that say nothing.
local function short(kernel)
  return (kernel:gsub("%b()", ""):gsub("::%[lambda%s*%]", ""):gsub("^void ", ""):gsub("const ", "")
    :gsub("lh_status ", ""):gsub("__nv_bfloat16", "bf16"))
end

--- Of profile.csv: kernels that take a share of `least` of a model's step.
function known.gpu_kernels(path, least)
  local lines = {}
  for _, model in ipairs(profiles(path)) do
    for _, row in ipairs(model.rows) do
      local share = row.ms / model.sum.ms
      if share >= least then
        lines[#lines + 1] = { row.model, ("`%s`"):format(short(row.kernel)), row.entry, row.launches,
          ("%.0f"):format(1000 * row.ms / row.launches), ("%.0f"):format(100 * share),
          ("%.2f"):format((row.bytes_read + row.bytes_written) / row.ms / 1e9) }
      end
    end
  end
  return markdown({ "model", "kernel", "of", "launches", "µs each", "of the step, %", "memory, TB/s" }, lines,
    { kernel = true, of = true })
end

--- Milliseconds that some of our kernels took together in a layer of a model of profile.csv, and what was expected.
function known.gpu_layer(path, name, entries)
  local ms, expected = 0, 0
  local rows = matching(path, { model = name })
  if #rows == 0 then error(("%s: no model %s"):format(path, name), 0) end
  local of = by_entry(rows)
  for _, entry in ipairs(entries) do
    ms, expected = ms + of[entry].ms, expected + of[entry].expected
  end
  return { ms = ms / rows[1].layers, expected = expected / rows[1].layers }
end

--- Of attention.csv: the kernels of a model of which every instruction was counted.
function known.gpu_attention(path, name)
  local lines = {}
  for _, row in ipairs(matching(path, { model = name })) do
    if row.instructions ~= "" then
      lines[#lines + 1] = { ("`%s`"):format(short(row.kernel)), text("%.0f", row.us),
        text("%.0f", row.instructions, 1e-6), text("%.1f", row.hmma, 100 / row.instructions),
        text("%.1f", row.ldsm, 100 / row.instructions),
        text("%.0f", row.issue_slots_percent), text("%.0f", row.stall_global_percent),
        text("%.0f", row.stall_fixed_latency_percent), text("%.0f", row.stall_shared_percent),
        text("%.0f", row.stall_tensor_percent) }
    end
  end
  return markdown({ "kernel", "µs", "million instructions", "HMMA, %", "LDSM, %", "clocks with an instruction, %",
    "waiting for memory, %", "for arithmetic", "for shared memory", "for tensor cores" }, lines)
end

-- ---- peers ----

-- The rows of the files that tests/gpu/peers.lua left in a folder, one of ours before one of PyTorch's.
local function peer_rows(folder)
  local rows = {}
  for _, name in ipairs(core.list_folder(root .. folder)) do
    if name:match "^peers.*%.csv$" then
      local found = csv.read(("%s%s/%s"):format(root, folder, name))
      table.move(found, 1, #found, #rows + 1, rows)
    end
  end
  return rows
end

local function peer_line(ours, theirs)
  local line = { ours.model, ours.precision, ("%s x %s"):format(ours.batch, ours.segment) }
  for _, column in ipairs { { "following_step_ms", "%.1f" }, { "step_time_ms", "%.1f" },
    { "peak_memory_bytes", "%.1f", 1e-9 } } do
    line[#line + 1] = text(column[2], ours[column[1]], column[3])
    line[#line + 1] = text(column[2], theirs[column[1]], column[3])
    line[#line + 1] = ("%.2f"):format(ours[column[1]] / theirs[column[1]])
  end
  line[#line + 1] = ("%.4f"):format(ours.loss_bits / theirs.loss_bits)
  return line
end

--- Of a call's folder: our steps beside PyTorch's, of which version the heading says.
function known.gpu_peers(folder)
  local lines, torch, ours = {}, lists.set(), nil
  for _, row in ipairs(peer_rows(folder)) do
    if row.implementation == "longhaul" then
      ours = row
    else
      torch:add(row.implementation)
      lines[#lines + 1] = peer_line(ours, row)
    end
  end
  if #lines == 0 then return "No peer was timed there yet." end
  local name = table.concat(torch.list, ", ")
  return markdown({ "model", "precision", "tokens", "in a row, ms", name .. ", ms", "in PyTorch's", "alone, ms",
    "PyTorch, ms", "in PyTorch's", "memory, GB", "PyTorch, GB", "in PyTorch's", "loss in PyTorch's" }, lines,
    { precision = true })
end
