-- A public corpus: its line among the sources.
return {
  says = "a public corpus that `longhaul data fetch` knows",
  files = {},
  lines = { { "datasets/sources.lua", [==[
  {
    name = "NAME", licence = "whose, and under which terms",
    files = { { url = "https://example.org/NAME.txt", file = "NAME.txt", sha256 = nil } },
  },]==], before = "} -- end of the sources" } },
  next = "make; build/longhaul data list; lh.data.text { \"NAME\" }",
}
