-- Progress: one bar per run on a terminal, plain lines now and then in a log. All on standard
-- error.
local core = require "longhaul.core"

local progress = {}

local Progress = {}
Progress.__index = Progress

local log_seconds = 15
local bar_seconds = 0.1

--- 75 -> "1m15s".
function progress.duration(seconds)
  seconds = math.max(0, math.floor(seconds + 0.5))
  if seconds < 60 then return ("%ds"):format(seconds) end
  if seconds < 3600 then return ("%dm%02ds"):format(seconds // 60, seconds % 60) end
  return ("%dh%02dm"):format(seconds // 3600, seconds % 3600 // 60)
end

--- 12345 -> "12.3K".
function progress.amount(number)
  for _, unit in ipairs { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "K" } } do
    if number >= unit[1] then return ("%.3g%s"):format(number / unit[1], unit[2]) end
  end
  return ("%.3g"):format(number)
end

--- `title` stands in front of every line: "[3/14] Rec:fixed:skip books".
function progress.new(title)
  local now = core.clock()
  local made = { title = title, width = core.terminal_width(), started = now }
  made.shown = made.width and 0 or now
  return setmetatable(made, Progress)
end

local function eta(self, p)
  if p.step <= self.first_step then return "?" end
  local rate = (core.clock() - self.started) / (p.step - self.first_step)
  return progress.duration(rate * (p.steps - p.step))
end

local function figures(self, p)
  local words = {}
  if p.loss_bits then words[#words + 1] = ("loss %.4f bits"):format(p.loss_bits) end
  if p.mse then words[#words + 1] = ("MSE %.4f"):format(p.mse) end
  if p.valid.bits_per_token then words[#words + 1] = ("valid %.4f"):format(p.valid.bits_per_token) end
  if p.valid.mse then words[#words + 1] = ("valid MSE %.4f"):format(p.valid.mse) end
  if p.tokens_per_second then
    words[#words + 1] = progress.amount(p.tokens_per_second) .. " tokens/s"
  end
  words[#words + 1] = "ETA " .. eta(self, p)
  return table.concat(words, "  ")
end

local function bar(self, p)
  local text = figures(self, p)
  local room = math.max(4, math.min(24, self.width - #self.title - #text - 14))
  local full = math.floor(room * p.step / math.max(1, p.steps))
  local drawn = ("#"):rep(full) .. ("."):rep(room - full)
  local line = ("%s [%s] %3d%%  %s"):format(self.title, drawn, 100 * p.step // math.max(1, p.steps),
    text)
  io.stderr:write("\r", line:sub(1, self.width - 1), "\27[K")
end

--- Shows where a run stands.
function Progress:show(p)
  self.first_step = self.first_step or p.step
  local now = core.clock()
  local every = self.width and bar_seconds or log_seconds
  if now - self.shown < every then return end
  self.shown = now
  if self.width then
    bar(self, p)
  else
    io.stderr:write(("%s step %d/%d  %s\n"):format(self.title, p.step, p.steps, figures(self, p)))
  end
end

--- Leaves the bar where it stands.
function Progress:leave()
  if self.width then io.stderr:write("\n") end
end

--- Replaces the bar by one last line.
function Progress:finish(text)
  if self.width then io.stderr:write("\r\27[K") end
  io.stderr:write(self.title, "  ", text, "\n")
end

return progress
