-- Folders that are there whole or not at all, whatever fails.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local whole_folder = require "longhaul.run.whole_folder"

local parent = os.tmpname()
os.remove(parent)
local place = parent .. "/place"

local function anything() end

local function filled_with(text)
  return function(folder)
    core.write_file(folder .. "/file", text)
    return text
  end
end

t.test("a folder takes the place of another", function()
  t.equal(whole_folder.make(place, anything, filled_with "one"), "one")
  t.equal(whole_folder.make(place, anything, filled_with "two"), "two")
  t.equal(core.read_file(place .. "/file"), "two")
end)

t.test("one that cannot is told by its name, and the other goes back", function()
  t.fails(function()
    whole_folder.make(place, anything, function(folder) assert(os.remove(folder)) end)
  end, parent .. "/.place.begun: cannot rename")
  t.equal(core.read_file(place .. "/file"), "two")
end)

t.test("what fails leaves nothing", function()
  t.fails(function()
    whole_folder.make(place, anything, function(folder)
      core.write_file(folder .. "/file", "three")
      error("no more", 0)
    end)
  end, "no more")
  t.equal(core.read_file(place .. "/file"), "two")
  t.check(not core.exists(parent .. "/.place.begun"), "the new folder is left")
  t.check(not core.exists(parent .. "/.place.old"), "the old folder is left")
end)

os.execute("rm -rf '" .. parent .. "'")
t.finish()
