-- Options that a command line gives as if they were the command's, and that training, tasks or models have: how such a
-- command is told them.
local core = require "longhaul.core"
local lists = require "longhaul.run.lists"

local elsewhere = {}

local function options_of(classes)
  local options = {}
  for _, class in ipairs(classes) do table.move(class.options, 1, #class.options, #options + 1, options) end
  return options
end

-- Who has options, what --set calls them, the option of a command that takes theirs as a text, and these.
local owners = {
  { "training", "train", "train=", core.train_options },
  { "tasks", "task", "task-options=", function() return options_of(core.tasks()) end },
  { "models", "model", "options=", function() return options_of(core.models()) end },
}

local function has(options, name)
  for _, option in ipairs(options) do
    if option[1] == name then return true end
  end
  return false
end

-- How a command with these options is told an option; nil where it takes none of the kind.
local function way(options, kind, text, name)
  if has(options, "set=") then return ("--set %s.%s=VALUE"):format(kind, name) end
  return has(options, text) and ("--%s'%s=VALUE'"):format(text:gsub("=", " "), name) or nil
end

--- "--steps is an option of training: --set train.steps=VALUE"; nil where nothing has such an option, or a command with
--- these options takes none of it.
function elsewhere.text(options, given)
  local name = given:gsub("-", "_")
  for _, owner in ipairs(owners) do
    local who, kind, text, all = table.unpack(owner)
    local said = lists.named(all(), name) and way(options, kind, text, name)
    if said then return ("--%s is an option of %s: %s"):format(given, who, said) end
  end
  return nil
end

return elsewhere
