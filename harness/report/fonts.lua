-- Which characters a font of this machine has. In PNG and PDF gnuplot draws one that none has as a box with its
-- number, many times the size of the chart.
local fonts = {}

-- Latin, Greek and Cyrillic letters, signs, arrows and mathematics: the charts' own font has them.
local function is_usual(code) return code < 0x530 or (code >= 0x2000 and code < 0x2300) end

local known = {}

-- Fontconfig knows; where it cannot be asked, there is one.
local function is_there(code)
  if known[code] == nil then
    local pipe <close> = io.popen(("fc-list ':charset=%x' 2>/dev/null || echo unknown"):format(code))
    known[code] = pipe:read "l" ~= nil
  end
  return known[code]
end

local box = "\u{25a1}"

--- A text with a box of the usual size in place of each character that no font here has.
function fonts.drawable(text)
  return (text:gsub("[\xc2-\xf4][\x80-\xbf]+", function(character)
    local code = utf8.codepoint(character)
    return not is_usual(code) and not is_there(code) and box or nil
  end))
end

return fonts
