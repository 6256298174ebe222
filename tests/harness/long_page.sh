#!/usr/bin/env bash
# axe-core finds nothing in the report's page, in headless Chromium, in both schemes at three widths: contrast,
# names, headings, tables. $AXE names axe.min.js where no package has it.
. tests/test.sh

# The file of npm's axe-core or of PyPI's axe-playwright-python; nothing where there is neither.
axe_file() {
    local package file
    package=$(python3 -c 'import importlib.util as u; print(*u.find_spec("axe_playwright_python").submodule_search_locations)' 2>/dev/null)
    for file in "${AXE:-}" "$(npm root -g 2>/dev/null)/axe-core/axe.min.js" "$package/axe.min.js"; do
        if [ -f "$file" ]; then
            echo "$file"
            return
        fi
    done
}

axe=$(axe_file)
chromium=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$axe" ] || [ -z "$chromium" ]; then
    skips "no chromium (package chromium) or no axe-core here (pip install axe-playwright-python, or AXE=axe.min.js)"
    finish
fi

# with_axe PAGE: the page, which then turns into what axe-core says of it, a line for each violation.
with_axe() {
    cat "$1"
    echo "<script>"
    cat "$axe"
    cat <<'HTML'
</script>
<script>
{ // the page's script has names of its own
  const say = (lines) => {
    const made = document.createElement("pre");
    made.textContent = lines.join("\n");
    document.body.replaceChildren(made);
  };
  const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  axe.run(document, { resultTypes: ["violations"] }).then((made) => {
    const lines = made.violations.flatMap((rule) => rule.nodes.map((node) =>
      `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary.replace(/\s+/g, " ")}`));
    say([...lines, `axe-core, ${scheme}, ${innerWidth} wide: ${lines.length} violations in all`]);
  }).catch((error) => say([`axe-core failed: ${error}`]));
}
</script>
HTML
}

# seen PAGE SCHEME WIDTH: what axe-core says; a scheme is 0, dark, or 1, light.
seen() {
    timeout 600 "$chromium" --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" \
        --blink-settings=preferredColorScheme="$2" --window-size="$3,900" --virtual-time-budget=600000 \
        --dump-dom "file://$1" 2>/dev/null | sed -n 's/<[^>]*>//g; /^axe-core\|: Fix a/p' | cut -c1-2000
}

# A comparison, a table and claims: every kind of part that a page has, and not all of each.
mkdir "$scratch/results"
for part in compare-copy rmt-segments claims; do
    cp -r "results/reference/amd-epyc-2-cores/$part" "$scratch/results/"
done
succeeds "the page is written" "report.html" "$longhaul" report --results "$scratch/results"
with_axe "$scratch/results/report.html" >"$scratch/page.html"
{
    echo '<!doctype html><html lang="en"><title>x</title><main><h1>x</h1><p style="color:#aaa;background:#fff">pale</p>'
    echo '<img src="data:,"></main>'
} >"$scratch/poor.html"
with_axe "$scratch/poor.html" >"$scratch/poor-page.html"

succeeds "axe-core sees text that is too pale" "color-contrast: p:" seen "$scratch/poor-page.html" 1 800
succeeds "and a picture without words" "image-alt: img:" seen "$scratch/poor-page.html" 1 800
for width in 500 900 1400; do
    succeeds "nothing in the dark at $width" "axe-core, dark, $width wide: 0 violations" seen "$scratch/page.html" 0 $width
    succeeds "nothing in the light at $width" "axe-core, light, $width wide: 0 violations" seen "$scratch/page.html" 1 $width
done
finish
