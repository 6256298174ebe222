-- A model that is small enough to be looked at many times: its own options, and for what they do not
-- say of layers, widths, windows and the like small numbers, as far as the model takes them.
local core = require "longhaul.core"
local option_text = require "longhaul.run.option_text"

local small = {}

-- Of each option the numbers that are tried, smallest first, where the default is larger, or 0 for a
-- window that is the whole segment. Several
-- layers, heads, windows and chunks stay, since what goes wrong between them would not show in one.
-- What others have to be divided by, or to be larger than, comes before them.
local numbers = {
  { "layers", 2, 3, 4 }, { "heads", 2 }, { "head_width", 4, 8 }, { "width", 16 }, { "hidden", 24 },
  { "summary_hidden", 8 }, { "window", 8 }, { "span", 8 }, { "forward_size", 4 }, { "steps", 3 },
  { "step_size", 8 }, { "block", 8 }, { "memory_tokens", 2 }, { "top", 4 }, { "memory", 12 },
  { "compressed_memory", 4 }, { "states", 4 }, { "state", 8 }, { "clusters", 2 }, { "chunk", 8 },
  { "local_chunk", 8 }, { "longest_distance", 16 }, { "context", 32 }, { "positions", 32 },
  { "kernel", 3 }, { "season", 8 },
}

local function defaults_of(class)
  local defaults = {}
  for _, option in ipairs(class.options) do defaults[option.name] = tonumber(option.default) end
  return defaults
end

local function is_smaller(entry, i, default) return entry[i] < default or default == 0 and entry[1] == "window" end

--- The options of a model of `class` (core.models), for a task of these sizes and, where one is given,
--- segments of `length`: those of `text`, and small ones.
function small.text(class, text, sizes, length)
  local own, defaults = option_text.values(text), defaults_of(class)
  local function takes(words)
    local options = core.options_or_refusal("model", class.name, words)
    return options and core.model_takes(options, sizes, length)
  end
  for _, entry in ipairs(numbers) do
    local name, default = entry[1], defaults[entry[1]]
    for i = 2, default and not own[name] and #entry or 0 do
      local smaller = ("%s %s=%d"):format(text, name, entry[i])
      if is_smaller(entry, i, default) and takes(smaller) then
        text = smaller
        break
      end
    end
  end
  return (text:gsub("^ ", ""))
end

return small
