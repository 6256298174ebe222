-- What the time-series experiments of "Encoding Recurrence into Transformers" share (Huang et al.
-- 2023, section 4.1 and appendix D): the settings of Informer's scripts by data set and horizon,
-- the models with and without RSA, training.
local lh = require "longhaul"

local series = {}

-- ---- settings by data set and horizon ----

-- Horizon; observed steps, those a decoder begins with, layers of encoder and decoder, ProbSparse
-- factor (the scripts of the Informer repository); then the windows of training, and Table 5: heads
-- of each kind k1 .. k6 and dilations.
local daily = { 24, 24, 24, 24 }
local fifths = { 0, 2, 2, 0, 2, 2 }
local fourths = { 4, 0, 0, 4, 0, 0 }
local two_days = { 48, 24, 48, 24 }
local quarters = { 96, 96, 96, 96 }

-- { kinds, dilations } of Informer, LogSparse and XL.
local published = {
  ["ETTh1 24"] = { { fifths, daily }, { fourths, daily }, { fourths, daily } },
  ["ETTh1 48"] = { { { 0, 2, 2, 2, 1, 1 }, daily }, { fourths, daily }, { fourths, daily } },
  ["ETTh1 168"] = { { { 0, 2, 2, 2, 1, 1 }, daily }, { fourths, daily }, { fifths, two_days } },
  ["ETTh1 336"] = { { fourths, daily }, { fifths, two_days },
    { { 1, 2, 2, 1, 1, 1 }, { 48, 24, 24 } } },
  ["ETTh2 24"] = { { { 4, 2, 2, 0, 0, 0 }, {} }, { fourths, daily }, { fourths, daily } },
  ["ETTh2 48"] = { { fifths, daily }, { { 8, 0, 0, 0, 0, 0 }, {} }, { fifths, two_days } },
  ["ETTh2 168"] = { { { 4, 2, 2, 0, 0, 0 }, {} }, { fourths, daily }, { fourths, daily } },
  ["ETTh2 336"] = { { fifths, daily }, { fourths, daily }, { fourths, daily } },
  ["ETTm1 24"] = {
    { { 0, 0, 0, 0, 4, 4 }, { 2, 3, 6, 24, 2, 3, 6, 24 } }, { fourths, quarters },
    { { 0, 1, 1, 0, 3, 3 }, { 48, 24, 24, 48, 24, 24 } },
  },
  ["ETTm1 48"] = { { fifths, quarters }, { fourths, quarters },
    { { 0, 1, 1, 2, 2, 2 }, { 48, 24, 48, 96, 48, 96 } } },
  ["ETTm1 96"] = { { fifths, quarters }, { fourths, quarters },
    { { 0, 1, 1, 2, 2, 2 }, { 48, 24, 48, 96, 48, 96 } } },
  ["ETTm1 288"] = { { fifths, quarters }, { fourths, quarters },
    { { 0, 1, 1, 2, 2, 2 }, { 48, 24, 48, 96, 48, 96 } } },
  ["Weather 24"] = {
    { { 0, 0, 0, 0, 4, 4 }, { 3, 5, 7, 24, 3, 5, 7, 24 } }, { fourths, daily }, { fifths, daily },
  },
  ["Weather 48"] = { { fifths, daily }, { fourths, daily }, { fifths, two_days } },
  ["Weather 168"] = { { fifths, daily }, { fourths, daily },
    { { 1, 2, 2, 1, 1, 1 }, { 48, 24, 24 } } },
  ["Weather 336"] = { { fifths, daily }, { { 8, 0, 0, 0, 0, 0 }, {} }, { fifths, two_days } },
}

local windows = {
  ETTh1 = {
    [24] = { 48, 48, 2, 1, 3 }, [48] = { 96, 48, 2, 1, 5 }, [168] = { 168, 168, 2, 1, 5 },
    [336] = { 168, 168, 2, 1, 5 },
  },
  ETTh2 = {
    [24] = { 48, 48, 2, 1, 5 }, [48] = { 96, 96, 2, 1, 5 }, [168] = { 336, 336, 3, 2, 5 },
    [336] = { 336, 168, 3, 2, 5 },
  },
  ETTm1 = {
    [24] = { 672, 96, 2, 1, 5 }, [48] = { 96, 48, 2, 1, 5 }, [96] = { 384, 384, 2, 1, 5 },
    [288] = { 672, 288, 2, 1, 5 },
  },
  Weather = {
    [24] = { 168, 168, 3, 2, 5 }, [48] = { 96, 96, 2, 1, 5 }, [168] = { 336, 168, 3, 2, 5 },
    [336] = { 720, 168, 3, 2, 5 },
  },
}

-- Rows to train on, as the splits have them.
local train_rows = { ETTh1 = 8640, ETTh2 = 8640, ETTm1 = 34560, Weather = 24544 }

-- ---- scales ----

-- Below `paper` narrower models over shorter windows, all horizons; below `gpu` fewer steps and a
-- part of the windows.
local size = lh.by_scale {
  smoke = { width = 16, hidden = 16, dropout = 0 },
  small = { width = 32, hidden = 64, dropout = 0 },
  medium = { width = 64, hidden = 256 }, paper = { width = 512, hidden = 2048 },
}
local longest = lh.by_scale { smoke = 24, small = 96, study = 168, medium = 336, paper = 1e6 }
local most_layers = lh.by_scale { smoke = 1, small = 2, paper = 9 }
local batch = lh.by_scale { smoke = 8, small = 32 }
-- Windows that an epoch has and that an evaluation reads: of long series the latest, and the first.
local most_windows = lh.by_scale { smoke = 256, small = 8192, gpu = 1e9 }
local evaluated = lh.by_scale { smoke = 16, small = 1024, medium = 0 }
-- The paper's order is that of the windows. In one or two epochs of it a model meets each season
-- once and ends on the last, and what has no recurrence errs more than a constant (docs/studies.md).
-- Streams carry XL's memory as well, but each row of a batch is at another time of the series.
local sampler = lh.by_scale { smoke = "sequential", study = "streams", gpu = "sequential" }

series.batch = batch

--- One cell of Table 1, such as series.setting("ETTh1", 24).
function series.setting(name, pred_len)
  local window = windows[name][pred_len]
  local seq_len = math.min(window[1], longest)
  return {
    name = name, pred_len = pred_len, dataset = ("%s %d"):format(name, pred_len),
    seq_len = seq_len, label_len = math.min(window[2], seq_len),
    layers = math.min(window[3], most_layers), decoder_layers = math.min(window[4], most_layers),
    factor = window[5], rsa = published[("%s %d"):format(name, pred_len)],
  }
end

series.heads = 8
series.horizons = {
  ETTh1 = { 24, 48, 168, 336 }, ETTh2 = { 24, 48, 168, 336 }, ETTm1 = { 24, 48, 96, 288 },
  Weather = { 24, 48, 168, 336 },
}

--- At `small` on two sets, above on all four: the claims count wins over all of them.
series.names = lh.by_scale {
  smoke = { "ETTh1" }, small = { "ETTh1", "Weather" },
  study = { "ETTh1", "ETTh2", "ETTm1", "Weather" },
}

-- ---- tasks and training ----

function series.task(setting)
  return lh.tasks.forecasting {
    lh.data.series { setting.name }, seq_len = setting.seq_len, label_len = setting.label_len,
    pred_len = setting.pred_len, batch = batch, limit_windows = most_windows,
    evaluate_windows = evaluated, sampler = sampler,
  }
end

--- Adam for six epochs at 1e-4, halved after each from the second on, and the best of the
--- evaluations after each epoch; three without a better one end training. Short runs take a higher
--- rate and end on a cosine.
function series.train(setting)
  local count = math.min(train_rows[setting.name] - setting.seq_len - setting.pred_len + 1,
    most_windows)
  local epoch = math.tointeger(count // batch)
  local steps = lh.by_scale { smoke = 8, small = epoch, medium = 2 * epoch, gpu = 6 * epoch }
  local short = lh.by_scale { smoke = true, gpu = false }
  return lh.train {
    optimizer = "adam", steps = steps, keep_best = true,
    warmup = lh.by_scale { smoke = 2, small = 25, gpu = 0 },
    schedule = short and "cosine" or "delayed_step",
    rate = lh.by_scale { smoke = 1e-3, small = 2e-3, medium = 1e-3, gpu = 1e-4 },
    step_every = epoch, step_factor = 0.5, patience = lh.by_scale { smoke = 0, gpu = 3 },
    log_every = lh.by_scale { smoke = 4, small = 10 },
    evaluate_every = lh.by_scale { smoke = 4, small = epoch // 2, medium = epoch },
  }
end

-- ---- models ----

-- RSA drops the models' own encoding of positions (appendix D.3); the initial gate is the one that
-- Figure 9 favours.
local function rsa(entry) return { kinds = entry[1], dilation = entry[2], gate = 1 } end

--- The models with neither, whose attention knows nothing of order.
function series.bare_informer(setting)
  return series.informer(setting):with { sinusoids = false }
end
function series.bare_logsparse(setting)
  return series.logsparse(setting):with { sinusoids = false }
end
function series.bare_xl(setting) return series.xl(setting):with { positions = "none" } end

local function forecaster(setting)
  return lh.merged(size, { heads = series.heads, layers = setting.layers,
    decoder_layers = setting.decoder_layers })
end

function series.informer(setting)
  return lh.models.informer(lh.merged(forecaster(setting), { factor = setting.factor }))
end

--- `heads`, optional, in place of the published ones: { kinds =, dilation =, gate = }.
function series.rsa_informer(setting, heads)
  return series.bare_informer(setting):with { rsa = heads or rsa(setting.rsa[1]) }
end

function series.logsparse(setting) return lh.models.logsparse(forecaster(setting)) end

function series.rsa_logsparse(setting)
  return series.bare_logsparse(setting):with { rsa = rsa(setting.rsa[2]) }
end

--- As many layers as encoder and decoder have together.
function series.xl(setting)
  return lh.models.series_xl(lh.merged(size, {
    heads = series.heads, layers = setting.layers + setting.decoder_layers,
  }))
end

function series.rsa_xl(setting)
  return series.bare_xl(setting):with { rsa = rsa(setting.rsa[3]) }
end

--- The pairs of Table 1 in its order: label, slug, model.
series.rows = {
  { "Informer", "informer", series.informer },
  { "RSA-Informer", "rsa_informer", series.rsa_informer },
  { "LogSparse", "logsparse", series.logsparse },
  { "RSA-LogSparse", "rsa_logsparse", series.rsa_logsparse },
  { "XL", "transformer_xl", series.xl }, { "RSA-XL", "rsa_xl", series.rsa_xl },
}

--- The rows of Table 1, or those whose labels contain `only`.
function series.add_rows(bench, only)
  for _, name in ipairs(series.names) do
    for _, pred_len in ipairs(series.horizons[name]) do
      local setting = series.setting(name, pred_len)
      for _, row in ipairs(series.rows) do
        local label, slug, model = table.unpack(row)
        if not only or label:find(only, 1, true) then
          bench:row { label, slug = slug, dataset = setting.dataset, model = model(setting),
            task = series.task(setting),
            train = series.train(setting) }
        end
      end
    end
  end
end

series.seeds = lh.by_scale { smoke = 1, study = 3, paper = 5 }

return series
