#!/usr/bin/env bash
# Every Lua script in the README and the documents runs at smoke scale.
. tests/test.sh
export OMP_NUM_THREADS=1

found=0
for document in README.md docs/*.md; do
    # one file per ```lua block that is a whole script
    awk -v base="$scratch/$(basename "$document" .md)" '
        /^```lua$/ { n++; text = ""; inside = 1; next }
        /^```$/ { if (inside && text ~ /\nreturn /) printf "%s", text > (base n ".lua"); inside = 0 }
        inside { text = text $0 "\n" }' "$document"
done
for script in "$scratch"/*.lua; do
    [ -f "$script" ] || continue
    found=$((found + 1))
    succeeds "${script##*/} runs" "table.csv" \
        "$LONGHAUL_BIN" run "$script" --scale smoke --no-timing --set train.steps=2 --set task.limit_eval_bytes=4096 --results "$scratch/results$found"
done
# The reference has every kind of tokens that `describe` lists, and that the message about a wrong one does.
"$LONGHAUL_BIN" describe language_model | grep -o 'tokenizer: [^;]*' | sed 's/tokenizer: //; s/, /\n/g' >"$scratch/kinds"
"$LONGHAUL_BIN" tokenize --tokens letters docs/lua.md 2>&1 | grep -o 'there are: .*' | sed 's/there are: //; s/, /\n/g' >"$scratch/told"
quietly 0 "one list of tokenizers" cmp "$scratch/kinds" "$scratch/told"
quietly 0 "which is not empty" test "$(wc -l <"$scratch/kinds")" -ge 9
while read -r kind; do
    quietly 0 "the reference has $kind" grep -qF "\`$kind\`" docs/lua.md
done <"$scratch/kinds"
# Every figure in the documents, and the overviews of the reference runs, are what the committed tables say.
succeeds "figures in documents" "as the tables say" "$LONGHAUL_BIN" lua scripts/figures-in-docs.lua
succeeds "a difference says what ± is" "| data | Rec:fixed:skip minus Slide:13L, ± standard error | seeds |" cat docs/findings.md
copy=$scratch/copy
mkdir -p "$copy/results"
cp -r README.md docs experiments scripts "$copy"
cp -r results/published results/reference "$copy/results"
cd "$copy" || exit 1
figures=("$longhaul" lua scripts/figures-in-docs.lua)
succeeds "of a copy too" "as the tables say" "${figures[@]}"
sed -i '0,/-->163[.]61M/s//-->163.62M/' docs/fidelity.md
fails 1 "another figure" "docs/fidelity.md:20: 163.62 is not what the tables say: 163.61" "${figures[@]}" docs/fidelity.md
sed -i 's/^sgemm (OpenBLAS),"1024^3, 1 threads",rate,261/&9/' results/reference/amd-epyc-2-cores/bench/bench.csv
fails 1 "another table" "docs/performance.md:9: " "${figures[@]}" docs/performance.md
printf '\nAll rows are 1.5 times as fast.\n' >>README.md
fails 1 "a figure by hand" "1.5 stands there by hand" "${figures[@]}" write
succeeds "others were put in" "<!-- value: %.2f parameters(\"experiments/brt/table1.lua\", \"Slide:13L\") -->163.61M" cat docs/fidelity.md
succeeds "from the table" "| OpenBLAS | 2619 GFLOP/s |" cat docs/performance.md
sed -i '$d' README.md
succeeds "then all are right" "as the tables say" "${figures[@]}"
# A sentence is refused at its line when the tables say otherwise; decimals of its condition are none of the text's.
lead='column("amd-epyc-2-cores/comparison", { title = "language" }, "mean")'
says() { sed -i "\$c\\$1" README.md; }
line=$(($(wc -l <README.md) + 1))
echo >>README.md
says "<!-- let: lead = $lead --> It leads. <!-- holds: only(lead, { \"Gated DeltaNet\" }, below(2.75)) -->"
succeeds "a sentence that holds" "as the tables say" "${figures[@]}" README.md
says "It is the last. <!-- holds: highest($lead, { \"Gated DeltaNet\" }) -->"
fails 1 "one that does not" "README.md:$line: this does not hold: " "${figures[@]}" README.md
fails 1 "nor when figures are written" "README.md:$line: this does not hold: " "${figures[@]}" write README.md
says "It is named. <!-- let: of 2 = 3 -->"
fails 1 "a name that is none" "README.md:$line: a name is given as" "${figures[@]}" README.md
says "It is fast. <!-- holds: lowest(nothing) -->"
fails 1 "a condition that cannot be read" "README.md:$line: " "${figures[@]}" README.md
says "It is open. <!-- holds: lowest("
fails 1 "a condition without an end" "README.md:1: a condition is not closed on its line" "${figures[@]}" README.md
sed -i '$d' README.md
sed -i 's/^-- Reformer, Table 1: how/-- Reformer, Table 1: that/' experiments/reformer/table1.lua
fails 1 "another first sentence of a script" "docs/howto.md:" "${figures[@]}" docs/howto.md
cp "$OLDPWD/experiments/reformer/table1.lua" experiments/reformer/
sed -i '/wikitext-103/d' results/reference/amd-epyc-2-cores/rsa-table3/runs.csv
fails 1 "a stale overview" "results/reference/amd-epyc-2-cores/README.md:3: " "${figures[@]}" results/reference/amd-epyc-2-cores/README.md
sed -i "0,/<!-- value: %.2f/s//<!-- value: %.2f nothing/" docs/fidelity.md
fails 1 "a broken mark" "docs/fidelity.md:1: " "${figures[@]}" docs/fidelity.md
mkdir results/reference/other
touch results/reference/amd-epyc-2-cores/idle.svg
fails 1 "a drawing that nothing shows" "idle.svg: no document shows it" "${figures[@]}"
fails 1 "a folder without its page" "results/reference/other/README.md:1: there is no such page" "${figures[@]}"
cd - >/dev/null || exit 1
quietly 0 "the README and the Lua reference have scripts" test "$found" -ge 2
finish
