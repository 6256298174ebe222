-- Recurrence encodings as charts draw them: eqs. 2 and 3 of Huang et al. 2023.
local t = dofile "tests/test.lua"
local encodings = require "longhaul.report.encodings"

t.test("weights by lag", function()
  local regular = { kind = "regular", dilation = 1, lambda = -0.5 }
  t.equal(encodings.weight(regular, 0), 0)
  t.near(encodings.weight(regular, 1), -0.5, 1e-12)
  t.near(encodings.weight(regular, 4), 0.0625, 1e-12)
  local cosine = { kind = "cosine", dilation = 1, gamma = 0.5, theta = math.pi / 2 }
  t.near(encodings.weight(cosine, 2), -0.25, 1e-12)
  local sine = { kind = "sine", dilation = 3, gamma = 0.5, theta = math.pi / 2 }
  t.equal(encodings.weight(sine, 4), 0)
  t.equal(encodings.weight(sine, 5), 0)
  t.near(encodings.weight(sine, 3), 0.5, 1e-12)
  t.near(encodings.weight(sine, 9), -0.125, 1e-12)
end)

t.test("heads take their numbers from what the model says", function()
  local options = { rsa_kinds = { 1, 0, 0, 1, 1, 1 }, rsa_dilation = { 2, 3, 3 } }
  local model = { option = function(_, name) return options[name] end }
  local probes = {
    layer_2_rsa_head_1_lambda = 0.5, layer_2_rsa_head_2_lambda = 0.25,
    layer_2_rsa_head_3_gamma = 0.5,
    layer_2_rsa_head_3_theta = 0, layer_2_rsa_head_4_gamma = 0.5, layer_2_rsa_head_4_theta = 0,
  }
  local curves, names = encodings.patterns(model, probes, 2)
  t.equal(#curves, 4)
  t.equal(names[1], "λ=0.50")
  t.equal(names[2], "λ=0.25 d=2")
  t.equal(names[4], "sin γ=0.50 θ=0.00 d=3")
  t.near(curves[2][5][2], 0.0625, 1e-12) -- lag 4, power 2
  t.near(curves[3][4][2], 0.5, 1e-12) -- lag 3, power 1
  t.equal(#encodings.patterns(model, probes, 1), 0)
end)

t.finish()
