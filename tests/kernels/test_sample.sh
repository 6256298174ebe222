#!/usr/bin/env bash
# A sample of the kernels' cases is a part of them, another one with each seed, and together they are all.
. tests/test.sh
conformance=$LH_TEST_PLUGINS/../kernels/conformance
if [ ! -x "$conformance" ]; then
    skips "no conformance program is built beside $LH_TEST_PLUGINS"
    finish
fi

# count OPTION...: how many cases of a quick kernel pass
count() { "$conformance" --kernel softmax_forward --backend cpu-scalar --mode test "$@" | sed -n '$s/ passed, 0 failed$//p'; }

all=$(count)
sum=0
for seed in 0 1 2 3; do
    part=$(count --sample 4 --seed $seed)
    quietly 0 "a sample of $part of $all" test "$part" -gt $((all / 8)) -a "$part" -lt $((all / 2))
    sum=$((sum + part))
done
quietly 0 "four of them are all" test "$sum" -eq "$all"
quietly 0 "a sample of one is all" test "$(count --sample 1)" -eq "$all"
fails 2 "a sample that is no number" "usage:" "$conformance" --sample some
finish
