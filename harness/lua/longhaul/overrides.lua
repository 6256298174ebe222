-- What --set says: options that the command line changes in the rows that it means. They are changed
-- while a script declares its rows, so that trials, views and identities are those of the changed
-- row: its runs are other runs than the script's own.
local core = require "longhaul.core"
local lists = require "longhaul.run.lists"
local option_text = require "longhaul.run.option_text"
local selection = require "longhaul.run.selection"
local spec = require "longhaul.spec"

local overrides = {}

-- { { kind =, name =, text = "window=64", given = "model.window=64" } ... }, and the texts of --only.
local current, only = {}, nil

local no_option = "'%s' is no KIND.OPTION=VALUE, as in model.window=64"

-- One option of `text` behind position `at`; nil and what is wrong with it.
local function read(text, at)
  local from, kind, name, value = text:match("^()([%w_]+)%.([%w_]+)=()", at)
  if not from then return nil, no_option:format(text:sub(at)) end
  local kinds = option_text.kinds
  if not lists.has(kinds, kind) then return nil, ("no '%s.'%s"):format(kind, core.did_you_mean(kind, kinds)) end
  local _, after = option_text.value(text, value)
  return { kind = kind, name = name, text = name .. "=" .. text:sub(value, after - 1),
    given = text:sub(from, after - 1) }, after
end

--- Reads texts such as "model.window=64 train.rate=0.3"; nil and what is wrong.
function overrides.read(texts)
  for _, text in ipairs(texts or {}) do
    if not text:find "%S" then return nil, no_option:format(text) end
  end
  return option_text.list(texts or {}, read)
end

--- Sets what `read` gave, for the rows that `texts` (of --only, or nil) mean.
function overrides.set(list, texts) current, only = list or {}, texts end

--- "model.window=64 train.rate=0.3", and in which rows where --only chooses some; nil where nothing is
--- changed.
function overrides.text()
  local words = {}
  for i, entry in ipairs(current) do words[i] = entry.given end
  if #words == 0 then return nil end
  local rows = only and (", in rows of %s alone"):format(table.concat(only, ", ")) or ""
  return table.concat(words, " ") .. rows
end

-- A row that is called by a value of the option would be called by a wrong one.
local function check(row, entry)
  local function refuse(why)
    spec.fail(("row \"%s\": --set %s: %s"):format(row.label, entry.given, why))
  end
  for _, factor in ipairs(row.factors or {}) do
    if factor[1] == entry.name then
      refuse(("'%s' is a factor of its grid; --only chooses rows"):format(entry.name))
    end
  end
  if entry.kind == "train" and row.tune and row.tune.axes[entry.name] then
    refuse "the row tries several values of it (lh.tune)"
  end
  local good, changed = pcall(spec.changed, row[entry.kind], entry.text)
  if not good then refuse(changed) end
  return changed
end

--- Changes the specs of a row (label, factors, dataset or nil, model, task, train, tune) that is
--- being declared.
function overrides.apply(row)
  local dataset = row.dataset or row.task:option "name" or ""
  if #current == 0 or not selection.means(only, row.label, dataset) then return end
  for _, entry in ipairs(current) do row[entry.kind] = check(row, entry) end
end

return overrides
