-- What expressions of figures in documents may say (figures-in-docs.lua): numbers and tables of
-- markdown from the committed tables. Takes the folder of these, which paths are from.
local comparison = require "longhaul.report.comparison"
local core = require "longhaul.core"
local cost = require "longhaul.run.cost"
local csv = require "longhaul.run.csv"
local lists = require "longhaul.run.lists"
local pipe_table = require "longhaul.report.pipe_table"
local provenance = require "longhaul.report.provenance"
local quantity = require "longhaul.run.quantity"
local quote = require "longhaul.run.quote"
local reference = require "longhaul.report.reference"
local results = require "longhaul.report.results"
local statistics = require "longhaul.report.statistics"
local store = require "longhaul.run.store"
local totals = require "longhaul.report.totals"

local root = ...

local known = {}

local tables = {}

-- The cells of the front page's comparison as rows: the mean over a column's data sets each.
local function front_page(machine)
  local list, made = {}, comparison.read(root .. machine)[1]
  for _, row in ipairs(made.rows) do
    for c, column in ipairs(made.columns) do
      local cell = row.cells[c]
      list[#list + 1] = cell.value and { row = row.label, title = column.title, metric = column.metric,
        mean = cell.value, spread = cell.spread or "", best = cell.best and "yes" or "",
        tie = cell.tie == nil and "" or cell.tie and "yes" or "no" }
    end
  end
  return list
end

-- Gives probes the row, data set and so on of the runs that they are of.
local function add_runs(path, probes)
  local runs = {}
  for _, run in ipairs(csv.read(root .. path)) do runs[run.run_id] = run end
  for _, probe in ipairs(probes) do setmetatable(probe, { __index = runs[probe.run_id] }) end
end

local function read(path)
  local machine = path:match "^(.*)/comparison$"
  if machine then return front_page(machine) end
  if not core.exists(root .. path) then error(root .. path .. ": no such file", 0) end
  local records = csv.read(root .. path)
  if path:find "probes%.csv$" then add_runs(path:gsub("[^/]+$", "runs.csv"), records) end
  return records
end

-- Whether a text is the one that is wanted, one of a list or, of { but = a list }, none of it.
local function fits(text, wanted)
  if type(wanted) ~= "table" then return text == tostring(wanted) end
  if wanted.but then return not fits(text, wanted.but) end
  for _, one in ipairs(wanted) do
    if fits(text, one) then return true end
  end
  return false
end

-- The rows of a committed table, or of "<machine>/comparison", with these values.
local function matching(path, where)
  tables[path] = tables[path] or read(path)
  local list = {}
  for _, row in ipairs(tables[path]) do
    local chosen = true
    for name, wanted in pairs(where) do
      if row[name] == nil then error(("%s%s: no column '%s'"):format(root, path, name), 0) end
      chosen = chosen and fits(row[name], wanted)
    end
    if chosen then list[#list + 1] = row end
  end
  return list
end

local function described(path, where, column)
  local words = {}
  for name, value in pairs(where) do words[#words + 1] = ("%s = %s"):format(name, value) end
  table.sort(words)
  return ("%s%s: %s of the row with %s"):format(root, path, column, table.concat(words, ", "))
end

--- How many rows have these values.
function known.count(path, where) return #matching(path, where) end

--- The number of the only row with these values.
function known.value(path, where, column)
  local list = matching(path, where)
  if #list ~= 1 then
    error(("%s: there are %d"):format(described(path, where, column), #list), 0)
  end
  return tonumber(list[1][column]) or error(described(path, where, column) .. ": no number", 0)
end

local opened = {}

-- The results of "<machine>/<experiment>", as they were run, at `scale` or the one that they have.
local function results_of(path, scale)
  local key = path .. " " .. (scale or "")
  if opened[key] then return opened[key] end
  local machine, name = path:match "^(.*)/([^/]+)$"
  local runs = {}
  for _, run in ipairs(store.at(root .. machine, name):rows()) do
    if not scale or run.scale == scale then runs[#runs + 1] = run end
  end
  if #runs == 0 then error(("%s%s: no runs here %s"):format(root, path, scale or ""), 0) end
  for _, run in ipairs(runs) do
    if run.scale ~= runs[1].scale or run.device ~= runs[1].device then
      error(root .. path .. ": runs of several scales or devices", 0)
    end
  end
  opened[key] = results.open(root .. machine, name, runs[1].scale, runs[1].device)
  return opened[key]
end

local function required(value, path, row, metric, dataset)
  return value or error(("%s%s: no %s of '%s' on %s"):format(root, path, metric, row, dataset), 0)
end

--- What a row measured: the mean over its seeds.
function known.mean(path, row, metric, dataset)
  return required((results_of(path):value(row, metric, dataset)), path, row, metric, dataset)
end

-- Numbers stand on the right, and what is in columns that `is_text` names on the left.
local function markdown(head, lines, is_text)
  local align = "l"
  for i = 2, #head do align = align .. (is_text and is_text[head[i]] and "l" or "r") end
  return pipe_table.text(head, align, lines)
end

-- "measured (published)"; behind the seed that validation chose stands the mean of all.
local function cell_text(record, format, factor)
  local function text_of(number) return format:format(factor * number) end
  local text = text_of(record.measured)
  if record.mean ~= "" and text_of(record.mean) ~= text then
    text = ("%s, mean %s"):format(text, text_of(record.mean))
  end
  if record.published == "" then return text end
  return ("%s (%s)"):format(text, text_of(record.published))
end

-- The name of a data set for a heading: whether the runs beside a table read what the generator
-- made in its place.
local function heading(path, dataset)
  local runs = path:match "^(.*/)" .. "runs.csv"
  for _, run in ipairs(core.exists(root .. runs) and matching(runs, { dataset = dataset }) or {}) do
    if provenance.is_generated(run) then return dataset .. ", generated" end
  end
  return dataset
end

-- Of a table.csv: rows by data sets, what `text_of` says of each record. `datasets` chooses and orders them.
local function by_dataset(path, metric, datasets, text_of)
  local rows, columns, cell = lists.set(), lists.set(), {}
  for _, record in ipairs(matching(path, { metric = metric })) do
    if record.measured ~= "" then
      rows:add(record.row)
      columns:add(record.dataset)
      cell[record.row .. "\n" .. record.dataset] = text_of(record)
    end
  end
  datasets = datasets or columns.list
  if #rows.list == 0 then error(("%s%s: no measured %s"):format(root, path, metric), 0) end
  local head, lines = { "" }, {}
  for i, dataset in ipairs(datasets) do head[i + 1] = heading(path, dataset) end
  for i, row in ipairs(rows.list) do
    lines[i] = { quote.markdown(row) }
    for c, dataset in ipairs(datasets) do lines[i][c + 1] = cell[row .. "\n" .. dataset] or "" end
  end
  return markdown(head, lines)
end

--- Of a table.csv: rows by data sets, "measured (published)", times `factor`. `datasets` chooses
--- and orders them.
function known.cells(path, metric, format, factor, datasets)
  return by_dataset(path, metric, datasets, function(record) return cell_text(record, format, factor) end)
end

--- Of one metric: row minus other row, seed by seed, on several data, `list` = { { name, path,
--- dataset, scale } ... }, with the standard error. The scale may be left out where there is one.
function known.differences(metric, row, other, list)
  local lines = {}
  for i, data in ipairs(list) do
    local mean, err, seeds = results_of(data[2], data[4]):difference(metric, row, other, data[3])
    required(mean, data[2], row, metric, data[3])
    lines[i] = { data[1], ("%+.3f%s"):format(mean, err and (" ± %.3f"):format(err) or ""),
      tostring(seeds) }
  end
  return markdown({ "data", ("%s minus %s, ± standard error"):format(row, other), "seeds" }, lines)
end

-- Bits on held-out data of the runs of a study on a data set, by row: a list of curves, { { step, bits } ... }.
local function held_out(path, dataset)
  local rows, curve_of = {}, {}
  for _, run in ipairs(matching(path .. "/runs.csv", { scale = "study", dataset = dataset })) do
    local curve = {}
    rows[run.row] = rows[run.row] or {}
    table.insert(rows[run.row], curve)
    curve_of[run.run_id] = curve
  end
  for _, record in ipairs(matching(path .. "/curves.csv", {})) do
    local curve, bits = curve_of[record.run_id], tonumber(record.valid_bits)
    if curve and bits then curve[#curve + 1] = { tonumber(record.step), bits } end
  end
  for row, curves in pairs(rows) do
    if #curves[1] == 0 then rows[row] = nil end
  end
  return rows
end

-- The last evaluation up to a share of the training.
local function bits_at(curve, share)
  local found
  for _, point in ipairs(curve) do
    if point[1] <= share * curve[#curve][1] then found = point[2] end
  end
  return found
end

-- By row: mean and standard error over seeds at a share of the training.
local function means_at(rows, share)
  local means, errors = {}, {}
  for row, curves in pairs(rows) do
    local values = {}
    for i, curve in ipairs(curves) do values[i] = bits_at(curve, share) end
    means[row], errors[row] = statistics.mean_error(values)
  end
  return means, errors
end

-- Pairs of rows that stood in another order than at the end, and how many of them end apart: by more than two
-- standard errors of their difference.
local function turned(names, means, last, errors)
  local count, apart = 0, 0
  for i, a in ipairs(names) do
    for _, b in ipairs(table.move(names, i + 1, #names, 1, {})) do
      local difference = last[a] - last[b]
      if (means[a] - means[b]) * difference < 0 then
        count = count + 1
        apart = apart + (math.abs(difference) > 2 * math.sqrt(errors[a] ^ 2 + errors[b] ^ 2) and 1 or 0)
      end
    end
  end
  return ("%d (%d)"):format(count, apart)
end

--- Whether a study trains for long enough to tell its rows: pairs whose order by bits on held-out data was another
--- after half and three quarters of the steps; `list` = { { name, path, dataset } ... }.
function known.order_by_steps(list)
  local lines = {}
  for i, data in ipairs(list) do
    local rows = held_out(data[2], data[3])
    local names, last, errors = lists.keys(rows), means_at(rows, 1)
    local sum = 0
    for _, name in ipairs(names) do sum = sum + errors[name] end
    lines[i] = { data[1], tostring(#names), tostring(#names * (#names - 1) // 2),
      turned(names, (means_at(rows, 1 / 2)), last, errors), turned(names, (means_at(rows, 3 / 4)), last, errors),
      ("%.3f"):format(sum / #names) }
  end
  return markdown({ "data", "rows", "pairs", "another order at 1/2 (apart at the end)", "at 3/4",
    "standard error of a row" }, lines)
end

-- A line of a table of models: a name, then a formatted number of each.
local function line_of(name, models, format, number)
  local line = { name }
  for i, model in ipairs(models) do line[i + 1] = format:format(number(model)) end
  return line
end

-- Kernels by the longest time that they take in a model, those that matter.
local function longest_kernels(models, least)
  local most, names = {}, {}
  for _, model in ipairs(models) do
    for _, row in ipairs(model.rows) do
      if not most[row.kernel] then names[#names + 1] = row.kernel end
      most[row.kernel] = math.max(most[row.kernel] or 0, row.seconds / model.sum.seconds)
      model.ms[row.kernel] = 1e3 * row.seconds
    end
  end
  table.sort(names, function(a, b)
    if most[a] ~= most[b] then return most[a] > most[b] end
    return a < b
  end)
  while #names > 0 and most[names[#names]] < least do names[#names] = nil end
  return names
end

local function estimated(entry, device)
  local counted = core.step_cost { model = core.options("model", entry[2], entry[3]), task = entry[4],
    train = core.options("train", "train", entry[5]) }
  local model = { counted = counted, ms = {} }
  model.rows, model.sum = cost.estimate(counted, device)
  return model
end

--- The estimate of one step: seconds, FLOPs, and the share of the matrix rate.
function known.step_sum(device, model, options, sizes, training)
  return estimated({ "", model, options, sizes, training }, cost.device(device)).sum
end

--- What training steps should take on a device, an estimate: milliseconds by kernel, of those that
--- take 2 % of one of them; `list` = { { name, model, options, sizes, training options, earlier } ... },
--- where `earlier` are texts of what was estimated at the times of `before`, "" for what was not.
function known.step_costs(device, list, before)
  local models, head, lines = {}, { "" }, {}
  for i, entry in ipairs(list) do
    models[i], head[i + 1] = estimated(entry, cost.device(device)), entry[1]
  end
  local names = longest_kernels(models, 0.02)
  for i, name in ipairs(names) do
    lines[i] = line_of(("`%s`, ms"):format(name), models, "%.1f",
      function(model) return model.ms[name] or 0 end)
  end
  local function add(...) lines[#lines + 1] = line_of(...) end
  add("all others, ms", models, "%.1f", function(model)
    local rest = 1e3 * model.sum.seconds
    for _, name in ipairs(names) do rest = rest - (model.ms[name] or 0) end
    return rest
  end)
  add("sum, ms", models, "%.0f", function(model) return 1e3 * model.sum.seconds end)
  for i, label in ipairs(before or {}) do
    local line = { label }
    for c, entry in ipairs(list) do line[c + 1] = entry[6] and entry[6][i] or "" end
    lines[#lines + 1] = line
  end
  add("launches", models, "%d", function(model) return model.sum.launches end)
  add("bytes, GB", models, "%.0f", function(model) return model.sum.bytes / 1e9 end)
  add("products, TFLOP", models, "%.1f", function(model) return model.sum.flops / 1e12 end)
  add("of these the model's own", models, "%.1f", function(model)
    return model.counted.model_flops / 1e12
  end)
  add("share of the matrix rate, %", models, "%.0f", function(model) return 100 * model.sum.share end)
  add("tokens/s", models, "%.0f", function(model) return model.sum.tokens_per_second end)
  return markdown(head, lines)
end

--- Step times of pairs { row, other } timed side by side, one in the other, by data sets; ~ before
--- those of a machine that was busy or of which nobody knows.
function known.step_time_ratios(path, list, scale)
  local source, lines, head, count = results_of(path, scale), {}, { "" }, 0
  for i, dataset in ipairs(source.datasets) do head[i + 1] = dataset end
  for i, pair in ipairs(list) do
    lines[i] = { quote.markdown(("%s in %s"):format(pair[1], pair[2])) }
    for c, dataset in ipairs(source.datasets) do
      local beside = source:relative_to(pair[2]):with_busy()
      local ratio = beside:value(pair[1], "relative_step_time", dataset)
      local _, busy = beside:reason(pair[1], "relative_step_time", dataset)
      lines[i][c + 1] = ratio and ("%s%.2f"):format(busy and "~" or "", ratio) or ""
      count = count + (ratio and 1 or 0)
    end
  end
  if count == 0 then
    error(("%s%s: no timing round has two of these rows"):format(root, path), 0)
  end
  return markdown(head, lines)
end

--- A row's step time in another's, timed side by side, by the mean of the data sets.
function known.step_time_ratio(path, row, other, scale)
  local beside = results_of(path, scale):relative_to(other)
  return required((beside:value(row, "relative_step_time")), path, row, "relative_step_time", "any data set")
end

--- Of gpt2.csv: seconds by threads, and in PyTorch's.
function known.gpt2(path)
  local names, lines = lists.set(), {}
  for _, row in ipairs(matching(path, { ratio_to = "PyTorch" })) do names:add(row.benchmark) end
  for i, name in ipairs(names.list) do
    lines[i] = { name }
    for threads = 1, 2 do
      local where = { benchmark = name,
        size = ("GPT-2 small, bytes, %d thread%s"):format(threads, threads == 1 and "" or "s") }
      table.insert(lines[i], ("%.1f ms"):format(1e3 * known.value(path, where, "value")))
      table.insert(lines[i], ("%.2f"):format(known.value(path, where, "ratio")))
    end
  end
  return markdown({ "", "1 thread", "in PyTorch's", "2 threads", "in PyTorch's" }, lines)
end

--- Of bench.csv: products of matrices by threads.
function known.products(path)
  local lines = {}
  for i, name in ipairs { "sgemm (OpenBLAS)", "sgemm (our tiles)" } do
    lines[i] = { i == 1 and "OpenBLAS" or "our tiles over one-thread OpenBLAS" }
    for threads = 1, 2 do
      local where = { benchmark = name, size = ("1024^3, %d threads"):format(threads) }
      lines[i][threads + 1] = ("%.0f GFLOP/s"):format(known.value(path, where, "value") / 1e9)
    end
  end
  return markdown({ "product 1024^3", "1 thread", "2 threads" }, lines)
end

--- Of bench.csv: training steps by size and model.
function known.steps(path)
  local lines = {}
  for _, row in ipairs(matching(path, { metric = "step_time_ms" })) do
    local function of(metric)
      return matching(path, { benchmark = row.benchmark, size = row.size, metric = metric })[1]
    end
    lines[#lines + 1] = {
      row.size, row.benchmark, ("%.0f"):format(row.value),
      ("%.0f"):format(of("tokens_per_second").value),
      ("%.0f"):format(of("flops").value / 1e9), ("%.0f %%"):format(100 * of("flops").ratio),
      ("%.2f"):format(row.ratio),
      ("%.0f"):format(of("peak_memory_bytes").value / 1e6),
    }
  end
  return markdown({ "size", "model", "step, ms", "tokens/s", "GFLOP/s", "of sgemm", "of slide",
    "peak memory, MB" }, lines)
end

--- Of a bench.csv with peers: our steps in each precision, and time and memory in those of the
--- fastest setting of PyTorch in the same.
function known.peers(path)
  local lines = {}
  for _, whole in ipairs(matching(path, { metric = "bf16_over_f32" })) do
    local line = { whole.benchmark, whole.size }
    for _, precision in ipairs { "f32", "bf16" } do
      local function of(metric)
        return matching(path, { benchmark = ("%s, longhaul %s"):format(whole.benchmark, precision),
          size = whole.size, metric = metric })[1]
      end
      local time, memory = of "step_time_ms", of "peak_memory_bytes"
      table.insert(line, ("%.0f"):format(time.value))
      table.insert(line, ("%.2f"):format(time.ratio))
      table.insert(line, ("%.2f"):format(memory.ratio))
    end
    table.insert(line, ("%.2f"):format(1 / whole.value))
    lines[#lines + 1] = line
  end
  return markdown({ "model", "shape", "f32, ms", "in PyTorch's", "memory in PyTorch's", "bf16, ms",
    "in PyTorch's", "memory in PyTorch's", "bf16 as fast as f32" }, lines)
end

--- Millions of parameters of a row's model at the paper's scale, with an embedding table of so many
--- tokens, or without one. Nothing is allocated or trained.
function known.parameters(script, label, vocabulary)
  local experiment = require("longhaul.script").load(script, { scale = "paper" })
  for _, row in ipairs(experiment.rows) do
    local function total(tokens) return require("longhaul").parameters(row.model, tokens) / 1e6 end
    if row.label == label then
      return vocabulary and total(vocabulary) or 2 * total(1000) - total(2000)
    end
  end
  error(("%s: no row '%s'"):format(script, label), 0)
end

--- FLOPs of a token forward at the paper's scale, a row's in another's, without the tokens' table.
function known.flops_ratio(script, label, other, vocabulary, length)
  local per_token = {}
  for _, row in ipairs(require("longhaul.script").load(script, { scale = "paper" }).rows) do
    local info = { vocabulary = vocabulary, source_vocabulary = 0, length = length }
    per_token[row.label] = per_token[row.label]
      or core.describe(row.model.options, info, length).flops_per_token
  end
  return per_token[label] / per_token[other]
end

--- How many claims of each paper have which verdict, by the predicates that its own tables can
--- judge: at scale study, or at small where only those runs decide.
function known.verdicts(machine)
  local path, list = root .. machine .. "/claims/claims.csv", {}
  for _, total in ipairs(totals.of(totals.best((csv.read(path)), { "study", "small" }, "best"))) do
    if total.predicate_source == "paper" then list[#list + 1] = total end
  end
  if #list == 0 then error(path .. ": no verdicts", 0) end
  return (totals.markdown(list, "best", "cpu"):gsub("\n$", ""))
end

--- The claims that have one of these verdicts, and what was measured, likewise; what we ask beyond
--- the papers is marked.
function known.claims(machine, wanted)
  local path, lines, is = root .. machine .. "/claims/claims.csv", {}, {}
  for _, verdict in ipairs(wanted) do is[verdict] = true end
  for _, claim in ipairs(totals.best((csv.read(path)), { "study", "small" })) do
    if is[claim.verdict] then
      local ours = claim.predicate_source ~= "paper" and " (asked by us)" or ""
      lines[#lines + 1] = ("| `%s`%s | %s | %s |"):format(claim.claim, ours,
        quote.markdown(claim.sentence), quote.markdown(claim.measured))
    end
  end
  return "| claim | the paper | measured |\n|---|---|---|\n" .. table.concat(lines, "\n")
end

--- The claims that could not fail at scale study, and why.
function known.untested(machine)
  local lines = {}
  for _, claim in ipairs(matching(machine .. "/claims/claims.csv", { scale = "study", verdict = "untested" })) do
    lines[#lines + 1] = ("| `%s` | %s | %s |"):format(claim.claim, quote.markdown(claim.sentence),
      quote.markdown(claim.note))
  end
  return "| claim | the paper | why |\n|---|---|---|\n" .. table.concat(lines, "\n")
end

--- The comparison of a machine's runs: every architecture on every task.
function known.comparison(machine)
  return (require("longhaul.report.report").comparison(root .. machine):gsub("\n$", ""))
end

--- Its means alone, for the README.
function known.short_comparison(machine)
  return (require("longhaul.report.report").short_comparison(root .. machine):gsub("\n$", ""))
end

--- How far its rows are from the best, seed by seed.
function known.comparison_behind(machine)
  return (require("longhaul.report.report").behind(root .. machine):gsub("\n$", ""))
end

--- What lies in a folder of reference runs, as a table.
function known.reference(folder)
  return reference.markdown(root .. folder)
end

--- The folders of reference runs, likewise.
function known.machines() return reference.machines(root:sub(1, -2)) end

--- The folders of reference runs that wait to be measured again.
function known.waiting() return reference.waiting(root:sub(1, -2)) end

-- Seconds of training of the committed runs of an experiment at a scale, its trials among them; nil where
-- there are none.
local function seconds_of(machine, name, scale)
  local total, found = 0, false
  for _, suffix in ipairs { "", "-trials", "-trials-round1" } do
    local path = root .. machine .. "/" .. name .. suffix .. "/runs.csv"
    for _, run in ipairs(core.exists(path) and csv.read(path) or {}) do
      local own = run.scale == scale and tonumber(run.wall_time_s)
      found, total = found or own, total + (own or 0)
    end
  end
  return found and total
end

local function time_of(machine, name)
  for _, scale in ipairs { "small", "study", "medium" } do
    local seconds = seconds_of(machine, name, scale)
    if seconds then return quantity.duration(seconds) .. (scale == "small" and "" or ", " .. scale) end
  end
  return ""
end

-- Numbers in names by their size: table3, table3a, table10.
local function by_number(a, b)
  local function padded(digits) return ("%03d"):format(tonumber(digits)) end
  local function key(path) return (path:gsub("%d+", padded)) end
  return key(a) < key(b)
end

--- The scripts under experiments/ that build an experiment, what each is for, and how long the committed
--- runs of a machine trained.
function known.scripts(machine)
  local paths, lines = {}, {}
  for _, folder in ipairs(core.list_folder "experiments") do
    local inside = "experiments/" .. folder
    for _, name in ipairs(core.is_folder(inside) and core.list_folder(inside) or {}) do
      paths[#paths + 1] = folder .. "/" .. name
    end
  end
  table.sort(paths, by_number)
  for _, path in ipairs(paths) do
    local text = core.read_file("experiments/" .. path)
    local name = text:match 'experiment%s*%(?%s*"([^"]+)"' or text:match 'include "samples.lua"%("([^"]+)"'
    lines[#lines + 1] = name and ("| [%s](../experiments/%s) | %s | %s |"):format(path, path,
      quote.markdown(reference.first_sentence(text)), time_of(machine, name))
  end
  return "| script | what | trained for |\n|---|---|--:|\n" .. table.concat(lines, "\n")
end

assert(loadfile "scripts/comparison-figures.lua")(known, { by_dataset = by_dataset, markdown = markdown,
  matching = matching, results_of = results_of })
assert(loadfile "scripts/gpu-figures.lua")(known, { markdown = markdown, matching = matching }, root)
assert(loadfile "scripts/known-sentences.lua")(known, matching)
return known
