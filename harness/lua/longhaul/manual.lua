-- The manual page, longhaul(1), as man(1) reads it.
local help = require "longhaul.help"

local manual = {}

-- A text that troff shows as it is, whatever it begins with.
local function plain(text)
  local escaped = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (escaped:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

local function add(lines, ...) table.move({ ... }, 1, select("#", ...), #lines + 1, lines) end

-- Terms with what they mean.
local function add_terms(lines, list)
  for _, pair in ipairs(list) do
    add(lines, ".TP", "\\fB" .. plain(pair[1]) .. "\\fR", plain(pair[2]))
  end
end

local function add_command(lines, entry)
  add(lines, ".SS " .. plain(entry.name), plain(entry.summary) .. ".", ".PP",
    "longhaul " .. plain(entry.usage))
  if entry.description then
    add(lines, ".PP", (plain(entry.description):gsub("\n", "\n.br\n")))
  end
  local list = {}
  for i, option in ipairs(entry.options) do list[i] = { "--" .. help.spelled(option), option[2] } end
  add_terms(lines, list)
end

--- The page over these commands, of this version of the program.
function manual.page(commands, version)
  local lines = { ('.TH LONGHAUL 1 "" "longhaul %s" "User Commands"'):format(plain(version)),
    ".SH NAME", "longhaul \\- " .. plain(help.name), ".SH SYNOPSIS",
    ".B longhaul\n.I COMMAND\n.RI [ ARGUMENTS ]", ".br", ".B longhaul help\n.I COMMAND",
    ".SH COMMANDS" }
  for _, entry in ipairs(commands) do add_command(lines, entry) end
  add(lines, ".SH EXIT STATUS")
  add_terms(lines, help.exit_status)
  add(lines, ".SH ENVIRONMENT")
  add_terms(lines, help.environment)
  return table.concat(lines, "\n") .. "\n"
end

return manual
