-- Options that others have and a model cannot: who asks for one is told why.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"

-- What is said of an option of a model.
local function message(model, text)
  local ok, problem = pcall(core.options, "model", model, text)
  return not ok and tostring(problem) or "taken"
end

t.test("recurrence encodings go into attention, and nowhere else", function()
  for _, model in ipairs { "mamba2", "gated_deltanet", "linear_attention" } do
    for _, option in ipairs { "rsa_kinds=1,0,0,0,0,0", "rsa_gate=1" } do
      t.contains(message(model, option), model .. ": no option '" .. option:match "^%w+_%w+")
      t.contains(message(model, option), "mixed into attention")
    end
  end
  t.contains(message("routing", "rsa_kinds=1,0,0,0,0,0"), "attend to tokens of a cluster")
  for _, model in ipairs { "compressive", "rmt" } do
    t.equal(message(model, "rsa_kinds=1,0,0,0,0,0"), "taken")
  end
end)

t.test("steps of a staircase leave no room for another memory", function()
  for _, model in ipairs { "mamba2", "gated_deltanet", "linear_attention", "compressive", "rmt" } do
    for _, option in ipairs { "steps", "forward_size" } do
      t.contains(message(model, option .. "=2"), ("no option '%s'"):format(option))
      t.contains(message(model, option .. "=2"), "a memory of its own")
    end
  end
  t.equal(message("staircase", "steps=2 forward_size=16"), "taken")
end)

t.test("a misspelt name is still a misspelt name", function()
  t.contains(message("mamba2", "widht=8"), "did you mean 'width'?")
  t.contains(message("mamba2", "step_max=0.5"), "taken")
end)

t.finish()
