-- What is said of the program as a whole and of each command: by `longhaul help`, the manual page and
-- the completions of shells, all from the descriptors of commands/.
local fold = require "longhaul.run.fold"

local help = {}

help.name = "benchmark and reproduction harness for long-context sequence models"

help.exit_status = {
  { "0", "all went well" },
  { "1", "a run or a file failed" },
  { "2", "wrong usage" },
  { "130", "interrupted (resumable)" },
}

help.environment = {
  { "LONGHAUL_DATA", "folder with corpora; without it the embedded generators serve" },
  { "LONGHAUL_PLUGINS", "colon-separated folders with models, tasks and corpora as shared objects" },
  { "XDG_CACHE_HOME", "where the cache folder longhaul/ lies, with imported corpora, tokens and rates (~/.cache)" },
  { "LONGHAUL_RANK_SECONDS", "how long ranks wait for one that says nothing (1800; 0: without end)" },
}

--- "scale SCALE", "force": an option of a descriptor without its dashes.
function help.spelled(option) return (option[1]:gsub("=$", " " .. (option[3] or "VALUE"))) end

local function pairs_of(lines, list)
  local widest = 0
  for _, pair in ipairs(list) do widest = math.max(widest, #pair[1]) end
  for _, pair in ipairs(list) do
    lines[#lines + 1] = ("    %s%s  %s"):format(pair[1], (" "):rep(widest - #pair[1]), pair[2])
  end
end

-- Where no terminal says how wide it is.
local usual_width = 100

local function folded(lines)
  return fold.text(table.concat(lines, "\n"), fold.width() or usual_width)
end

--- What `longhaul help` prints of these commands.
function help.text(commands)
  local lines, list = { "NAME", "    longhaul - " .. help.name, "", "SYNOPSIS",
    "    longhaul COMMAND [ARGUMENTS]", "    longhaul help COMMAND", "", "COMMANDS" }, {}
  for i, entry in ipairs(commands) do list[i] = { entry.name, entry.summary } end
  pairs_of(lines, list)
  table.move({ "", "EXIT STATUS" }, 1, 2, #lines + 1, lines)
  pairs_of(lines, help.exit_status)
  table.move({ "", "ENVIRONMENT" }, 1, 2, #lines + 1, lines)
  pairs_of(lines, help.environment)
  return folded(lines)
end

-- A command's usage, broken between its options and not within one.
local function synopsis(usage)
  local whole = usage:gsub("%b[]", function(option)
    return #option < 40 and option:gsub(" ", "\0") or nil
  end)
  local lines = fold.line("    longhaul " .. whole, fold.width() or usual_width, "        ")
  return (table.concat(lines, "\n"):gsub("\0", " "))
end

--- What `longhaul help COMMAND` prints.
function help.command_text(entry)
  local lines, list = { "NAME", ("    longhaul %s - %s"):format(entry.name, entry.summary), "",
    "SYNOPSIS", synopsis(entry.usage) }, {}
  if entry.description then
    table.move({ "", "DESCRIPTION", "    " .. entry.description:gsub("\n", "\n    ") }, 1, 3,
      #lines + 1, lines)
  end
  if #entry.options > 0 then table.move({ "", "OPTIONS" }, 1, 2, #lines + 1, lines) end
  for i, option in ipairs(entry.options) do list[i] = { "--" .. help.spelled(option), option[2] } end
  pairs_of(lines, list)
  return folded(lines)
end

return help
