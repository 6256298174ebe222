-- The scales that an experiment is run at, from the fewest steps to the published hyper-parameters.
return { "smoke", "small", "study", "medium", "gpu", "paper" }
