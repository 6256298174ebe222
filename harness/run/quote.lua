-- Text made safe for the language that it goes into, one function each. What people call a row, a
-- data set, a title or a folder can hold any bytes: none of them may run, end the text early or
-- make the file invalid.
local core = require "longhaul.core"

local quote = {}

local replacement = "\u{FFFD}"

--- Text with U+FFFD for each byte that is no UTF-8.
function quote.utf8(text)
  local parts, at = {}, 1
  while at <= #text do
    local _, bad = utf8.len(text, at)
    parts[#parts + 1] = text:sub(at, (bad or #text + 1) - 1)
    if not bad then break end
    parts[#parts + 1] = replacement
    at = bad + 1
  end
  return table.concat(parts)
end

--- Text that every program shows and XML allows: UTF-8 without control characters, which U+FFFD
--- stands for; line ends are "\n", a tab is a blank.
function quote.visible(text)
  text = tostring(text)
  if not text:find "[^ -~]" then return text end
  text = quote.utf8(text):gsub("\r\n?", "\n"):gsub("\t", " ")
  return (text:gsub("[\0-\9\11-\31\127]", replacement):gsub("\xC2[\x80-\x9F]", replacement)
    :gsub("\xEF\xBF[\xBE\xBF]", replacement))
end

--- The same in one line.
function quote.line(text) return (quote.visible(text):gsub("\n", " ")) end

-- gnuplot runs what stands between back-quotes in its input, and ends a text in a block of data at
-- a quote even behind a backslash; a character as an octal number is only ever a character. One that begins with 0 has
-- four digits to gnuplot, others three.
local function octal(character) return ("\\%04o"):format(character:byte()) end

--- A text in double quotes as gnuplot reads it, in a command or in a block of data.
function quote.gnuplot(text) return '"' .. quote.visible(text):gsub('[\\"`\n]', octal) .. '"' end

--- A path likewise, byte by byte.
function quote.gnuplot_path(path) return '"' .. path:gsub('[^%w/._-]', octal) .. '"' end

--- A text, still without its quotes, at a tic, where gnuplot reads it as a format.
function quote.tic(text) return (tostring(text):gsub("%%", "%%%%")) end

local latex_characters = {
  ["\\"] = "\\textbackslash{}", ["{"] = "\\{", ["}"] = "\\}", ["&"] = "\\&", ["%"] = "\\%",
  ["#"] = "\\#", ["_"] = "\\_",
  ["$"] = "\\$", ["~"] = "\\textasciitilde{}", ["^"] = "\\textasciicircum{}",
  ["<"] = "\\textless{}",
  [">"] = "\\textgreater{}", ["|"] = "\\textbar{}", ["`"] = "\\textasciigrave{}", ['"'] = "''",
}

-- A double quote before a word opens, any other closes; no visible text has this character.
local opening = "\2"

--- A text in a cell of a LaTeX table. The command before it (\\ or \midrule) would read a leading [
--- or * as its own.
function quote.latex(text)
  text = quote.line(text):gsub(replacement, "?"):gsub('%f[^%s\0(%[{]"', opening)
  text = text:gsub('[\\{}&%%#_$~^<>|`"]', latex_characters):gsub(opening, "\\textquotedblleft{}")
  return (text:gsub("^%s*[%[*]", "{}%0"):gsub("%-%-", "-{}-"):gsub("±", "$\\pm$"):gsub("≈", "$\\approx$"))
end

--- A text in a line of Markdown, a cell of a table or a heading. Between letters "_" stands for
--- itself.
function quote.markdown(text)
  text = quote.line(text):gsub("[\\`*%[%]<>|~$&]", "\\%0")
  return (text:gsub("[%w_]+", function(word)
    local head, rest, tail = word:match("^(_*)(.-)(_*)$")
    return ("\\_"):rep(#head) .. rest .. ("\\_"):rep(#tail)
  end))
end

-- What a spreadsheet takes for a formula when it opens a file; a number is none.
local function would_run(text)
  return text:find("^'*[=+@\t\r-].") and not tonumber(text) and not text:find("^[+-]inf$")
    and not text:find("^[+-]nan$")
end

--- A text as the value of a field of a CSV file: where a spreadsheet would run it a "'" is put
--- before it, which spreadsheets do not show, and which quote.csv_read takes away.
function quote.csv(text) return would_run(text) and "'" .. text or text end

--- The text that quote.csv made this value of.
function quote.csv_read(value)
  if value:byte() ~= 39 then return value end
  return (value:gsub("^'('*[=+@\t\r-].)", "%1"))
end

local html_characters = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
  ["'"] = "&#39;" }

--- A text as JSON, which is UTF-8, in its quotes.
function quote.json(text)
  local escaped = quote.utf8(text):gsub('[%c"\\]', function(letter)
    return ("\\u%04x"):format(letter:byte())
  end)
  return '"' .. escaped .. '"'
end

--- A text in HTML or SVG, between tags or in a quoted attribute.
function quote.html(text) return (quote.visible(text):gsub("[&<>\"']", html_characters)) end

--- A path as an address in HTML: never one with a scheme, of another host or with a query.
function quote.url(path)
  local address = path:gsub("[^%w/._~-]",
    function(character) return ("%%%02X"):format(character:byte()) end)
  return (address:gsub("^//+", "/"))
end

--- A word for the shell that means exactly `text`.
function quote.shell(text)
  if text:find("\0", 1, true) then error("a word of a command cannot hold a NUL byte", 0) end
  return text:match("^[%w_./:+][%w_./:+-]*$") and text or "'" .. text:gsub("'", "'\\''") .. "'"
end

--- A path that no program takes for an option, a command or a home folder: it begins with "/" or
--- ".".
function quote.path(path) return path:match("^[/.]") and path or "./" .. path end

--- A name for a file out of any text. Different texts have different names: where a character was
--- replaced, and where a name could be mistaken for such a one, a hash of the text stands at its
--- end.
function quote.file_name(text)
  local name = text:gsub("[^%w_.-]+", "-"):gsub("^[.-]+", ""):sub(1, 100)
  if name == text and name ~= "" and not name:find("%-%x%x%x%x%x%x%x%x$") then return name end
  return (name ~= "" and name or "x") .. "-" .. core.hash(text):sub(1, 8)
end

return quote
