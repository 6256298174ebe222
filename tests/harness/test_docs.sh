#!/usr/bin/env bash
# Every Lua script in the README and the documents runs at smoke scale.
. tests/test.sh
export OMP_NUM_THREADS=1
unset LONGHAUL_DATA

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
        "$LONGHAUL_BIN" run "$script" --scale smoke --results "$scratch/results$found"
done
quietly 0 "the README and the Lua reference have scripts" test "$found" -ge 2
finish
