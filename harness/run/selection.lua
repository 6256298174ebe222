-- Which rows a command line means by --only: texts, each a part of a row's label, of its data set, or
-- LABEL/DATASET, a part of either; a row is meant that one of them fits.
local selection = {}

local function has(text, part) return text:find(part, 1, true) ~= nil end

-- A label may have a slash itself: any of the text's may be the one between the two.
local function fits_both(text, label, dataset)
  for at in text:gmatch "()/" do
    if has(label, text:sub(1, at - 1)) and has(dataset, text:sub(at + 1)) then return true end
  end
  return false
end

--- Whether `texts` (nil: all rows are meant) mean the row of this label and data set.
function selection.means(texts, label, dataset)
  if not texts then return true end
  for _, text in ipairs(texts) do
    if has(label .. " " .. dataset, text) or fits_both(text, label, dataset) then return true end
  end
  return false
end

return selection
