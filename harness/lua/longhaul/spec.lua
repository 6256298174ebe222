-- Specs: what a script says of models, tasks, data and training. Cheap immutable values, checked on
-- the line where they are written; no memory is taken until a run.
local class = require "longhaul.run.class"
local core = require "longhaul.core"
local option_text = require "longhaul.run.option_text"
local script_line = require "longhaul.run.script_line"

local spec = {}

local Spec = {}

--- "sweep.lua:12": the line of the script that called into the library; "" when there is none.
spec.line = script_line.text

--- Raises a message at the script's line.
spec.fail = script_line.fail

--- Refuses what is no text where the function `name` takes one, which is `what`.
function spec.check_text(name, what, value)
  if type(value) ~= "string" then spec.fail(("%s takes %s, not a %s"):format(name, what, type(value))) end
end

local specs = class.new("longhaul.spec", Spec, {
  __newindex = function(_, name)
    spec.fail(("a spec does not change: spec:with { %s = ... } gives another one"):format(tostring(name)))
  end,
})

local function new(kind, name, options)
  return specs.make({}, { kind = kind, name = name, options = options, text = options:text() })
end

-- What a file of examples is told may be a table: the option is its text.
local function parameter_text(name, values)
  if type(values.parameters) ~= "table" then return values.parameters end
  local text, wrong = option_text.spell(values.parameters)
  if not text then
    spec.fail(("%s: parameter '%s' must be a number, a flag or a text by name"):format(name, wrong))
  end
  return text
end

-- A spec of these options, which change those of the text `base`.
local function made(kind, name, values, base)
  local copy = {}
  for key, value in pairs(values) do copy[key] = value end
  copy.parameters = parameter_text(name, copy)
  local options, wrong = core.options_or_refusal(kind, name, copy, base)
  if not options then spec.fail(wrong) end
  return new(kind, name, options)
end

--- A spec of `kind` ("model", "task", "train") for the class `name` with the options `values`.
--- Its fields: kind, name, options (checked, as the core takes them), text (of all of them, in the
--- order of their tables).
---@return table spec
function spec.make(kind, name, values)
  if type(values) ~= "table" then spec.fail(("%s takes a table of options"):format(name)) end
  return made(kind, name, values)
end

--- The same spec with some options changed: `base:with { window = 64 }`.
---@param changes table<string, any>
---@return longhaul.spec
function Spec:with(changes)
  if type(changes) ~= "table" then spec.fail "with takes a table of options, as in { window = 64 }" end
  return made(self.kind, self.name, changes, self.text)
end

--- The same spec with options changed as a command line spells them, "window=64"; an error where
--- that cannot be.
function spec.changed(given, text)
  return new(given.kind, given.name, core.options(given.kind, given.name, text, given.text))
end

--- The value of one option: a number, a boolean, a string or an array of integers; nil when there
--- is none.
---@param name string
---@return any
function Spec:option(name)
  spec.check_text("option", "the name of an option", name)
  return self.options:value(name)
end

--- The value of one option as text, as on the command line: "1,0,2". `spec.text` is all options as
--- text.
---@param name string
---@return string
function Spec:spelled(name)
  spec.check_text("spelled", "the name of an option", name)
  return self.options:spelled(name)
end

specs.guard()

--- Whether `value` is a spec of `kind`.
function spec.is(value, kind)
  return specs.is(value) and value.kind == kind
end

return spec
