-- describe: whatever the program knows by a name, a model, a task, an option of training, a corpus,
-- a metric, a kind of chart, a kernel.
local command = require "longhaul.command"
local core = require "longhaul.core"
local cost = require "longhaul.run.cost"
local data = require "longhaul.run.data"
local fold = require "longhaul.run.fold"
local kinds = require "longhaul.report.kinds"
local lists = require "longhaul.run.lists"
local match = require "longhaul.match"
local metrics = require "longhaul.run.metrics"
local option_text = require "longhaul.run.option_text"
local quantity = require "longhaul.run.quantity"
local spec = require "longhaul.spec"

local function print(text) fold.print(text or "") end

-- ---- options ----

local function default_of(option) return option.default == "" and "none" or option.default end

local function print_option(option)
  print(("    %-20s  %s (default %s)"):format(option.name, option.meaning, default_of(option)))
  print(("    %-20s    %s"):format("", option_text.range(option)))
end

local function print_options(options)
  print "OPTIONS"
  for _, option in ipairs(options) do print_option(option) end
end

-- ---- models ----

-- 1234567 -> "1,234,567".
local function grouped(number)
  local text = tostring(number)
  repeat
    local changed
    text, changed = text:gsub("^(-?%d+)(%d%d%d)", "%1,%2")
  until changed == 0
  return text
end

-- What a model is described for: a task, a vocabulary, or the sizes of the forecasting task as it
-- stands.
local function sizes_for(class, values)
  if values.task then
    return core.task_info(command.options("task", values.task, values["task-options"] or ""))
  end
  if not class.tokens then return core.task_info(core.options("task", "forecasting", {})) end
  local vocabulary, length = command.integer(values, "vocabulary", 32128),
    command.integer(values, "segment", 4096)
  if not class.encodes then return { vocabulary = vocabulary, length = length } end
  -- an encoder's source is as long as the target
  return { vocabulary = vocabulary, length = length, source_vocabulary = vocabulary,
    source_length = length }
end

-- Of segments that nobody said the length is halved until the model takes it. Gives why it takes none.
local function settle_length(options, sizes, values)
  local takes, refusal = core.model_takes(options, sizes, sizes.length)
  local halves = not (values.segment or values.task)
  local length = sizes.length
  while not takes and halves and length > 1 do
    length = length // 2
    takes = core.model_takes(options, sizes, length)
  end
  if not takes then return refusal end
  sizes.length, sizes.source_length = length, sizes.source_length and length
end

-- "parameters=1e6" -> the options at the size of that budget, and which of them changed to what.
local function matched(class, options, sizes, budget)
  local name, amount = budget:match "^([%w_]+)=(.+)$"
  local number = tonumber(amount)
  if not (number and number > 0 and number < math.huge) or not match.budgets[name] then
    command.misuse(("--match is parameters=N or flops_per_token=N, N above 0, not '%s'"):format(budget))
  end
  local given, changes = {}, {}
  for _, option in ipairs(class.options) do given[option.name] = options:spelled(option.name) end
  local model = match.model(spec.make("model", class.name, given), sizes,
    { [name] = number })
  for _, option in ipairs(class.options) do
    local now = model:spelled(option.name)
    if now ~= given[option.name] then changes[#changes + 1] = option.name .. "=" .. now end
  end
  return model.options, table.concat(changes, " ")
end

local function print_size(name, shape, amount)
  print(("    %-44s  %-15s %14s"):format(name, shape, grouped(amount)))
end

local function print_parameters(model, sizes)
  print "\nPARAMETERS"
  for _, param in ipairs(model.parameters) do print_size(param.name, param.shape, param.count) end
  print_size("total without embedding", "", model.total_without_embedding)
  print_size(not sizes.data and ("total with %d embedding rows"):format(sizes.vocabulary)
    or ("total for %s"):format(sizes.data), "", model.total)
end

local function print_states(model)
  print "\nCARRIED STATE (per batch row)"
  for _, state in ipairs(model.states) do
    print(("    %-44s  %-15s %s"):format(state.name, state.shape, state.kind))
  end
  print_size("total, bytes", "", model.state_bytes)
end

-- What published files call the parameters of a class, and how they lie there.
local function print_published_names(class)
  if not class.published_names then
    error(("%s has no published names of its tensors; docs/weights.md says how they lie"):format(
      class.name), 0)
  end
  print(("%-68s %-42s %s"):format("PUBLISHED", "HERE", "LIES"))
  for _, name in ipairs(class.published_names) do
    local own = name.own or "(passed over)"
    if own:sub(1, 1) == "=" then own = ("(must equal %s)"):format(own:sub(2)) end
    print(("%-68s %-42s %s"):format(name.published, own, name.lies))
  end
  print "\n# is the number of a layer. Matrices here are [in][out]"
  if class.layout then print(class.layout) end
end

-- The step whose cost is told: of a task, or of a language model's batches of these sizes.
local function counted_step(class, options, values)
  local task
  if values.task then
    task = command.options("task", values.task, values["task-options"] or "")
  elseif not class.tokens then
    task = core.options("task", "forecasting", {})
  else
    local segment = command.integer(values, "segment", 4096)
    task = ("vocabulary=%d segment=%d batch=%d source=%d"):format(
      command.integer(values, "vocabulary", 32128), segment, command.integer(values, "batch", 1),
      class.encodes and segment or 0)
  end
  return core.step_cost { model = options, task = task,
    train = command.options("train", "train", values.train or "precision=bf16") }
end

local cost_line = "    %-26s %6s %8s %10s %9s %9s %6s  %s"

local function print_cost_row(row, sum)
  print(cost_line:format(row.kernel, row.calls, row.launches, ("%.1f"):format(row.flops / 1e9),
    ("%.2f"):format(row.bytes / 1e9), ("%.3f"):format(1e3 * row.seconds),
    ("%.1f"):format(100 * row.seconds / sum.seconds), row.bound))
end

local function print_cost(class, options, values)
  local device = cost.device(values.device or "h200")
  local counted = counted_step(class, options, values)
  local rows, sum = cost.estimate(counted, device)
  print(("COST OF A TRAINING STEP ON %s: AN ESTIMATE, NOT A MEASUREMENT"):format(device.name))
  print(cost_line:format("kernel", "calls", "launches", "GFLOP", "GB", "ms", "%", "bound by"))
  for _, row in ipairs(rows) do print_cost_row(row, sum) end
  print_cost_row(sum, sum)
  print(("\n    %s tokens, %s tokens/s; %.1f %% of the matrix rate; %.1f GB of memory without workspace")
    :format(grouped(counted.tokens), quantity.amount(sum.tokens_per_second), 100 * sum.share,
    counted.peak_bytes / 1e9))
  print(("    %.1f TFLOP as the model counts them, the rest is done again in backward passes"):format(
    counted.model_flops / 1e12))
  print("    rates: " .. device.source)
end

local function show_model(class, values)
  if values["published-names"] then return print_published_names(class) end
  local options = command.options("model", class.name, values.options or "")
  local sizes = sizes_for(class, values)
  local refusal = settle_length(options, sizes, values)
  local changes
  if values.match then options, changes = matched(class, options, sizes, values.match) end
  if values.cost then return print_cost(class, options, values) end
  local model = core.describe(options, sizes, sizes.length)
  print(("%s, version %d\n    %s\n    %s\n"):format(class.name, class.version, class.summary,
    class.paper))
  print_options(class.options)
  if changes then print(("\nMATCHED TO %s\n    %s"):format(values.match, changes)) end
  if #model.adapter > 0 then print("\nADAPTER") end
  for _, text in ipairs(model.adapter) do print("    " .. text) end
  print_parameters(model, sizes)
  if class.layout then print("    " .. class.layout) end
  print_states(model)
  print(("\nFORWARD FLOP PER TOKEN, SEGMENTS OF %d\n    %s"):format(sizes.length,
    refusal and "none: " .. refusal or quantity.amount(model.flops_per_token)))
end

-- ---- everything else ----

local function show_task(task)
  print(("%s, a task\n    %s\n"):format(task.name, task.summary))
  print_options(task.options)
  local able = {}
  for _, pair in ipairs(core.pairs()) do
    if pair.task == task.name and pair.way then able[#able + 1] = pair.model end
  end
  print("\nMODELS\n    " .. table.concat(able, " "))
end

local function show_training_option(option)
  print(("%s, an option of training\n"):format(option.name))
  print_option(option)
end

-- Who has an option: those whose meaning, values and default are the same stand together.
local function show_option(entry)
  print(("%s, an option"):format(entry.name))
  for _, told in ipairs(entry) do
    print(("\nOF %s"):format(table.concat(told.owners, " ")))
    print_option(told.option)
  end
end

-- The options of models and tasks by name, in order: { name, { option, owners = { class ... } } ... }.
local function class_options()
  local list, by_name = {}, {}
  local function add(owner, option)
    local entry = by_name[option.name]
    if not entry then
      entry = { name = option.name }
      by_name[option.name], list[#list + 1] = entry, entry
    end
    local text = option.meaning .. "\n" .. option.default .. "\n" .. option_text.range(option)
    if not entry[text] then
      entry[text] = { option = option, owners = {} }
      entry[#entry + 1] = entry[text]
    end
    table.insert(entry[text].owners, owner)
  end
  for _, classes in ipairs { core.models(), core.tasks() } do
    for _, class in ipairs(classes) do
      for _, option in ipairs(class.options) do add(class.name, option) end
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local function show_metric(column)
  local line = column.metric
  print(("%s, a metric\n    %s%s"):format(column.name, line.says, column.split and column.split ~= "test"
    and (" (%s split)"):format(column.split) or ""))
  local seeds = { mean = "their mean and spread", every = "their mean, where each has a value",
    same = "all agree", max = "the greatest" }
  for _, pair in ipairs { { "unit", line.unit }, { "better", line.better }, { "kind", line.kind },
    { "seeds", seeds[line.pooled] }, { "shown as", column.title } } do
    if pair[2] then print(("    %-10s %s"):format(pair[1], pair[2])) end
  end
end

local function show_chart(chart)
  print(("%s, a kind of chart\n    %s\n\nFIELDS"):format(chart.name, chart.says))
  for _, field in ipairs(kinds.fields(chart.kind)) do
    print(("    %-12s %s"):format(field[1], field[3]))
  end
end

local function show_data(source)
  print(("%s, data\n    %s"):format(source.name, source.says))
  if source.files then print "\nFILES" end
  for _, file in ipairs(source.files or {}) do
    print(("    %s\n        sha256 %s"):format(file.url, file.sha256 or "not known"))
  end
  local here = source.here
  if here then
    print(("\nHERE\n    %s/%s: %s, %s bytes"):format(here.folder, here.name,
      here.files == 1 and "1 file" or here.files .. " files", quantity.amount(here.bytes)))
  elseif source.is_public then
    print(("\n`longhaul data fetch %s` brings it"):format(source.name))
  end
end

local function indented(text) return "    " .. text:gsub("\n", "\n    ") end

local function show_kernel(kernel)
  print(("%s, a kernel of %s\n%s\n\nARGUMENTS\n%s"):format(kernel.name, kernel.header,
    indented(kernel.says), indented(kernel.arguments)))
  print(("\nMEMORY\n    activations as reals%s; %s workspace"):format(kernel.bf16 and " or bf16" or "",
    kernel.workspace and "with" or "no"))
end

-- A point before a small letter or a number ends no sentence: "et al. 2022".
local function first_sentence(text)
  local joined = text:gsub("\n\n.*", ""):gsub("%s+", " ")
  return joined:match "^(.-%.) %u" or joined
end

local function kernels() return require "longhaul.kernels" end

local function charts()
  local list = {}
  for i, name in ipairs(kinds.names()) do
    local kind = kinds.find(name)
    list[i] = { name = name, says = kind.says, kind = kind }
  end
  return list
end

-- What lies on this machine, what the program and its plug-ins make, and what can be fetched.
local function data_sources()
  local list, by_name = {}, {}
  for i, corpus in ipairs(data.here()) do
    list[i] = { name = corpus.name, says = "in " .. corpus.folder, here = corpus }
    by_name[corpus.name] = list[i]
  end
  for _, made in ipairs(data.made()) do list[#list + 1] = { name = made[1], says = made[2] } end
  for _, source in ipairs(require "longhaul.sources") do
    local entry = by_name[source.name]
    if not entry then
      entry = { name = source.name }
      list[#list + 1] = entry
    end
    entry.says, entry.files, entry.is_public = source.licence, source.files, true
  end
  return list
end

-- ---- the command ----

-- What can be described, in the order in which a name is looked for: the word that lists all of a
-- sort, those things, how one is shown, and the text beside its name in a list.
local sorts = {
  { "models", core.models, show_model, function(class)
    return ("%s (%s)"):format(class.summary, class.paper)
  end },
  { "tasks", core.tasks, show_task, function(task) return task.summary end },
  { "training", core.train_options, show_training_option,
    function(option)
      return ("%s (default %s: %s)"):format(option.meaning, default_of(option), option_text.range(option))
    end },
  { "options", class_options, show_option,
    function(entry) return entry[1].option.meaning end },
  { "metrics", metrics.all, show_metric, function(column) return column.metric.says end },
  { "charts", charts, show_chart, function(chart) return chart.says end },
  { "data", data_sources, show_data, function(source) return source.says end },
  { "kernels", kernels, show_kernel, function(kernel) return first_sentence(kernel.says) end },
}

local function list(sort)
  local entries, widest = sort[2](), 0
  for _, entry in ipairs(entries) do widest = math.max(widest, #entry.name) end
  for _, entry in ipairs(entries) do
    print(("%s%s  %s"):format(entry.name, (" "):rep(widest - #entry.name), sort[4](entry)))
  end
end

local function words()
  local names = {}
  for i, sort in ipairs(sorts) do names[i] = sort[1] end
  return names
end

-- Options that change what is said of a model, and of nothing else.
local function check_for_model(sort, name, values)
  if sort[1] == "models" then return end
  local given = next(values)
  if given then
    command.misuse(("longhaul describe: --%s is said of a model; '%s' is none"):format(given, name))
  end
end

-- All that can be described, by name, each once.
local function all_names()
  local names = lists.set()
  for _, word in ipairs(words()) do names:add(word) end
  for _, sort in ipairs(sorts) do
    for _, entry in ipairs(sort[2]()) do names:add(entry.name) end
  end
  return names.list
end

local function singular(sort) return (sort[1]:gsub("s$", "")) end

-- The sort that is listed by this word, or whose things are each called by it: "metrics", "metric".
local function sort_called(word)
  for _, sort in ipairs(sorts) do
    if word == sort[1] or word == singular(sort) then return sort end
  end
end

local function nothing_called(name)
  local names = all_names()
  command.misuse(("no model '%s', nor anything else of that name%s; `longhaul describe` lists models, "
    .. "`longhaul describe %s` and so on the rest"):format(name, core.did_you_mean(name, names),
    sorts[2][1]))
end

-- "books" means generate:books, too, and a plug-in's corpus is known by its own name.
local function means(entry, name)
  return entry.name == name or entry.name:match "^%l+:(.+)$" == name
end

-- Shows what is called so among some sorts; gives whether there is anything.
local function show(among, name, values)
  local shown = false
  for _, sort in ipairs(among) do
    for _, entry in ipairs(sort[2]()) do
      if means(entry, name) then
        if not shown then check_for_model(sort, name, values) else print() end
        sort[3](entry, values)
        if next(values) then return true end -- they were said of a model: nothing else of its name is meant
        shown = true
      end
    end
  end
  return shown
end

-- "metric mse", "tasks recall": what is called so of one sort alone.
local function describe_of_sort(word, name, values)
  local sort = sort_called(word)
  if not sort then
    command.misuse(("longhaul describe: '%s' is one word too many: it takes one NAME, or one of %s and a NAME"):format(
      name, table.concat(words(), ", ")))
  end
  if not show({ sort }, name, values) then command.one_of(singular(sort), name, lists.names(sort[2]())) end
end

local function describe(values, rest)
  local name = rest[1] or sorts[1][1]
  if rest[2] then return describe_of_sort(name, rest[2], values) end
  for _, sort in ipairs(sorts) do
    if sort[1] == name then
      list(sort)
      if not rest[1] then print("\nalso: longhaul describe " .. table.concat(words(), " | ", 2)) end
      return
    end
  end
  if not show(sorts, name, values) then nothing_called(name) end
end

-- The words that may follow.
local function takes(before)
  if #before == 0 then return all_names() end
  local sort = sort_called(before[1])
  return sort and lists.names(sort[2]()) or {}
end

return {
  {
    name = "describe", takes = takes,
    summary = "a model in numbers; any task, option, metric, chart, corpus or kernel",
    run = describe,
    most = 2,
    usage = "describe [NAME | (models | tasks | training | options | metrics | charts | data | kernels) [NAME]] "
      .. "[--options TEXT] [--vocabulary N] [--segment N] [--match BUDGET] "
      .. "[--task NAME] [--task-options TEXT] [--published-names] "
      .. "[--cost] [--device NAME] [--batch N] [--train TEXT]",
    description = "Of a model: options, parameters, state and FLOPs, to which the options below belong.\n"
      .. "Without a name: the models, or all of the sort that is named, as `describe metrics`. "
      .. "A sort and a NAME: what is called so of that sort alone, as `describe metric mse`.",
    options = {
      { "options=", "model options", "TEXT" },
      { "vocabulary=", "embedding rows (default 32128)", "N", without = "task" },
      { "segment=", "segment length for FLOPs (default 4096, halved until the model takes it)", "N", without = "task" },
      { "match=", "the width that meets a budget: parameters=N or flops_per_token=N", "BUDGET" },
      { "cost", "what a training step should take on a GPU, kernel by kernel: an estimate" },
      { "device=", "with --cost: h200 (default) or h100", "NAME", words = lists.names(cost.devices), with = "cost" },
      { "batch=", "with --cost: rows of a batch (default 1)", "N", with = "cost", without = "task" },
      { "train=", "with --cost: training options (default precision=bf16)", "TEXT", with = "cost" },
      { "published-names", "what published weight files call its tensors, and how they lie there" },
      command.task_option "describe what a task makes of it, its adapter too",
      { "task-options=", "task and corpus options, 'name=books segment=512'", "TEXT", with = "task" },
    },
  },
}
