#!/usr/bin/env bash
# The figures of the papers are drawn from the committed runs, without data, network or earlier results; one that fails
# stops no other, and what has no runs is named with the command that makes them.
. tests/test.sh
export OMP_NUM_THREADS=1

# Without gnuplot the command says what to install; nothing else is tested then.
mkdir "$scratch/bin"
for tool in sh mkdir rm; do ln -s "$(command -v $tool)" "$scratch/bin/$tool"; done
fails 1 "without gnuplot" "apt-get install gnuplot-nox" env PATH="$scratch/bin" "$longhaul" figures --out "$scratch/none"
if ! command -v gnuplot >/dev/null; then
    skips "gnuplot is missing, nothing can be drawn"
    finish
fi

# ---- every figure of every paper ----
out=$scratch/out
succeeds "the committed runs" " 0 failed: $out/index.html" "$longhaul" figures --out "$out"
page=$out/index.html

# count FILE PART: how many lines have this part
count() { grep -cF -- "$2" "$1"; }

# every figure that is no drawing stands on the page with its caption, or with the command that makes its runs
cat >"$scratch/printed.lua" <<'LUA'
for _, figure in ipairs(require "longhaul.run.csv".read "results/published/figures.csv") do
  local part = figure.part ~= "" and ", " .. figure.part or ""
  print(("%s, Figure %s%s\t%s\t%s"):format(figure.paper, figure.figure, part, figure.experiment, figure.shows))
end
LUA
"$longhaul" lua "$scratch/printed.lua" >"$scratch/printed"
while IFS=$'\t' read -r name experiment shows; do
    quietly 0 "$name stands on the page" grep -qF "<h3>$name</h3>" "$page"
    if [ -z "$experiment" ]; then
        quietly 0 "$name is a drawing" grep -qF "$shows: not redrawn" "$page"
    elif ! grep -qF "$name: $shows. Data: " "$page"; then
        succeeds "$name, without runs, has its command" "<code>longhaul run experiments/" grep -F "$shows: " "$page"
    fi
done <"$scratch/printed"
quietly 0 "most figures are drawn" test "$(grep -cE 'Figure [0-9].* Data: .* Measured on .* Scale [a-z]+, [0-9]+ seeds?, cpu, ' "$page")" -ge 20

# what the page shows and links is there
grep -oE '(src|href)="[^"#]+"' "$page" | sed 's/.*="//; s/"$//' | sort -u >"$scratch/links"
missing=0
while read -r link; do [ -s "$out/$link" ] || missing=$((missing + 1)); done <"$scratch/links"
quietly 0 "no link leads nowhere" test "$missing" -eq 0
succeeds "the runs are linked" "brt-table1/runs.csv" cat "$scratch/links"
quietly 0 "as many PNG as SVG" test "$(find "$out" -name '*.png' | wc -l)" -eq "$(find "$out" -name '*.svg' | wc -l)"
succeeds "the chart itself says data, scale, seeds and machine" "scale study · 1 seed · AMD EPYC" \
    cat "$out/amd-epyc-2-cores/reformer-figure5/study/lines.gp"
quietly 0 "no two charts have one place" test -z "$(grep -oE '<figure id="[^"]*"' "$page" | sort | uniq -d)"
succeeds "a chart has the lines that made it" "<pre><code>bench:plot { &quot;pareto&quot;, x = &quot;step_time_ms&quot;" \
    grep -A 1 "experiments/brt/table1.lua:" "$page"
succeeds "a kind of charts has an example" 'an example</a>' grep -F "<code>loss</code>: " "$page"
succeeds "charts without a figure's number too" "brt-table1/study/pareto-pg19_bytes.svg" cat "$page"
succeeds "charts of data that this machine has not" "compare-language/small/pareto_step_time_ms-enwik8.svg" cat "$page"

# the report shows them: of the comparison all that were declared
succeeds "a report with these charts" "report.html" "$longhaul" report --results results/reference/amd-epyc-2-cores \
    --charts "$out" --out "$scratch/report.html"
charts=$(find "$out/amd-epyc-2-cores" -path '*/compare-*.svg' | wc -l)
quietly 0 "has all of the comparison" test "$charts" -ge 38 -a "$(grep -o 'alt="compare-' "$scratch/report.html" | wc -l)" -eq "$charts"
fails 1 "not of charts that were never drawn" "$scratch/none: no such folder" "$longhaul" report \
    --results results/reference/amd-epyc-2-cores --charts "$scratch/none" --out "$scratch/none.html"
fails 1 "nor of a folder below the one that they lie in" "$out/amd-epyc-2-cores/amd-epyc-2-cores: no such folder" \
    "$longhaul" report --results results/reference/amd-epyc-2-cores --charts "$out/amd-epyc-2-cores" --out "$scratch/none.html"

# ---- runs of one's own ----
mkdir -p "$scratch/own/experiments"
cd "$scratch/own" || exit 1
cat >bars.lua <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "own-bars"
local corpus = lh.data.text { "generate:books", documents = 4, document_bytes = 2000 }
bench:row { "row", model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 8 }, train = lh.train { steps = 2 },
  task = lh.tasks.language_model { corpus, segment = 16, batch = 2, evaluate_batches = 2 }, dataset = "text" }
bench:plot { "bars", y = "bits_per_token" }
return bench
LUA
sed 's/own-bars/own-boxes/; s/bench:plot.*/bench:plot { "boxes", y = "rsa_gate", by = function() error "no box for it" end }/' \
    bars.lua >boxes.lua
sed 's/own-bars/own-nothing/' bars.lua >nothing.lua
echo 'return { not_an = "experiment" }' >included.lua
echo 'error "broken"' >broken.lua
succeeds "bars run" "results/own-bars/runs.csv" "$longhaul" run bars.lua --scale smoke --no-timing
fails 1 "boxes run, but for their chart" "chart 'boxes' was not drawn: boxes.lua:6: no box for it" \
    "$longhaul" run boxes.lua --scale smoke --no-timing
fails 1 "figures of one's own" "1 charts drawn, 1 without runs, 0 with runs that lack something, 2 failed: results/figures/index.html" \
    "$longhaul" figures included.lua broken.lua boxes.lua nothing.lua bars.lua --from own
# the program beside a chart is whole: gnuplot alone draws it again, in its folder, in other formats too
mkdir "$scratch/alone"
cp results/own-bars/bars.gp "$scratch/alone/"
quietly 0 "a chart's program is all that gnuplot needs" sh -c "cd '$scratch/alone' && gnuplot bars.gp && test -s bars.svg"
quietly 0 "another format is asked for" sh -c "cd '$scratch/alone' && gnuplot -e \"output_kind='png'\" bars.gp && test -s bars.png"
if gnuplot -e 'set terminal pdfcairo' 2>/dev/null; then
    quietly 0 "and PDF" sh -c "cd '$scratch/alone' && gnuplot -e \"output_kind='pdf'\" bars.gp && head -c 5 bars.pdf | grep -q %PDF"
    succeeds "plot draws one format" "results/own-bars/bars.pdf" "$longhaul" plot bars.lua --scale smoke --format pdf
    quietly 0 "which is PDF" grep -q '^%PDF' results/own-bars/bars.pdf
else
    skips "this gnuplot has no pdfcairo"
fi
fails 2 "no such format" "no format 'pfd' (did you mean 'pdf'?)" "$longhaul" plot bars.lua --scale smoke --format pfd
fails 1 "what fails is named" "own-boxes, scale smoke, chart 'boxes': boxes.lua:" \
    "$longhaul" figures boxes.lua --from results --out again
fails 1 "a broken script is named" "broken.lua:1: broken" "$longhaul" figures broken.lua --from results --out again
succeeds "what was not run has its command" "longhaul run nothing.lua" "$longhaul" figures nothing.lua --from own --out again
quietly 0 "the caption says data, scale, seeds and machine" \
    grep -qE "Data: embedded generator \(books\)\. Measured on .+\. Scale smoke, 1 seed, cpu, 1 run of own-bars" results/figures/index.html
succeeds "a folder is packed" "packed/own-bars/curves.csv" "$longhaul" results pack results/own-bars/ packed/own-bars
fails 2 "not into nothing" "and the one to pack it into" "$longhaul" results pack results/own-bars
succeeds "and drawn from there" "1 charts drawn" "$longhaul" figures bars.lua --from packed --out again
fails 1 "no such folder" "absent: no such folder" "$longhaul" figures --from absent
mkdir empty
fails 1 "a folder without runs" "empty: no runs.csv there" "$longhaul" figures --from empty
finish
