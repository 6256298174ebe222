-- Corpora on this machine: what is there, how public ones are downloaded, how a folder becomes a
-- corpus. Downloads go through curl and resume; sums through sha256sum.
local core = require "longhaul.core"
local fold = require "longhaul.run.fold"
local lists = require "longhaul.run.lists"
local quantity = require "longhaul.run.quantity"
local quote = require "longhaul.run.quote"
local splits = require "longhaul.run.splits"
local whole_folder = require "longhaul.run.whole_folder"

local data = {}

local function run(words)
  for i, word in ipairs(words) do words[i] = quote.shell(word) end
  return os.execute(table.concat(words, " "))
end

-- What a program printed, and whether it ended well.
local function output_of(words)
  for i, word in ipairs(words) do words[i] = quote.shell(word) end
  local pipe = assert(io.popen(table.concat(words, " ")))
  return pipe:read("a"), pipe:close()
end

-- In a folder of weights, the first that is there; who reads the second says how it becomes the
-- first.
local weight_files = { "model.safetensors", "pytorch_model.bin" }

local function weights_in(folder)
  for _, file in ipairs(weight_files) do
    if core.exists(folder .. "/" .. file) then return folder .. "/" .. file end
  end
end

--- The weight file that a name stands for: a file, model.safetensors in a folder, or in the folder
--- of that name in the data folders.
function data.weights(name)
  local inside = weights_in(name)
  if inside then return inside end
  if core.is_folder(name) then error(name .. ": a folder without model.safetensors", 0) end
  if name:match "%.safetensors$" or core.exists(name) then return name end
  for _, folder in ipairs(core.data_folders()) do
    local path = ("%s/%s/model.safetensors"):format(folder, name)
    if core.exists(path) then return path end
  end
  error(("no weights '%s': expected a file that ends in .safetensors, a folder with "
    .. "model.safetensors, or %s/model.safetensors in the data folders "
    .. "(`longhaul data fetch %s`)"):format(name, name, name), 0)
end

-- ---- list ----

-- Files of a tree, of none where it is not there, in order; folders first seen last. A folder that links lead to again
-- is visited once.
local function walk(folder, visit, seen)
  local identity = core.file_identity(folder)
  if not identity or seen[identity] then return end
  seen[identity] = true
  for _, name in ipairs(core.list_folder(folder)) do
    local path = folder .. "/" .. name
    if core.is_folder(path) then
      walk(path, visit, seen)
    elseif core.file_size(path) then
      visit(path)
    end
  end
end

-- Files and bytes at and below a folder; what a broken download left is none yet.
local function sizes(folder)
  local files, bytes = 0, 0
  walk(folder, function(path)
    if not path:match "%.part$" then files, bytes = files + 1, bytes + core.file_size(path) end
  end, {})
  return files, bytes
end

-- What stands for the files of a source being what they were when it was entered here.
local function pinned(source)
  local files, sums = source.files or {}, 0
  for _, file in ipairs(files) do sums = sums + (file.sha256 and 1 or 0) end
  if sums == 0 then return "no sha256 is known" end
  return sums == #files and "sha256 known"
    or ("sha256 known of %d of %d files"):format(sums, #files)
end

local function print_corpus(...) fold.print(("%-20s %8s %8s  %s"):format(...)) end

--- What the program and its plug-ins make: names, and what each is.
function data.made()
  local list = {}
  for _, kind in ipairs { "books", "latex", "code" } do
    list[#list + 1] = { "generate:" .. kind, "embedded generator" }
  end
  list[#list + 1] = { "generate:seasonal", "embedded generator of time series" }
  for _, corpus in ipairs(core.corpora()) do
    list[#list + 1] = { "plugin:" .. corpus.name, "plug-in: " .. corpus.summary }
  end
  return list
end

-- What the cache folder holds beside corpora.
local kept = { "vocabularies", "tokens", "digests", "rates.csv", "rates.try", "matches.csv" }

--- What lies in the data folders: { name =, files =, bytes =, folder = } each.
function data.here()
  local seen, list, cache = lists.set(), {}, core.cache_folder()
  for _, folder in ipairs(core.data_folders()) do
    for _, name in ipairs(core.list_folder(folder)) do
      local files, bytes, is_kept = 0, 0, folder == cache and lists.has(kept, name)
      if not (is_kept or seen.has[name]) then files, bytes = sizes(folder .. "/" .. name) end
      if files > 0 then
        seen:add(name)
        list[#list + 1] = { name = name, files = files, bytes = bytes, folder = folder }
      end
    end
  end
  return list
end

--- Prints what is here and what could be fetched.
function data.list()
  local is_here = {}
  print_corpus("NAME", "FILES", "BYTES", "WHERE")
  for _, corpus in ipairs(data.here()) do
    is_here[corpus.name] = true
    print_corpus(corpus.name, corpus.files, quantity.amount(corpus.bytes), corpus.folder)
  end
  for _, made in ipairs(data.made()) do print_corpus(made[1], "", "", made[2]) end
  for _, source in ipairs(require "longhaul.sources") do
    if not is_here[source.name] then
      print_corpus(source.name, "", "",
        ("longhaul data fetch %s (%s; %s)"):format(source.name, source.licence, pinned(source)))
    end
  end
  if not is_here["messages-en-de"] then
    print_corpus("messages-en-de", "", "",
      "longhaul data import /usr/share/locale --translations de (this machine's programs)")
  end
end

-- ---- fetch ----

-- A backslash stands before the sum of a file whose path holds one.
local function sha256(path)
  return output_of({ "sha256sum", path }):match("^\\?(%x+)") or error("sha256sum failed on " .. path, 0)
end

-- The sum that a file must have: what its source says, else what was noted when it was first
-- fetched.
local function expected_sum(path, source_sum)
  local note = path .. ".sha256"
  return source_sum or (core.exists(note) and core.read_file(note):match("%x+")) or nil
end

-- A file that was fetched before must still have its sum. A new one that has another is taken away:
-- it is never trusted, and the same command fetches again.
local function verify(path, source_sum, is_new)
  local sum, expected = sha256(path), expected_sum(path, source_sum)
  if expected and expected ~= sum then
    if is_new then core.remove_file(path) end
    error(("%s: sha256 is %s, expected %s; %s"):format(path, sum, expected,
      is_new and "the file was removed, the same command fetches it again"
        or "delete the file and fetch again"), 0)
  end
  core.write_file(path .. ".sha256", sum .. "\n")
  return sum
end

-- Fails before the work where a program is missing.
local function need(program)
  if os.execute(("command -v %s >/dev/null 2>&1"):format(program)) then return end
  error(("%s is missing, which fetches data (apt-get install %s)"):format(program, program), 0)
end

local function fail_download(url)
  error(("%s: the download failed; the same command goes on with it"):format(url), 0)
end

-- What curl ends with where a server has no parts of files to give.
local no_ranges = 33

-- Downloads into `part`, behind what of it is there; as os.execute.
local function go_on(url, part)
  return run { "curl", "--fail", "--location", "--silent", "--show-error", "--retry", "3", "--continue-at", "-",
    "--output", part, url }
end

-- Downloads to `path`, going on where a broken download stopped, or from the start where the server cannot; whether
-- it was not there. What is noted of a file that has gone says nothing of the next.
local function download(url, path)
  if core.exists(path) then return false end
  local part = path .. ".part"
  core.remove_file(path .. ".sha256")
  local good, _, code = go_on(url, part)
  if code == no_ranges then
    core.remove_file(part)
    good = go_on(url, part)
  end
  if not good then fail_download(url) end
  core.rename_file(part, path)
  return true
end

-- No archive of text is a hundred times as large inside; what claims to be would fill the disk.
local function check_archive(path)
  local bytes = tonumber(output_of({ "unzip", "-Z", "-t", path }):match(
    "(%d+) bytes? uncompressed"))
  if bytes and bytes > 100 * core.file_size(path) + (64 << 20) then
    error(("%s: unpacks to %d bytes, more than a hundred times its size"):format(path, bytes), 0)
  end
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
    check_archive(path)
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

local function refuse_mixed(folder)
  error(("%s holds another corpus, which this one would be mixed with: move it away, then fetch"):format(folder), 0)
end

-- Fails where the folder has files, and of those of the source none, nor a part or the sum of one.
local function check_unmixed(source, folder)
  if sizes(folder) == 0 then return end
  for _, file in ipairs(source.files) do
    for _, ending in ipairs { "", ".part", ".sha256" } do
      if core.exists(folder .. "/" .. file.file .. ending) then return end
    end
  end
  refuse_mixed(folder)
end

local function fetch_files(source, folder)
  check_unmixed(source, folder)
  for _, file in ipairs(source.files) do
    local path = folder .. "/" .. file.file
    local is_new = download(file.url, path)
    print(("%s  sha256 %s%s"):format(path, verify(path, file.sha256, is_new), file.sha256 and ""
      or ", noted: none is known"))
    if file.unpack then unpack[file.unpack](path, folder) end
  end
end

-- All names of one folder of a bucket, page by page.
local function bucket_names(source, prefix)
  local names, token = {}, ""
  repeat
    local url = ("%s?prefix=%s/&fields=items(name),nextPageToken%s"):format(source.bucket, prefix,
      token)
    local text, good = output_of { "curl", "--fail", "--silent", "--show-error", "--location", url }
    local page = good and core.parse_json_or_refusal(text) or fail_download(url)
    for _, item in ipairs(page.items or {}) do
      if item.name:match "%.txt$" then names[#names + 1] = item.name end
    end
    token = page.nextPageToken and "&pageToken=" .. page.nextPageToken
  until not token
  if #names == 0 then error(("%s: lists no books under %s"):format(source.bucket, prefix), 0) end
  return names
end

-- Fails where a folder has files that the bucket's has not.
local function check_listed(folder, names)
  local listed = {}
  for _, name in ipairs(names) do listed[name:match("[^/]+$")] = true end
  for _, file in ipairs(core.list_folder(folder)) do
    if not listed[file:gsub("%.part$", "")] then refuse_mixed(folder) end
  end
end

local function fetch_bucket(source, folder)
  for _, pair in ipairs(source.folders) do
    local from, to = table.unpack(pair)
    local target, names = folder .. "/" .. to, bucket_names(source, from)
    core.make_folder(target)
    check_listed(target, names)
    for i, name in ipairs(names) do
      io.stderr:write(("\r%s %d/%d"):format(to, i, #names))
      download(source.download .. name, target .. "/" .. name:match("[^/]+$"))
    end
    io.stderr:write("\n")
  end
end

local function source_named(name, sources)
  return lists.named(sources, name)
    or error(("no public corpus '%s'%s"):format(name, core.did_you_mean(name, lists.names(sources))), 0)
end

--- Downloads a public corpus into the cache folder. `sources` (for tests) replaces the table of
--- corpora.
function data.fetch(name, sources)
  local source = source_named(name, sources or require "longhaul.sources")
  need "curl"
  local folder = core.cache_folder() .. "/" .. name
  core.make_folder(folder)
  local get = source.bucket and fetch_bucket or fetch_files
  local good, message = pcall(get, source, folder)
  if not good then
    os.remove(folder) -- where nothing came: only an empty folder can be removed
    error(message, 0)
  end
  print(("%s (%s) is in %s"):format(name, source.licence, folder))
end

-- ---- verify ----

-- "as published", "as first fetched", or what is wrong, and whether it is.
local function state_of(path, file)
  if not core.exists(path) then return "is missing", true end
  local expected = expected_sum(path, file.sha256)
  if not expected then return "has no sum to compare with", false end
  if sha256(path) ~= expected then return "has CHANGED: delete it and fetch again", true end
  return file.sha256 and "as published" or "as first fetched; no sha256 is known", false
end

--- Compares what was fetched with its sums, of one corpus or of all that are in the cache folder;
--- whether nothing is wrong.
function data.verify(name, sources)
  sources = sources or require "longhaul.sources"
  if name then sources = { source_named(name, sources) } end
  local good, found = true, false
  for _, source in ipairs(sources) do
    local folder = core.cache_folder() .. "/" .. source.name
    if sizes(folder) > 0 or name then
      found = true
      for _, file in ipairs(source.files or {}) do
        local state, wrong = state_of(folder .. "/" .. file.file, file)
        good = good and not wrong
        print(("%s/%s  %s"):format(folder, file.file, state))
      end
      if source.bucket then print(("%s  %s"):format(folder, pinned(source))) end
    end
  end
  if not found then
    print(("nothing to verify: nothing was fetched into %s (`longhaul data list` shows what can be)"):format(
      core.cache_folder()))
  end
  return good
end

-- ---- import ----

local function is_lines(path) return path:match("%.jsonl$") or path:match("%.jsonl%.gz$") end

-- Different paths give different names. The name says how the copy is to be read: what is copied as text is neither
-- JSON lines nor packed, whatever it was called.
local function copy_name(path, as_lines)
  local name = quote.file_name(path)
  local is_plain = as_lines and name:match "%.jsonl$" or not as_lines and not is_lines(name) and not name:match "%.gz$"
  return is_plain and name or ("%s-%s%s"):format(name, core.hash(path):sub(1, 8), as_lines and ".jsonl" or ".txt")
end

-- Text only: a file with a NUL byte is left out.
local function text_of(path)
  local text = core.unpack_file(path)
  return not text:find("\0", 1, true) and text or nil
end

-- The path of a file below the folder that is imported; the file's own name where it is that file.
local function below(from, path)
  return path == from and path:match("[^/]+$") or path:sub(#from + 2)
end

-- Files of JSON lines are copied as they are, to where they lie below `from`: the lines of train/
-- and valid/, or of train.jsonl and valid.jsonl, belong to these splits, other lines are split by hash
-- when they are read. Nothing is copied before every line has been read.
local function import_lines(paths, from, target)
  local bytes, documents = 0, 0
  splits.check_lines(paths, from)
  for _, path in ipairs(paths) do documents = documents + core.json_lines(path) end
  for _, path in ipairs(paths) do
    local place = target .. "/" .. below(from, path)
    core.make_folder(place:match("^(.*)/"))
    core.write_file(place, core.read_file(path))
    bytes = bytes + core.file_size(path)
  end
  return documents, ("%d documents, %s bytes of JSON lines"):format(documents,
    quantity.amount(bytes))
end

-- Whether a file is one of JSON lines, which hold a document each; joined they are text.
local function has_lines(path, joined) return is_lines(path) and not joined end

-- A document per file or, joined, per folder; a file of JSON lines, which is read when it is divided: names in order,
-- the paths of each, and how many files are no text.
local function documents_of(paths, from, joined)
  local documents, order, left_out = {}, {}, 0
  for _, path in ipairs(paths) do
    local as_lines, name = has_lines(path, joined), below(from, path)
    local text = as_lines or text_of(path)
    if joined then name = name:match("^(.*)/") or "." end
    if text and not documents[name] then
      documents[name] = {}
      order[#order + 1] = name
    end
    if as_lines or text and #text > 0 then table.insert(documents[name], path) end
    if not text then left_out = left_out + 1 end
  end
  return documents, order, left_out
end

-- What goes into each split of a file of JSON lines, and how many documents these are. Where its split is by hash,
-- each line is of that of its place, as where the file is read in place.
local function lines_by_split(path, name, split_of, by_hash)
  local text, lines, number = core.unpack_file(path), {}, 0
  local documents = core.json_lines(path, text)
  for line in text:gmatch "[^\n]*" do
    number = number + 1
    if line:find "[^ \t\r]" then
      local split = split_of(by_hash and ("%s:%d"):format(name, number) or name)
      lines[split] = lines[split] or {}
      table.insert(lines[split], line .. "\n")
    end
  end
  for split, list in pairs(lines) do lines[split] = table.concat(list) end
  return lines, documents
end

-- The same of a document that these files are together.
local function text_by_split(paths, name, split_of)
  local texts = {}
  for i, path in ipairs(paths) do texts[i] = core.unpack_file(path) end
  return { [split_of(name)] = table.concat(texts, "\n") }, #texts > 0 and 1 or 0
end

local function import_texts(paths, from, target, joined)
  local documents, order, left_out = documents_of(paths, from, joined)
  local split_of, by_hash = splits.of(order, from, joined)
  local written, bytes = 0, 0
  for _, name in ipairs(order) do
    local as_lines = has_lines(name, joined)
    local texts, count
    if as_lines then
      texts, count = lines_by_split(documents[name][1], name, split_of, by_hash)
    else
      texts, count = text_by_split(documents[name], name, split_of)
    end
    for split, text in pairs(count > 0 and texts or {}) do
      core.make_folder(target .. "/" .. split)
      core.write_file(("%s/%s/%s"):format(target, split, copy_name(name, as_lines)), text)
      bytes = bytes + #text
    end
    written = written + count
  end
  local beside = left_out > 0 and ("; %d files that are no text were left out"):format(left_out)
    or ""
  return written, ("%d documents, %s bytes%s"):format(written, quantity.amount(bytes), beside)
end

-- Whether all that is imported is one file of text, by itself or alone in a folder and in none below it.
local function is_alone(paths, from) return #paths == 1 and not below(from, paths[1]):find "/" end

-- It is copied as it is, as all that a folder holds: it is cut into splits when it is read.
local function import_text(paths, _, target)
  local text, name = core.read_file(paths[1]), paths[1]:match("[^/]+$"):gsub("^%.+", "")
  if (text_of(paths[1]) or "") == "" then return 0 end
  core.write_file(target .. "/" .. quote.file_name(name), text)
  return #paths, ("%s bytes in one file"):format(quantity.amount(#text))
end

local function all_lines(paths)
  for _, path in ipairs(paths) do
    if not is_lines(path) then return false end
  end
  return true
end

-- All files at `from`.
local function files_of(from)
  local paths = {}
  if core.is_folder(from) then
    walk(from, function(path) paths[#paths + 1] = path end, {})
  elseif not core.file_size(from) then
    error(from .. ": no such file or folder", 0)
  else
    paths[1] = from
  end
  if #paths == 0 then error(from .. ": there is no file in it", 0) end
  return paths
end

-- Fails where a name cannot be that of a corpus, which is a folder of the cache folder.
local function check_name(name)
  if not name:find("^[%w_][%w_.-]*$") or #name > 100 then
    error(("'%s' is no name for a corpus: it begins with a letter or a digit and is made of letters, digits, '-', '_' "
      .. "and '.' (--name NAME)"):format(name), 0)
  end
  for _, other in ipairs(kept) do
    if name:lower():gsub("%.lock$", "") == other then
      error(("'%s' is no name for a corpus: the cache folder has such a one of its own (--name NAME)"):format(name), 0)
    end
  end
end

local function is_there(path)
  return core.exists(path) and not (core.is_folder(path) and sizes(path) == 0)
end

-- Two corpora of one name would be mixed, or one never read.
local function check_free(name, replace)
  local own = core.cache_folder()
  for _, folder in ipairs { own, table.unpack(core.data_folders()) } do
    local path, is_own = folder .. "/" .. name, folder == own
    if is_there(path) and not (is_own and replace) then
      error(("%s is there already: --name NAME gives this corpus another name%s"):format(path,
        is_own and ", --replace puts it in the place of that one" or ""), 0)
    end
  end
end

--- Makes a corpus: `fill(folder)` writes it into a new folder, which has its name when all is
--- there; gives the path, and what `fill` gave. What fails leaves nothing. A corpus of that name is
--- refused or, with `replace`, gone; refused is what another process is making, too.
function data.make(name, replace, fill)
  check_name(name)
  local cache = core.cache_folder()
  if cache == "" then error("there is no cache folder for corpora: set XDG_CACHE_HOME or HOME", 0) end
  local target = cache .. "/" .. name
  return target, whole_folder.make(target, function() check_free(name, replace) end, fill)
end

--- Says what a new corpus holds and where it lies; a cache folder is one that people empty.
function data.tell_made(name, said, folder)
  print(("%s: %s, in %s\n  (%s)"):format(name, said, folder,
    "a cache folder: keep what this was made of, or move it into the folder that LONGHAUL_DATA names"))
end

-- What a corpus is called that nobody gave a name.
local function name_of(from, is_file)
  local name = (from:match("([^/]+)$") or ""):gsub("%.jsonl$", ""):gsub("%.jsonl%.gz$", "")
  if is_file then name = name:gsub("%.gz$", ""):gsub("%.txt$", "") end
  return name
end

-- What takes these texts over.
local function import_of(paths, from, joined)
  if all_lines(paths) then return joined and import_texts or import_lines end
  return is_alone(paths, from) and import_text or import_texts
end

--- Copies a tree into the cache folder as a corpus: a document per file, or per folder (the paper
--- joins all files of a repository) with options.join_folders. One file of text, and files of JSON lines that are not
--- joined, stay as they are. options.replace: in the place of the corpus that has the name.
function data.import(from, name, options)
  from = from:gsub("(.)/+$", "%1")
  local paths, beside = splits.files(files_of(from), from)
  if #paths == 0 then error(from .. ": there is no text in it", 0) end
  local import = import_of(paths, from, options.join_folders)
  name = name or name_of(from, paths[1] == from)
  local target, said = data.make(name, options.replace, function(folder)
    local documents, imported = import(paths, from, folder, options.join_folders)
    if documents == 0 then error(from .. ": there is no text in it", 0) end
    return imported
  end)
  if beside > 0 then said = ("%s; %d files beside the folders of its splits were left out"):format(said, beside) end
  data.tell_made(name, said, target)
end

return data
