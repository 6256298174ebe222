-- Sentences on rows of a script, at the line that makes them.
local quote = require "longhaul.run.quote"

local row_notes = {}

--- 'a.lua:3: row "XL:512" (arxiv): no tokenizer model ...'; `more` rows behind it of which the same is said.
function row_notes.text(row, said, more)
  local others = (more or 0) > 0 and (" and %d more"):format(more) or ""
  return ("%s: row \"%s\" (%s)%s: %s"):format(row.line, quote.line(row.label), row.dataset, others, said)
end

--- What `said_of(run)`, a list, says of the rows of runs, by the first run of each: a sentence for all rows of one
--- line of which the same is said.
function row_notes.all(runs, said_of)
  local texts, alike, seen = {}, {}, {}
  for _, run in ipairs(runs) do
    local row = run.row
    for _, said in ipairs(seen[row] and {} or said_of(run)) do
      local key = row.line .. "\n" .. said
      local group = alike[key] or { row = row, said = said, more = -1 }
      if not alike[key] then alike[key], texts[#texts + 1] = group, group end
      group.more = group.more + 1
    end
    seen[row] = true
  end
  for i, group in ipairs(texts) do texts[i] = row_notes.text(group.row, group.said, group.more) end
  return texts
end

return row_notes
