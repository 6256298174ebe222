-- A metric that scripts know: its line in the registry, from which everything else follows.
return {
  says = "a line of the registry: a column, a title, what tables and charts may name",
  files = {},
  lines = { { "harness/run/metrics.lua", [==[
  { "NAME", "NAME", digits = 3, better = "min", kind = "quality", from = "script", pooled = "mean",
    says = "one line" },]==], before = "} -- end of the metrics" } },
  next = "make; values = { NAME = 1.5 } in a row; build/longhaul lua scripts/annotate.lua",
}
