-- Progress on standard error: on a terminal a bar for each run under way and a line for the whole
-- sweep, which stay where they are; plain lines now and then in a log. A worker of a sweep
-- (jobs.lua) tells the process that started it instead.
local core = require "longhaul.core"
local quantity = require "longhaul.run.quantity"
local quote = require "longhaul.run.quote"

local progress = {}

local log_seconds = 15
local bar_seconds = 0.1
local worker_seconds = 0.2

-- More lines would scroll.
local most_bars = 20

local function show_nothing() end

-- ---- what a worker tells ----

local mark = "\30"

--- The record in a line that a worker has printed: title, step, steps, bytes (the most memory it
--- has had), text; nil for a line that is for people.
function progress.record_of(line)
  local title, step, steps, bytes,
    text = line:match("^" .. mark .. "([^\t]*)\t(%d+)\t(%d+)\t(%d+)\t(.*)$")
  if not title then return nil end
  return { title = title, step = tonumber(step), steps = tonumber(steps), bytes = tonumber(bytes),
    text = text }
end

--- Whether this process is a worker: what is to be said of the whole is said by the one that
--- started it.
progress.is_worker = os.getenv "LONGHAUL_WORKER" ~= nil

local Teller = { tick = show_nothing, leave = show_nothing }
Teller.__index = Teller

function Teller:show(title, p)
  local now = core.clock()
  if now - self.told < worker_seconds then return end
  self.told = now
  io.stderr:write(("%s%s\t%d\t%d\t%d\t%s\n"):format(mark, title, p.step, p.steps,
    select(2, core.memory()), p.text))
end

function Teller:say(line) io.stderr:write(line, "\n") end

function Teller:finish(title, text) self:say(title .. "  " .. text) end

-- ---- the lines of a sweep ----

---@class longhaul.board
local Board = {}
Board.__index = Board

--- A board for the runs of one process and its workers. `total()` gives the text of the line for
--- the whole, or nil.
function progress.board(total)
  if progress.is_worker then return setmetatable({ told = -math.huge }, Teller) end
  local now = core.clock()
  return setmetatable({
    width = core.terminal_width "error", bars = {}, drawn = 0, shown = {}, drawn_at = -math.huge,
    total_at = now,
    total = total or show_nothing,
  }, Board)
end

--- "[####....]": a part of a whole, in so many places; full where there is nothing.
function progress.meter(part, whole, room)
  local full = whole > 0 and math.floor(room * math.min(part, whole) / whole) or room
  return "[" .. ("#"):rep(full) .. ("."):rep(room - full) .. "]"
end

local function bar(title, p, width)
  local room = math.max(4, math.min(24, width - #title - #p.text - 14))
  local drawn = progress.meter(p.step, math.max(1, p.steps), room)
  return ("%s %s %3d%%  %s"):format(title, drawn, 100 * p.step // math.max(1, p.steps), p.text)
end

-- Takes the lines away that stand there.
local function erase(self)
  if self.drawn > 0 then io.stderr:write(("\27[%dA\r\27[J"):format(self.drawn)) end
  self.drawn = 0
end

local function draw(self)
  local lines = {}
  for i, entry in ipairs(self.bars) do
    if i <= most_bars then lines[i] = bar(entry.title, entry.p, self.width) end
  end
  if #self.bars > most_bars then
    lines[#lines + 1] = ("and %d more"):format(#self.bars - most_bars)
  end
  lines[#lines + 1] = self.total()
  for i, line in ipairs(lines) do lines[i] = line:sub(1, self.width - 1) .. "\n" end
  erase(self)
  io.stderr:write(table.concat(lines))
  self.drawn, self.drawn_at = #lines, core.clock()
end

local function log_total(self)
  local text = self.total()
  if text and core.clock() - self.total_at >= log_seconds then
    self.total_at = core.clock()
    io.stderr:write(text, "\n")
  end
end

--- Brings the lines up to now, where nothing else does.
function Board:tick()
  if not self.width then return log_total(self) end
  if core.clock() - self.drawn_at >= 1 then draw(self) end
end

local function place_of(self, title)
  for i, entry in ipairs(self.bars) do
    if entry.title == title then return i end
  end
end

--- Shows where the run `title` stands: p has step, steps and a text.
function Board:show(title, p)
  local place, now = place_of(self, title), core.clock()
  if self.width then
    self.bars[place or #self.bars + 1] = { title = title, p = p }
    if now - self.drawn_at >= bar_seconds then draw(self) end
    return
  end
  self.shown[title] = self.shown[title] or now
  if now - self.shown[title] < log_seconds then return end
  self.shown[title] = now
  io.stderr:write(("%s step %d/%d  %s\n"):format(title, p.step, p.steps, p.text))
  log_total(self)
end

--- A line that stays.
function Board:say(line)
  if self.width then erase(self) end
  io.stderr:write(line, "\n")
  if self.width and #self.bars > 0 then draw(self) end
end

--- The run `title` is under way no more; `text`, where there is one, is its last line.
function Board:finish(title, text)
  local place = self.width and place_of(self, title)
  if place then table.remove(self.bars, place) end
  if text then
    self:say(title .. "  " .. text)
  elseif place then
    draw(self)
  end
end

--- Leaves the lines as they stand; what is printed next goes below.
function Board:leave() self.bars, self.drawn = {}, 0 end

-- ---- one run ----

local Progress = {}
Progress.__index = Progress

--- A run on a board, where it is called `title`: "[3/14] Rec:fixed:skip books". `forecast` hears
--- where it stands.
function progress.new(title, board, run, forecast)
  return setmetatable({ title = quote.line(title), board = board or progress.board(), run = run,
    forecast = forecast },
    Progress)
end

local function eta(self, p)
  if p.step <= self.first_step then return "?" end
  local rate = (core.clock() - self.first_time) / (p.step - self.first_step)
  return quantity.duration(rate * (p.steps - p.step))
end

local function figures(self, p)
  local words = {}
  if p.loss_bits then words[#words + 1] = ("loss %.4f bits"):format(p.loss_bits) end
  if p.mse then words[#words + 1] = ("MSE %.4f"):format(p.mse) end
  if p.valid.bits_per_token then
    words[#words + 1] = ("valid %.4f"):format(p.valid.bits_per_token)
  end
  if p.valid.mse then words[#words + 1] = ("valid MSE %.4f"):format(p.valid.mse) end
  if p.tokens_per_second then
    words[#words + 1] = quantity.amount(p.tokens_per_second) .. " tokens/s"
  end
  words[#words + 1] = "ETA " .. eta(self, p)
  return table.concat(words, "  ")
end

--- Shows where the run stands.
function Progress:show(p)
  self.first_step, self.first_time = self.first_step or p.step, self.first_time or core.clock()
  self.at = { step = p.step, steps = p.steps }
  if self.forecast then self.forecast:show(self.run, p.step, p.steps) end
  self.board:show(self.title, { step = p.step, steps = p.steps, text = figures(self, p) })
end

--- Shows how far an evaluation has come: tokens that were read of a split.
function Progress:evaluating(split, tokens)
  local expected = self.run and self.run.expected
  local all = expected and expected.passes[split] or 0
  local text = ("evaluating %s: %s tokens"):format(split, quantity.amount(tokens))
  if all >= tokens then text = ("%s, %d %%"):format(text, 100 * tokens // all) end
  local at = self.at or { step = 0, steps = 1 }
  self.board:show(self.title, { step = at.step, steps = at.steps, text = text })
end

--- Leaves its line where it stands.
function Progress:leave() self.board:leave() end

--- Replaces its line by a last one.
function Progress:finish(text) self.board:finish(self.title, text) end

return progress
