-- RSA, Figure 6: squared errors of a linear RNN and of RSA, relative to a nonlinear RNN, as the
-- network behind the data turns from linear (alpha 0) to nonlinear (alpha 1).
local lh = require "longhaul"

local bench = lh.experiment "rsa-figure6"

local alphas = lh.by_scale { smoke = { 0, 1 }, small = { 0, 0.25, 0.5, 0.75, 1 },
  paper = { 0, 0.1, 0.2, 0.3, 0.4, 0.5,
  0.6, 0.7, 0.8, 0.9, 1 } }
local segments = lh.by_scale { smoke = 10, small = 100 }

local train = lh.train {
  optimizer = "adam", rate = 0.02, schedule = "cosine", warmup = 0,
  steps = lh.by_scale { smoke = 4, small = 600, paper = 2000 },
  log_every = lh.by_scale { smoke = 2, small = 50 },
}

-- Two layers of width two, as the network behind the data has them.
local function rnn(activation)
  return lh.models.rnn { layers = 2, hidden = 2, activation = activation }
end

for _, activation in ipairs { "tanh", "sigmoid", "relu" } do
  local fitted = {
    ["linear RNN"] = rnn "linear", ["nonlinear RNN"] = rnn(activation),
    RSA = lh.models.rsa { layers = 2, width = 2, rsa = { kinds = { 2, 1, 1, 0, 0, 0 } } },
  }
  for point in lh.grid { { "fitted", "linear RNN", "nonlinear RNN", "RSA" },
    { "alpha", table.unpack(alphas) } } do
    bench:row {
      point, model = fitted[point.fitted], train = train,
      seeds = lh.by_scale { smoke = 1, small = 3, paper = 10 },
      task = lh.tasks.simulated_network { activation = activation, alpha = point.alpha,
        segments = segments },
      dataset = activation,
    }
  end
end

bench:table { columns = { "mse" } }
bench:plot { "lines", x = "alpha", y = "mse", group = "fitted", relative_to = "nonlinear RNN",
  band = "seeds" }
return bench
