-- Corpora on this machine: what is there, how public ones are downloaded, how a folder becomes a corpus.
-- Downloads go through curl and resume; sums through sha256sum.
local core = require "longhaul.core"
local progress = require "longhaul.progress"

local data = {}

-- A word for the shell that means exactly `text`.
local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function run(words)
  for i, word in ipairs(words) do words[i] = quoted(word) end
  return os.execute(table.concat(words, " "))
end

local function output_of(words)
  for i, word in ipairs(words) do words[i] = quoted(word) end
  local pipe <close> = assert(io.popen(table.concat(words, " ")))
  return pipe:read("a")
end

--- The weight file that a name stands for: itself, or model.safetensors in the folder of that name
--- in the data folders.
function data.weights(name)
  if name:match("%.safetensors$") then return name end
  for _, folder in ipairs(core.data_folders()) do
    local path = ("%s/%s/model.safetensors"):format(folder, name)
    if core.exists(path) then return path end
  end
  error(("no weights '%s': expected a file that ends in .safetensors, or %s/model.safetensors in the data folders "
    .. "(`longhaul data fetch %s`)"):format(name, name, name), 0)
end

local told = {}

--- Says on standard error which data a command reads, each once: a generator that stands in for a
--- name is not to be mistaken for the corpus.
function data.tell(source)
  if told[source] then return end
  told[source] = true
  local kind, root = source:match "^embedded generator %((.*)%)$", os.getenv "LONGHAUL_DATA"
  local stands_in = kind and (root or "") ~= "" and not core.exists(root .. "/" .. kind)
  io.stderr:write(("data: %s%s\n"):format(source,
    stands_in and ("; LONGHAUL_DATA has no '%s'"):format(kind) or ""))
end

-- ---- list ----

local function sizes(folder)
  local files, bytes = 0, 0
  for _, name in ipairs(core.list_folder(folder)) do
    local path = folder .. "/" .. name
    if core.is_folder(path) then
      local inner_files, inner_bytes = sizes(path)
      files, bytes = files + inner_files, bytes + inner_bytes
    else
      files, bytes = files + 1, bytes + (core.file_size(path) or 0)
    end
  end
  return files, bytes
end

local function print_corpus(...) print(("%-20s %8s %8s  %s"):format(...)) end

--- Prints what is here and what could be fetched.
function data.list()
  local here = { vocabularies = true } -- no corpus: trained vocabularies lie there
  local folders = core.data_folders()
  print_corpus("NAME", "FILES", "BYTES", "WHERE")
  for _, folder in ipairs(folders) do
    for _, name in ipairs(core.list_folder(folder)) do
      if core.is_folder(folder .. "/" .. name) and not here[name] then
        here[name] = true
        local files, bytes = sizes(folder .. "/" .. name)
        print_corpus(name, files, progress.amount(bytes), folder)
      end
    end
  end
  for _, kind in ipairs { "books", "latex", "code" } do
    print_corpus("generate:" .. kind, "", "", "embedded generator")
  end
  print_corpus("generate:seasonal", "", "", "embedded generator of time series")
  for _, source in ipairs(require "longhaul.sources") do
    if not here[source.name] then
      print_corpus(source.name, "", "", ("longhaul data fetch %s (%s)"):format(source.name, source.licence))
    end
  end
end

-- ---- fetch ----

local function sha256(path)
  return output_of({ "sha256sum", path }):match("^%x+") or error("sha256sum failed on " .. path, 0)
end

-- A file that was fetched before must still have the sum that was noted then.
local function verify(path, expected)
  local note = path .. ".sha256"
  local sum = sha256(path)
  local known = expected or (core.exists(note) and core.read_file(note):match("%x+"))
  if known and known ~= sum then
    error(("%s: sha256 is %s, expected %s; delete the file and fetch again"):format(path, sum, known), 0)
  end
  core.write_file(note, sum .. "\n")
  return sum
end

-- Downloads to `path`, going on where a broken download stopped.
local function download(url, path)
  if core.exists(path) then return end
  local part = path .. ".part"
  if not run { "curl", "--fail", "--location", "--silent", "--show-error", "--retry", "3", "--continue-at", "-", "--output", part, url } then
    error(("%s: the download failed; the same command goes on with it"):format(url), 0)
  end
  assert(os.rename(part, path))
end

-- PyTorch's own format is a program for Python; nothing in the file but tensors is allowed to run.
local from_pytorch = [[
import sys, torch, safetensors.torch
tensors = torch.load(sys.argv[1], map_location="cpu", weights_only=True)
safetensors.torch.save_file({name: t.clone().contiguous() for name, t in tensors.items()}, sys.argv[2])
]]

-- What becomes of a file that was fetched, by the word that its source gives.
local unpack = {
  unzip = function(path, folder)
    if not run { "unzip", "-o", "-q", "-j", path, "-d", folder } then
      error(path .. ": unzip failed (apt-get install unzip)", 0)
    end
  end,
  pytorch = function(path, folder)
    local weights = folder .. "/model.safetensors"
    if core.exists(weights) then return end
    if not run { "python3", "-c", from_pytorch, path, weights } then
      error(("%s: could not be turned into model.safetensors: that takes Python's torch and safetensors "
        .. "(pip install torch safetensors); the same command goes on"):format(path), 0)
    end
  end,
}

local function fetch_files(source, folder)
  for _, file in ipairs(source.files) do
    local path = folder .. "/" .. file.file
    download(file.url, path)
    print(("%s  sha256 %s"):format(path, verify(path, file.sha256)))
    if file.unpack then unpack[file.unpack](path, folder) end
  end
end

-- All names of one folder of a bucket, page by page.
local function bucket_names(source, prefix)
  local names, token = {}, ""
  repeat
    local url = ("%s?prefix=%s/&fields=items(name),nextPageToken%s"):format(source.bucket, prefix, token)
    local page = output_of { "curl", "--fail", "--silent", "--show-error", "--location", url }
    for name in page:gmatch('"name":%s*"([^"]+%.txt)"') do names[#names + 1] = name end
    local following = page:match('"nextPageToken":%s*"([^"]+)"')
    token = following and "&pageToken=" .. following or nil
  until not token
  if #names == 0 then error(("%s: lists no books under %s"):format(source.bucket, prefix), 0) end
  return names
end

local function fetch_bucket(source, folder)
  for _, pair in ipairs(source.folders) do
    local from, to = table.unpack(pair)
    core.make_folder(folder .. "/" .. to)
    local names = bucket_names(source, from)
    for i, name in ipairs(names) do
      io.stderr:write(("\r%s %d/%d"):format(to, i, #names))
      download(source.download .. name, folder .. "/" .. to .. "/" .. name:match("[^/]+$"))
    end
    io.stderr:write("\n")
  end
end

--- Downloads a public corpus into the cache folder. `sources` (for tests) replaces the table of corpora.
function data.fetch(name, sources)
  local names = {}
  for _, source in ipairs(sources or require "longhaul.sources") do
    if source.name == name then
      local folder = core.cache_folder() .. "/" .. name
      core.make_folder(folder)
      local get = source.bucket and fetch_bucket or fetch_files
      get(source, folder)
      print(("%s (%s) is in %s"):format(name, source.licence, folder))
      return
    end
    names[#names + 1] = source.name
  end
  local nearest = core.nearest(name, names)
  error(("no public corpus '%s'%s; there are: %s"):format(name,
    nearest and (" (did you mean '%s'?)"):format(nearest) or "", table.concat(names, ", ")), 0)
end

-- ---- import ----

-- Files of a tree in order; folders first seen last.
local function walk(folder, visit)
  for _, name in ipairs(core.list_folder(folder)) do
    local path = folder .. "/" .. name
    if core.is_folder(path) then
      walk(path, visit)
    elseif core.file_size(path) then
      visit(path, folder)
    end
  end
end

-- 90 of 100 documents train, 5 validate, 5 test, by a hash of the name.
local function split_of(name)
  local part = tonumber(core.hash(name):sub(1, 8), 16) % 100
  return part < 90 and "train" or part < 95 and "valid" or "test"
end

local function is_lines(path) return path:match("%.jsonl$") or path:match("%.jsonl%.gz$") end

-- What is copied as text is no JSON lines, whatever it was called.
local function document_name(path)
  local name = path:gsub("^/+", ""):gsub("[^%w_.-]", "_")
  return is_lines(name) and name .. ".txt" or name
end

-- Text only: a file with a NUL byte is left out.
local function text_of(path)
  local text = core.read_file(path)
  return not text:find("\0", 1, true) and text or nil
end

-- Files of JSON lines are copied as they are, to where they lie below `from`: the lines of train/ or
-- train.jsonl and so on belong to these splits, those of another file are split by hash when they
-- are read.
local function import_lines(paths, from, target)
  local bytes = 0
  for _, path in ipairs(paths) do
    local place = target .. "/" .. (path == from and path:match("[^/]+$") or path:sub(#from + 2))
    core.make_folder(place:match("^(.*)/"))
    core.write_file(place, core.read_file(path))
    bytes = bytes + core.file_size(path)
  end
  return ("%s bytes of JSON lines"):format(progress.amount(bytes))
end

-- A document per file or, joined, per folder.
local function import_texts(paths, target, joined)
  local documents, order = {}, {}
  for _, path in ipairs(paths) do
    local key = joined and path:match("^(.*)/") or path
    if not documents[key] then
      documents[key] = {}
      order[#order + 1] = key
    end
    table.insert(documents[key], path)
  end
  local written, bytes = 0, 0
  for _, key in ipairs(order) do
    local texts = {}
    for _, path in ipairs(documents[key]) do texts[#texts + 1] = text_of(path) end
    local text = table.concat(texts, "\n")
    if #text > 0 then
      local place = target .. "/" .. split_of(key)
      core.make_folder(place)
      core.write_file(place .. "/" .. document_name(key), text)
      written, bytes = written + 1, bytes + #text
    end
  end
  return ("%d documents, %s bytes"):format(written, progress.amount(bytes))
end

-- All files at `from`, and whether they are JSON lines throughout.
local function files_of(from)
  local paths, lines = {}, true
  if core.is_folder(from) then
    walk(from, function(path) paths[#paths + 1] = path end)
  elseif not is_lines(from) then
    error(from .. ": no such folder", 0)
  elseif not core.file_size(from) then
    error(from .. ": no such file", 0)
  else
    paths[1] = from
  end
  for _, path in ipairs(paths) do lines = lines and is_lines(path) end
  return paths, lines and #paths > 0
end

--- Copies a tree into the cache folder as a corpus: a document per file, or per folder (the paper joins all files of a
--- repository) with options.join_folders. A file of JSON lines, or a folder of nothing else, stays as it is.
function data.import(from, name, options)
  from = from:gsub("(.)/+$", "%1")
  local paths, lines = files_of(from)
  name = name or from:match("([^/]+)$"):gsub("%.jsonl$", ""):gsub("%.jsonl%.gz$", "")
  local target = core.cache_folder() .. "/" .. name
  local imported = lines and import_lines(paths, from, target)
    or import_texts(paths, target, options.join_folders)
  print(("%s: %s, in %s"):format(name, imported, target))
end

return data
