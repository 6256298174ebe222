#!/usr/bin/env bash
# Every style check must see its offence: each is shown a small tree with one.
. tests/test.sh

tree=$scratch/tree
mkdir -p "$tree/tests" "$tree/kernels" "$tree/models" "$tree/harness/"{engine,train,infer,tasks}
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
echo "# Small" | file README.md
for script in includes models size docs tested words; do
    quietly 0 "$script accepts the tree" on_tree "$script"
done

file models/upward.c <<'C'
#include "harness/train/trainer.h"
C
fails 1 "sees an upward include" "models/upward.c:1: models/ must not include" on_tree includes
while read -r from to; do
    echo "#include \"$to\"" | file "$from"
    fails 1 "sees an arrow up from $from" "$from:1: ${from%/*}/ must not include $to" on_tree includes
    rm "$tree/$from"
done <<'ARROWS'
harness/train/upward.c datasets/dataset.h
harness/train/upward.c harness/tasks/tasks.h
harness/train/upward.c harness/infer/beam.h
harness/infer/upward.c harness/tasks/tasks.h
harness/infer/upward.c datasets/dataset.h
ARROWS
file models/upward.c <<'C'
#include <lua.h>
C
fails 1 "sees a library outside its wall" "<lua.h> is for harness/lua/" on_tree includes

mkdir -p "$tree/models/layers" "$tree/models/kin" "$tree/models/other"
for name in layers/norm kin/part other/part; do
    echo '/* A part. */' | file "models/$name.h"
    echo "#include \"models/$name.h\"" | file "models/$name.c"
done
echo '#include "models/layers/norm.h"' >>"$tree/models/kin/part.h"
echo '#include "models/kin/part.h"' | file models/upward.c
fails 1 "sees a layer of one family" "norm.h:1: used by kin alone" on_tree models
echo '#include "models/layers/norm.h"' | file models/second.c
quietly 0 "accepts a layer of two" on_tree models
echo '#include "harness/engine/model.h"' | file models/kin/part.c
fails 1 "sees a part without its header" "kin/part.c:1: include the header" on_tree models
echo '#include "models/kin/part.h"' | file models/kin/part.c
for number in 1 2 3 4 5; do
    cp "$tree/models/kin/part.c" "$tree/models/kin/part$number.c"
    quietly 0 "accepts ten files" on_tree models
done
cp "$tree/models/kin/part.c" "$tree/models/kin/part6.c"
fails 1 "sees a model in too many files" "upward.c:1: 11 files of models/ to open" on_tree models
echo '#include "models/other/part.h"' | file models/kin/part.c
fails 1 "sees a family in another" "models/kin/ must not include models/other/part.h" on_tree includes
echo '#include "models/kin/part.h"' | file models/layers/norm.c
fails 1 "sees a layer that needs a family" "models/layers/ must not include models/kin/part.h" on_tree includes
rm -r "$tree/models"/*

echo '#include "harness/train/session_inside.h"' | file harness/tasks/upward.c
fails 1 "sees what a folder keeps to itself" "is for the files of harness/train/ alone" on_tree includes
rm "$tree/harness/tasks/upward.c"

echo '#include "harness/engine/b.h"' | file harness/engine/a.h
echo '#include "harness/engine/a.h"' | file harness/engine/c.h
echo '#include "harness/engine/c.h"' | file harness/engine/b.c
fails 1 "sees a circle of files" "a.h:1: a circle of files: harness/engine/a harness/engine/b harness/engine/c" \
    on_tree includes
rm "$tree/harness/engine/"?.[hc]
echo '/* Twice. */' | tee "$tree/harness/engine/twice.h" | file kernels/twice.h
fails 1 "sees a name that is there twice" "kernels/twice.h:1: the name of harness/engine/twice.h, too" on_tree includes
rm "$tree/harness/engine/twice.h" "$tree/kernels/twice.h"

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
{
    echo '<!-- begin generated: numbers -->'
    yes '| 1 |' | head -n 600
    echo '<!-- end generated -->'
    yes word | head -n 1001
} | file README.md
fails 1 "sees a long README" "README.md:1: 1001 words, at most 1000" on_tree size
echo "# Small" | file README.md
fails 1 "sees a long Lua function" "kernels/long.lua:1: function of 62 lines" on_tree size

file harness/engine/bare.h <<'C'
int lh_bare(int a);
C
fails 1 "sees a prototype without comment" "bare.h:1: lh_bare has no comment" on_tree docs
fails 1 "sees a function without a test" "bare.h:1: lh_bare is named in no test" on_tree tested

file harness/train/headless.c <<'C'
int lh_headless;
C
fails 1 "sees a file that does not say what it is for" "headless.c:1: begin with a comment" on_tree docs
rm "$tree/harness/train/headless.c"
echo 'return 1' | file harness/train/headless.lua
fails 1 "sees a Lua file that does not say it" "headless.lua:1: begin with a comment" on_tree docs
printf '#!/usr/bin/env bash\ntrue\n' | file tests/headless.sh
fails 1 "sees a shell script that does not say it" "headless.sh:2: begin with a comment" on_tree docs
rm "$tree/harness/train/headless.lua" "$tree/tests/headless.sh"

file kernels/words.c <<'C'
void stop(void) { exit(1); }
C
fails 1 "sees exit below main" "kernels/words.c:1: exit(" on_tree words
file models/words.c <<'C'
static void *take(void) { return calloc(1, 1); }
C
fails 1 "sees memory that no test makes fail" "models/words.c:1: calloc(" on_tree words

cat >"$scratch/banned.c" <<'C'
int main(void) { return atoi("1"); }
C
fails 1 "poisons banned functions" "atoi" \
    gcc -include tests/lint/banned.h -c "$scratch/banned.c" -o "$scratch/banned.o"

# ---- Lua's arrows ----
mkdir -p "$tree/harness/run" "$tree/harness/report/charts" "$tree/harness/lua/longhaul"
file harness/run/csv.lua <<'LUA'
local core = require "longhaul.core"
LUA
file harness/report/table.lua <<'LUA'
local csv = require "longhaul.run.csv" -- not require "longhaul.report.nothing"
LUA
file harness/report/kinds.lua <<'LUA'
local function find(name) return require(folder .. name) end
LUA
file harness/report/charts/bars.lua <<'LUA'
local table = require "longhaul.report.table"
LUA
file harness/lua/longhaul/init.lua <<'LUA'
local function later() return require("longhaul.report.kinds") end
LUA
quietly 0 "Lua arrows that run one way pass" on_tree requires
file harness/run/store.lua <<'LUA'
local function later() return require("longhaul.report.table") end
LUA
fails 1 "sees an upward require, a late one too" \
    "harness/run/store.lua:1: longhaul.run.store (run) must not require longhaul.report.table (report)" on_tree requires
file harness/run/store.lua <<'LUA'
local a, b = require "longhaul.run.csv", require "longhaul.run.nothing"
LUA
fails 1 "sees a module that is not there" "there is no module longhaul.run.nothing" on_tree requires
file harness/run/store.lua <<'LUA'
local module = require(name)
LUA
fails 1 "sees a computed name" "harness/run/store.lua:1: a computed name" on_tree requires
rm "$tree/harness/run/store.lua"
file harness/report/charts/bars.lua <<'LUA'

local kinds = require "longhaul.report.kinds"
LUA
fails 1 "sees a circle through a registry" \
    "a circle: longhaul.report.kinds -> longhaul.report.charts.bars -> longhaul.report.kinds" on_tree requires
rm -r "$tree/harness/run" "$tree/harness/report" "$tree/harness/lua"

# ---- papers' names ----
mkdir -p "$tree/results/published" "$tree/scripts"
file results/published/papers.csv <<'CSV'
paper,title,authors,year
sun,Suns of Long Sequences: A Study,Sun et al.,2022
moon,Moonlit Transformers,Moon et al.,2023
CSV
file models/sun.c <<'C'
    .name = "sun",
C
file Makefile <<'MAKE'
all: sun
MAKE
file harness/model.lua <<'LUA'
-- A model and a citation: Moon et al. 2023.
return lh.models.sun { layers = 1 }
LUA
quietly 0 "a model's name and a citation pass" on_tree papers
sees_paper() {
    file harness/model.lua
    fails 1 "sees the paper's name in: $1" "harness/model.lua:1: '$2' is a paper" on_tree papers
}
sees_paper "a table" sun_table1 <<<'published = "sun_table1"'
sees_paper "an experiment" sun-figure3 <<<'-- as in sun-figure3'
sees_paper "a claim" sun_p07 <<<'"sun_p07"'
sees_paper "a special case" sun <<<'if record.paper == "sun" then'
sees_paper "a name that is no model's" moon <<<'local rule = moon'
sees_paper "a title" "moonlit transformer" <<<'-- as the Moonlit Transformer does'
rm "$tree/harness/model.lua"

mkdir "$tree/docs"
file docs/decisions.md <<'MD'
- **Tea, not coffee** (2026-11-22). It
  wakes longer. Rejected: coffee, which does not.
- **Milk first** (2026-11-22; `cup.c`). Rejected: last.
MD
quietly 0 "decisions with date and rejection pass" on_tree decisions
sed -i 's/ (2026-11-22)//' "$tree/docs/decisions.md"
fails 1 "sees an undated decision" "decisions.md:1: no date behind 'Tea, not coffee'" on_tree decisions
file docs/decisions.md <<'MD'
- **Milk first** (2026-11-22).
MD
fails 1 "sees a decision that rejects nothing" "'Milk first' does not say what was rejected" on_tree decisions

file docs/places.md <<'MD'
See `docs/decisions.md`, `tests/lint/`, `models/NAME.c` and `results/mine/runs.csv`.
MD
quietly 0 "paths that are there pass, and placeholders" on_tree paths
file docs/places.md <<'MD'
See `models/nowhere.c`.
MD
fails 1 "sees a path that is not there" "docs/places.md:1: there is no models/nowhere.c" on_tree paths
rm -r "$tree/docs"

history=$scratch/history
commit() {
    git -C "$history" -c user.name=x -c user.email=x@x commit -q --allow-empty "$@"
}
messages() {
    (cd "$history" && "$OLDPWD/tests/lint/commits.sh" first)
}
git init -q "$history"
commit -m "$(printf 'a%.0s' {1..90})"
git -C "$history" tag first
commit -m "$(printf 'b%.0s' {1..72})" -m "Because."
quietly 0 "a subject of 72 characters with a body passes, and what is older than the rule" messages
commit -m "$(printf 'c%.0s' {1..73})" -m "Because."
fails 1 "sees a long subject" "a subject of 73 characters" messages
git -C "$history" reset -q --hard HEAD~1
commit -m "Nothing said"
fails 1 "sees a commit without a body" "no body that says why: Nothing said" messages
git -C "$history" config core.hooksPath "$PWD/tests/lint"
fails 1 "as a hook refuses a long subject" "a subject of 73 characters" commit -m "$(printf 'd%.0s' {1..73})" -m "Because."
quietly 0 "as a hook lets a good message pass" commit -m "$(printf 'e%.0s' {1..72})" -m "Because."

finish
