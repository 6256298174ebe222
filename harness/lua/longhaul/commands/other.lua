-- version, report, lua.
local begun = require "longhaul.run.begun"
local command = require "longhaul.command"
local core = require "longhaul.core"
local figures = require "longhaul.report.figures"
local reports = require "longhaul.report.report"

local function version()
  local machine = core.machine()
  local changed = { yes = ", with changes", no = "", unknown = ", built outside a repository" }
  print(("longhaul %s%s"):format(machine.version, changed[machine.dirty]))
  print(("compiler %s %s"):format(machine.compiler, machine.compiler_flags))
  print(("blas     %s"):format(machine.blas))
  print(("kernels  %s, %d threads"):format(machine.kernels, machine.threads))
  print(("machine  %s, %d cores, %.0f GiB, %s"):format(machine.cpu, machine.cores,
    machine.memory_bytes / 2 ^ 30, machine.system))
end

local function run_lua(_, rest)
  if #rest == 0 then command.misuse("lua needs a FILE.lua") end
  local chunk, message = loadfile(rest[1])
  if not chunk then error(message, 0) end
  _G.arg = table.move(rest, 1, #rest, 0, {}) -- as lua's own program has it
  local status = chunk(table.unpack(rest, 2))
  return math.type(status) == "integer" and status or command.ok
end

-- Charts lie below it in a folder that is called as that of the results.
local function check_charts(charts, folder)
  if not core.is_folder(charts) then
    error(charts .. ": no such folder; `longhaul figures --out FOLDER` draws into one", 0)
  end
  local drawn = ("%s/%s"):format(charts, folder:match "([^/]+)/*$")
  if not core.is_folder(drawn) then
    error(("%s: no such folder; `longhaul figures --from %s --out %s` draws into it"):format(drawn, folder, charts), 0)
  end
end

local function report(values)
  local folder = values.results or "results"
  if not core.is_folder(folder) then error(folder .. ": no such folder of results", 0) end
  local below = figures.folders(folder)
  if #below > 0 and below[1] ~= folder then
    error(("%s: no experiments here, but in folders below: give --results %s"):format(folder,
      table.concat(below, " or ")), 0)
  end
  local unfinished = #below == 0 and begun.text(folder)
  if unfinished then io.stderr:write("note: ", unfinished, "\n") end
  if values.markdown and (values.out or values.charts) then
    command.misuse "report --markdown prints a table: --out and --charts are of the page"
  end
  if values.markdown then return io.write(reports.comparison(folder)) and command.ok end
  if values.charts then check_charts(values.charts, folder) end
  command.output(values.out)
  print(reports.page(folder, values.out, values.charts))
end

return {
  { name = "version", summary = "version of the code, the compiler and the libraries", options = {},
    run = version, usage = "version" },
  {
    name = "report", summary = "one HTML page over all results", run = report,
      usage = "report [--results FOLDER] [--charts FOLDER] [--out FILE | --markdown]",
    options = {
      { "results=", "folder with results (default results)", "FOLDER" },
      { "charts=", "where longhaul figures drew these results (default: charts beside their runs)", "FOLDER" },
      { "out=", "where the page goes (default report.html in the folder)", "FILE" },
      { "markdown", "print the comparison's table instead, as Markdown" },
    },
  },
  { name = "lua", takes = "script", ranks = true, summary = "run a Lua file with the library at hand", options = {},
    run = run_lua,
    most = math.huge, usage = "lua FILE.lua [ARGUMENTS]" },
}
