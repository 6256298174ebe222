#!/usr/bin/env bash
# Every style check must see its offence: each is shown a small tree with one.
. tests/test.sh

tree=$scratch/tree
mkdir -p "$tree/tests" "$tree/kernels" "$tree/models" "$tree/harness/engine"
cp -r tests/lint "$tree/tests/"

# on_tree SCRIPT: runs one check in the small tree.
on_tree() {
    (cd "$tree" && lua5.4 "tests/lint/$1.lua")
}

# file PATH < text
file() {
    cat >"$tree/$1"
}

file kernels/good.h <<'C'
/* Adds two numbers.
 * Both may be negative. */
int lh_sum(int a, int b);
C
for script in includes size docs words; do
    quietly 0 "$script accepts the tree" on_tree "$script"
done

file models/upward.c <<'C'
#include "harness/train/trainer.h"
C
fails 1 "sees an upward include" "models/upward.c:1: models/ must not include" on_tree includes
file models/upward.c <<'C'
#include <lua.h>
C
fails 1 "sees a library outside its wall" "<lua.h> is for harness/lua/" on_tree includes

{
    echo 'static int long_one(void) {'
    yes '    step();' | head -n 60
    echo '}'
} | file kernels/long.c
fails 1 "sees a long function" "kernels/long.c:1: function of 62 lines" on_tree size
yes ';' | head -n 601 | file kernels/long.c
fails 1 "sees a long file" "601 lines, at most 600" on_tree size
{
    echo 'local function long_one()'
    yes '  step()' | head -n 60
    echo 'end'
} | file kernels/long.lua
fails 1 "sees a long Lua function" "kernels/long.lua:1: function of 62 lines" on_tree size

file harness/engine/bare.h <<'C'
int lh_bare(int a);
C
fails 1 "sees a prototype without comment" "bare.h:1: lh_bare has no comment" on_tree docs

file kernels/words.c <<'C'
void stop(void) { exit(1); }
C
fails 1 "sees exit below main" "kernels/words.c:1: exit(" on_tree words

cat >"$scratch/banned.c" <<'C'
int main(void) { return atoi("1"); }
C
fails 1 "poisons banned functions" "atoi" \
    gcc -include tests/lint/banned.h -c "$scratch/banned.c" -o "$scratch/banned.o"

finish
