#!/usr/bin/env bash
# The site: every document and every thing with a name has a page, and no link leads nowhere.
. tests/test.sh
command -v lowdown >/dev/null || {
    skips "lowdown is missing, there is no site without it"
    finish
}
# of the figures one: test_figures.sh draws all
cat >"$scratch/program" <<SH
#!/bin/sh
[ "\$1" = figures ] && shift && exec "$longhaul" figures experiments/reformer/figure5.lua "\$@"
exec "$longhaul" "\$@"
SH
chmod +x "$scratch/program"
out=$scratch/site
succeeds "is made" "index.html" "$longhaul" lua scripts/site.lua "$scratch/program" "$out"

for document in docs/*.md; do
    quietly 0 "$document has a page" test -s "$out/${document%.md}.html"
    quietly 0 "$document is listed" grep -qF "href=\"${document%.md}.html\"" "$out/index.html"
done
for name in slide lstm language_model; do
    quietly 0 "$name is described" grep -rqF "<h2 id=\"$name\">" "$out/reference"
done
quietly 0 "a command has its help" grep -qF 'longhaul run - run an experiment' "$out/reference/commands.html"
quietly 0 "the report has the charts that were drawn for the site" grep -qF 'alt="reformer-figure5, ' "$out/report.html"

# every address on every page: the file is there and has the place
cat >"$scratch/links.lua" <<'LUA'
local core = require "longhaul.core"
local root, bad, count = ..., 0, 0
local function text_of(path)
  return core.exists(path) and not core.is_folder(path) and core.read_file(path)
end
for path in io.popen("find '" .. root .. "' -name '*.html'"):lines() do
  for target in core.read_file(path):gmatch '%s[hs]re?[fc]="([^"]*)"' do
    local file, place = target:match "^([^#]*)#?(.*)$"
    if not target:find "^%a+:" then
      count = count + 1
      local text = text_of(file == "" and path or path:match "^.*/" .. file)
      if not text or place ~= "" and not text:find(('id="%s"'):format(place), 1, true) then
        bad = bad + 1
        print(path .. ": " .. target)
      end
    end
  end
end
print(count > 500 and bad == 0 and "all are there" or bad .. " lead nowhere")
LUA
succeeds "every link leads somewhere" "all are there" "$longhaul" lua "$scratch/links.lua" "$out"

mkdir "$scratch/tree"
cp -r README.md CHANGELOG.md CITATION.cff docs experiments results scripts "$scratch/tree"
echo '[gone](gone.md)' >>"$scratch/tree/docs/tour.md"
broken() { (cd "$scratch/tree" && "$longhaul" lua scripts/site.lua "$scratch/program" "$scratch/other"); }
fails 1 "a link that leads nowhere" "docs/tour.md: links to gone.md, which is no file here" broken
finish
