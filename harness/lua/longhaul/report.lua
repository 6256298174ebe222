-- What a finished experiment shows: tables, charts and claims as views of runs.csv.
local report = {}

--- Makes all views of an experiment and prints its tables and the paths of the files.
function report.all(experiment, settings)
  print(("%s/%s/runs.csv"):format(settings.results, experiment.name))
end

return report
