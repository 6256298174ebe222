-- Corpora cut into short documents, so that a run meets many of them and cannot learn one by heart:
-- what lh.data.text takes, and `piece`, the bytes of a document (0: whole books).
local lh = require "longhaul"

return function(piece, options)
  return lh.data.text(lh.merged({
    document_bytes = piece > 0 and piece or 65536, split_bytes = piece,
  }, options))
end
