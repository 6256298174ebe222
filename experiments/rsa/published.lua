-- How the tables of Huang et al. 2023 read here: a time series at a horizon is a data set of its
-- own, "ETTh1 24", and strings are scored in two bins by their length.
return function(record)
  local horizon, bin = record.note:match "^horizon=(%d+)", record.note:match "^bin=(%d)"
  return {
    dataset = horizon and ("%s %s"):format(record.dataset, horizon),
    metric = bin and record.metric == "accuracy" and "accuracy_bin" .. bin or nil,
  }
end
