-- Clusters of columns side by side: rows by data set, or, where a column is split into a part and
-- the rest, data sets by row.
local axis = require "longhaul.report.axis"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"

local columns = {
  says = "a metric in clusters of columns with spreads, of all data sets: rows by data set or, split, data sets by row",
  fields = {
    { "y", "string", "a metric", needed = true }, { "rows", "table", "their labels", needed = true },
    { "without", "string", "\"%s, no REM\": splits each column into what the row of that name takes and the rest; what "
      .. "it takes above the whole is hatched, and the spread is that of the whole" },
    { "parts", "table", "what these two are called" },
    { "x_title", "string", "what stands below the columns, as \"horizon, hours\"",
      default = "the word that the names of all data sets begin with" },
  },
  of_all = true,
}

-- Whether a text makes one of a row's label: one %s, and no other directive.
local function is_pattern(text)
  local rest, count = text:gsub("%%%%", ""):gsub("%%s", "")
  return count == 1 and not rest:find("%", 1, true)
end

function columns.check(plot)
  local wrong = parts.check_metric(plot)
    or not lists.is_of_texts(plot.rows, 1) and "field 'rows' is a list of labels" or nil
  if wrong or not plot.without or is_pattern(plot.without) then return wrong end
  return ("field 'without' has one %%s, which stands for a row's label, and %%%% for a percent sign, not '%s'")
    :format(plot.without)
end

function columns.rows(plot)
  local labels = {}
  for _, label in ipairs(plot.rows) do
    labels[#labels + 1] = label
    if plot.without then labels[#labels + 1] = plot.without:format(label) end
  end
  return labels
end

-- Data sets without the first word that all of them share, and that word.
local function short(datasets)
  local first = datasets[1]:match "^(%S+) "
  for _, name in ipairs(datasets) do
    if not first or name:sub(1, #first + 1) ~= first .. " " then return datasets, "" end
  end
  local names = {}
  for i, name in ipairs(datasets) do names[i] = name:sub(#first + 2) end
  return names, first
end

--- Lays columns out. `value(row, dataset)` gives a column's height and the ends of its spread, or nil;
--- `rest(row, dataset)`, optional, the height of its lower part, without which there is no column; it is more
--- than the whole where the other part takes away. Gives { bars = { {x, rest, height, member, low, high} ... },
--- ticks = { {x, text} ... }, clusters = { {x, text} ... }, members = names, width =, shared = the word that
--- all data sets begin with }.
function columns.layout(rows, datasets, value, rest)
  local names, shared = short(datasets)
  local outer, inner = rest and rows or names, rest and names or rows
  local made = { bars = {}, ticks = {}, clusters = {}, members = inner, width = 0.8 / #inner,
    shared = shared }
  for c = 1, #outer do
    made.clusters[c] = { c, outer[c] }
    for m = 1, #inner do
      local row, dataset = rows[rest and c or m], datasets[rest and m or c]
      local height, low, high = value(row, dataset)
      local x = c + (m - (#inner + 1) / 2) * made.width
      local lower = height
      if rest then lower = rest(row, dataset) end
      if height and lower then
        made.bars[#made.bars + 1] = { x, lower, height, m, low, high }
        made.ticks[#made.ticks + 1] = { x, inner[m] }
      end
    end
  end
  return made
end

-- What the colours of a split column mean; the third stands for what a lower part has above the whole.
local function names_of_parts(plot, bars)
  local given = plot.parts or {}
  local names = { given[1] or "without", given[2] or "with" }
  for _, bar in ipairs(bars) do
    if bar[2] > bar[3] then names[3] = ("%s, above the whole"):format(names[1]) end
  end
  return names
end

function columns.draw(view, plot, dataset)
  local function value(row, data)
    local height, spread = view.results:value(row, plot.y, data)
    if not height then return nil end
    return height, parts.below(height, spread or 0), parts.above(height, spread or 0, plot.y)
  end
  local function rest(row, data) return (value(plot.without:format(row), data)) end
  local datasets = dataset == "" and view.results.datasets or { dataset }
  local laid = columns.layout(plot.rows, datasets, value, plot.without and rest)
  if #laid.bars == 0 then return nil end
  local limit = 0
  for _, bar in ipairs(laid.bars) do limit = math.max(limit, bar[2], bar[6]) end
  local top = parts.upper_limit(1.25, limit)
  local made = parts.new("columns", parts.title(view, plot, metrics.quantity(plot.y), dataset),
    plot.x_title or laid.shared, plot.y)
  parts.set_axes(made, nil, axis.over({ 0, limit }, { metric = plot.y, low = 0, high = top }))
  for i, name in ipairs { "bars", "ticks", "clusters" } do
    made.blocks[i] = { name, { laid[name] } }
  end
  made.settings = {
    { "clusters", #laid.clusters }, { "members", #laid.members },
    { "names", plot.without and names_of_parts(plot, laid.bars) or laid.members },
    { "width", laid.width },
    { "split", plot.without and 1 or 0 },
  }
  return made
end

return columns
