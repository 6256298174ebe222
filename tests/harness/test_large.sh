#!/usr/bin/env bash
# The index of a large runs.csv: whatever stands in its place, commands say the same, and a finished sweep stays finished.
. tests/test.sh
. tests/harness/large.sh
sweep 50 1 80
index=$runs_file.index

said() { call table && call run && cat "$scratch/table.said" "$scratch/run.said"; }
# agrees NAME: commands say what they said without an index; then whether there is a valid one.
agrees() {
    said >"$scratch/now"
    quietly 0 "$1: the same" cmp "$scratch/expected" "$scratch/now"
}
settled() { sleep 3.1; }
renewed() { [ -s "$index" ] && ! cmp -s "$index" "$scratch/index"; }

quietly 0 "a runs.csv that is large" test "$(stat -c %s "$runs_file")" -gt 4194304
said >"$scratch/expected"
quietly 0 "the table has its rows" test "$(wc -l <"$scratch/table.said")" -gt 150
quietly 1 "nothing was trained" grep -q '^\[' "$scratch/log"
quietly 0 "no index while the file is young" test ! -e "$index"
settled
agrees "making the index"
quietly 0 "there is one" test -s "$index"
cp "$index" "$scratch/index"
agrees "with the index"
quietly 0 "which stays" cmp "$index" "$scratch/index"

for wrong in "printf '' >" "head -c 100000 $scratch/index >" "head -c 3000000 /dev/urandom >" "cat $runs_file >"; do
    eval "$wrong $index"
    agrees "behind ${wrong%% *}"
    quietly 0 "it was mended" cmp "$index" "$scratch/index"
done

# ---- the file changes ----
sed -i '2s/generate:books/generate:bookz/' "$runs_file"
"$LONGHAUL_BIN" table "$scratch/sweep.lua" --scale smoke --results "$scratch/results" >"$scratch/edited"
quietly 1 "an edit is seen at once" cmp -s "$scratch/edited" "$scratch/shown"
sed -i '2s/generate:bookz/generate:books/' "$runs_file"
agrees "edited back"
settled
agrees "and its index"
quietly 0 "is a new one" renewed
chmod 000 "$index"
agrees "that may not be read"
rm "$index"
chmod a-w "$scratch/results/sweep"
agrees "in a folder that may not be written"
chmod u+w "$scratch/results/sweep"
sed -i '3d' "$runs_file"
settled
call table
cp "$index" "$scratch/index"
call run --no-timing
succeeds "a run that is gone from the file is run again" "[2/4000]" cat "$scratch/log"
quietly 0 "and appended" test "$(wc -l <"$runs_file")" -eq 4001
call run --no-timing
quietly 1 "nor is it run twice" grep -q '^\[' "$scratch/log"

finish
