-- What was measured of a trained model at several distances, a curve per row, the mean over seeds
-- with its spread.
local lists = require "longhaul.run.lists"
local parts = require "longhaul.report.chart_parts"
local statistics = require "longhaul.report.statistics"

-- Of each part what its axes are, what the title says it is over, and the metric that it is of.
local titles = {
  position = { "tokens before the predicted one in the document", "bits/token", "place in the document",
    "bits_per_token" },
  kept = { "tokens kept before the predicted one", "bits/token", "tokens kept before it", "bits_per_token" },
  changed = { "tokens back to the changed one", "bits that a token costs more", "tokens back to a changed one",
    "bits_per_token" },
  recall = { "tokens since the pair was last read", "share of values recalled", "tokens since the pair",
    "accuracy" },
}

local names = lists.keys(titles)

local profile = {
  says = "what a row's `context` measured at distances, a curve per row",
  fields = {
    { "part", "string", "\"position\": bits of a token by its place in the document; \"kept\": by "
      .. "how many tokens are read before it; \"changed\": what one other token costs, by how far back "
      .. "it stands; \"recall\": right answers by when the token was last read", needed = true },
    { "band", "string or boolean", "\"seeds\": the standard deviation around each curve" },
    parts.together,
  },
}

function profile.check(plot)
  if titles[plot.part] then return nil end
  return ("field 'part' is one of %s"):format(table.concat(names, ", "))
end

function profile.shows() return "probes of a context" end

-- By distance the values of all runs.
local function gather(view, runs, part)
  local values, distances = {}, {}
  for _, run in ipairs(runs) do
    for name, value in pairs(view.store:read_probes(run.run_id)) do
      local distance = tonumber(name:match("^context_" .. part .. "_(%d+)$"))
      if distance and not values[distance] then
        values[distance], distances[#distances + 1] = {}, distance
      end
      if distance then table.insert(values[distance], value) end
    end
  end
  table.sort(distances)
  return values, distances
end

local function curve_of(view, runs, part)
  local values, distances = gather(view, runs, part)
  local curve = {}
  for i, distance in ipairs(distances) do
    local mean, spread = statistics.of(values[distance])
    spread = spread or 0
    curve[i] = { distance, mean, parts.below(mean, spread),
      parts.above(mean, spread, titles[part][4]) }
  end
  return curve
end

function profile.draw(view, plot, dataset)
  local curves, labels = {}, {}
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local group = view.results:group(row.label, row.dataset)
    local curve = group and curve_of(view, group.done, plot.part) or {}
    if #curve > 0 then curves[#curves + 1], labels[#labels + 1] = curve, row.label end
  end
  if #curves == 0 then return nil end
  local x, y, over = table.unpack(titles[plot.part])
  local made = parts.new("lines", parts.title(view, plot, ("%s by %s"):format(y, over), dataset), x, y)
  parts.add_curves(made, curves, labels, { marks = true, band = plot.band,
    x = { log = true, room = 0.03 } })
  return made
end

return profile
