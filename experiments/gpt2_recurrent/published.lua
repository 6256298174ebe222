-- How the tables of Yoshida et al. 2020 read here: they divide the loss by words, and count FLOPs
-- as Kaplan et al. 2020 do.
return function(record)
  if record.metric == "flops_per_token" then return { metric = "kaplan_flops_per_token" } end
  if record.metric ~= "perplexity" then return {} end
  return { metric = record.unit == "validation" and "valid_word_perplexity" or "word_perplexity" }
end
