-- Which build of a plug-in a run is of: the shared object that its model or task came from, by a
-- digest of the file. A run is what it is called by the version that its class states; a rebuild
-- discards nothing, a checkpoint neither, but who reads runs of several builds hears of it.
local core = require "longhaul.core"
local lists = require "longhaul.run.lists"

local plugins = {}

local function files_of(classes)
  local files = {}
  for _, class in ipairs(classes) do files[class.name] = class.file end
  return files
end

local model_files, task_files = files_of(core.models()), files_of(core.tasks())

-- By path, of the file as it was when it was first asked for: that is what was loaded.
local builds = {}

local function build_of(path)
  builds[path] = builds[path] or ("%s %s"):format(path:match "[^/]*$", core.file_digest(path))
  return builds[path]
end

--- What the column `plugin` says of a model and a task by name, "glru.so 0123456789abcdef", of two
--- files both; nil where both are longhaul's own.
function plugins.text(model, task)
  local of_model, of_task = model_files[model], task_files[task]
  if not of_model and not of_task then return nil end
  local texts = { of_model and build_of(of_model) }
  if of_task and of_task ~= of_model then texts[#texts + 1] = build_of(of_task) end
  return table.concat(texts, ", ")
end

--- The builds of both texts: those `before`, or nil, and those that came to them.
function plugins.joined(before, text)
  local builds = lists.set()
  for build in ((before or "") .. ", " .. text):gmatch "[^,%s][^,]*" do builds:add(build) end
  return table.concat(builds.list, ", ")
end

-- "glru.so, steps.so"
local function names_of(text) return (text:gsub(" %x+%f[,\0]", "")) end

--- Which of the runs, rows of runs.csv, are by other builds than are loaded: a sentence, or nil. Older
--- ones do not say.
function plugins.sentence(runs)
  local count, names = 0, lists.set()
  for _, run in ipairs(runs) do
    local now, was = plugins.text(run.class, run.task), run.plugin or ""
    if now and was ~= "" and was ~= now then
      count = count + 1
      names:add(names_of(now))
    end
  end
  if count == 0 then return nil end
  return ("%d run%s by another build of %s: raise its .version where it computes something else now, "
    .. "or --force"):format(count, count == 1 and "" or "s", table.concat(names.list, ", "))
end

return plugins
