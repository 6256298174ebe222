#!/usr/bin/env bash
# A hostile system: signals, too little memory, a full disk, another locale, pipes in the place of files.
# shellcheck disable=SC2016  # inner shells expand them
. tests/test.sh

train=(train --model lstm --options 'hidden=8 width=8' --task-options 'name=generate:books documents=5 document_bytes=2000 segment=8 batch=1')

# A training that is stopped by the signal $1 after its first checkpoint, then one that goes on.
stopped_by() {
    local snapshot=$scratch/$1.snapshot process
    "$LONGHAUL_BIN" "${train[@]}" --train 'steps=100000 warmup=1 checkpoint_every=50' --snapshot "$snapshot" &
    process=$!
    until_true 300 test -e "$snapshot"
    kill -s "$1" "$process"
    wait "$process"
}
for signal in INT TERM HUP USR1; do
    fails 130 "SIG$signal stops a training that can go on" \
        "interrupted; the same command goes on from $scratch/$signal.snapshot" stopped_by "$signal"
    succeeds "whose checkpoint is whole" "predicted_tokens" "$LONGHAUL_BIN" lua <(cat <<LUA
local core = require "longhaul.core"
local session <close> = core.session { model = core.options("model", "lstm", "hidden=8 width=8"), task = core.options("task", "language_model", "name=generate:books documents=5 document_bytes=2000 segment=8 batch=1"),
  train = core.options("train", "train", "steps=100000 warmup=1 checkpoint_every=50"), seed = 1, device = "cpu" }
session:restore "$scratch/$signal.snapshot"
print(session:info().step > 0 and "predicted_tokens" or "no step")
LUA
    )
done

# A training without a checkpoint, that is stopped once it is under way.
stopped_for_good() {
    local process status
    "$LONGHAUL_BIN" "${train[@]}" --train 'steps=10000000 warmup=1' >"$scratch/log" 2>&1 &
    process=$!
    until_true 300 grep -q "embedded generator" "$scratch/log"
    sleep 1
    kill -s INT "$process"
    wait "$process"
    status=$?
    cat "$scratch/log"
    return "$status"
}
fails 130 "a training that keeps nothing says so" "interrupted; nothing was kept without --snapshot" stopped_for_good

# OpenBLAS asks for ever where memory is short. A program under a sanitizer never fits.
limited() { bash -c 'ulimit -v "$1"; shift; exec timeout -s KILL 300 "$@"' limited "$@"; }
if limited 1000000 "$LONGHAUL_BIN" version >/dev/null 2>&1; then
    for limit in 120000 150000 200000 250000; do
        fails 1 "a limit of $limit KiB is an error" "OpenBLAS takes" limited $limit env OMP_NUM_THREADS=2 "$LONGHAUL_BIN" "${train[@]}" --train steps=2
    done
    succeeds "whoever does not multiply is not bothered" "longhaul" limited 120000 "$LONGHAUL_BIN" help
    words=(the cat sat on a mat while rain fell softly over green hills and dogs ran down a stone bridge)
    for ((i = 0; i < 400; ++i)); do echo "${words[*]:i % 13} ${words[*]:i % 7:5}"; done >"$scratch/small.txt"
    pieces=("$LONGHAUL_BIN" tokenize --tokens "sentencepiece:train:50:$scratch/small.txt")
    if "${pieces[@]}" "$scratch/small.txt" >/dev/null 2>&1; then
        for ((i = 0; i < 400; ++i)); do cat "$scratch/small.txt"; done >"$scratch/long.txt"
        fails 1 "so it is in a library that throws" "out of memory" limited 250000 "${pieces[@]}" "$scratch/long.txt"
    else
        skips "a text beyond memory: this build has no SentencePiece"
    fi
fi

onto_full_disk() { "$LONGHAUL_BIN" "$@" >/dev/full; }
fails 1 "a full disk behind standard output is an error" "standard output could not be written" onto_full_disk help
fails 1 "also for a long text" "standard output could not be written" onto_full_disk describe lstm

# A limit on the size of files, which a signal tells: a curve that comes to 4 KiB before anything else does.
cat >"$scratch/sized.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "sized"
bench:row { "a", model = lh.models.lstm { width = 8, hidden = 8 },
  task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 5, document_bytes = 2000 }, segment = 8, batch = 1 },
  train = lh.train { steps = 200, warmup = 1, log_every = 1 } }
return bench
LUA
of_limited_size() { (ulimit -f 4; "$LONGHAUL_BIN" run "$scratch/sized.lua" --scale smoke --no-timing --results "$scratch/sized"); }
fails 1 "a file that may grow no more is named" ".csv: cannot write: File too large" of_limited_size

# The first file that is opened would take the number of a stream that is closed.
cat >"$scratch/closed.lua" <<LUA
local file <close> = require "longhaul.core".begin_file "$scratch/closed"
print "printed"
io.stdout:flush()
io.stderr:write "told"
file:commit()
LUA
without_streams() { "$LONGHAUL_BIN" lua "$scratch/closed.lua" >&- 2>&-; }
quietly 1 "a closed standard output is an error" without_streams
quietly 0 "and nothing of it lands in a file" cmp "$scratch/closed" /dev/null

comm() { "$LONGHAUL_BIN" lua <(echo "os.execute 'cat /proc/\$PPID/comm'"); }
succeeds "ps shows the program's name" "longhaul" comm

# A locale whose numbers have a comma, made here where the system can.
if localedef -i de_DE -f UTF-8 "$scratch/de_DE.UTF-8" 2>/dev/null; then
    german() {
        LOCPATH=$scratch "$LONGHAUL_BIN" lua <(cat <<'LUA'
assert(os.setlocale "de_DE.UTF-8", "no such locale")
local core = require "longhaul.core"
local text = core.options("train", "train", { rate = 0.5, steps = 3 }):text()
assert(text:find("rate=0.5", 1, true), text)
assert(tonumber "0.25" == 0.25 and ("%.2f"):format(0.25) == "0.25", "comma")
print "points"
LUA
        )
    }
    succeeds "numbers have a point in every locale" "points" german
else
    skips "no German locale can be made here"
fi

mkfifo "$scratch/pipe"
for words in "forward --model lstm --ids $scratch/pipe --out $scratch/x.npy" "dilation $scratch/pipe" "data import $scratch/pipe.jsonl" \
    "train --model lstm --task-options tokens=words:$scratch/pipe"; do
    if [[ $words == *.jsonl ]]; then mkfifo "$scratch/pipe.jsonl"; fi
    # shellcheck disable=SC2086
    fails 1 "a pipe is not waited for: ${words%% *}" "longhaul: " timeout -s KILL 300 "$LONGHAUL_BIN" $words
done

# ---- scripts ----

start='local lh = require "longhaul" local books = lh.data.text { "generate:books", documents = 5, document_bytes = 500 }
local what = { model = lh.models.lstm { width = 8, hidden = 8 }, task = lh.tasks.language_model { books, segment = 16, batch = 1 }, train = lh.train { steps = 2 } }
local function with(label, more) local row = lh.merged(what, more or {}) row[1] = label return row end
'
# script TEXT: writes it, behind the lines above
script() { printf '%s\n%s\n' "$start" "$1" >"$scratch/script.lua"; }
# on COMMAND...: what may take no more than 20 seconds of processor time; the clock, which a busy machine stretches,
# ends what waits for ever
on() (
    ulimit -S -t 20
    timeout -s KILL 300 "$LONGHAUL_BIN" "$1" "$scratch/script.lua" --scale smoke --results "$scratch/results" "${@:2}"
)

script 'local bench = lh.experiment "one" bench:row(with "a") return bench'
fails 2 "so many seeds are a slip" "--seeds takes an integer of at most 100000" on dry-run --seeds 1000000000
fails 2 "so many threads, too" "--threads takes an integer of at most 1024" on run --threads 99999999999999999999
fails 2 "results lie in a folder" "--results takes a path" "$LONGHAUL_BIN" run "$scratch/script.lua" --results ''
fails 2 "an unknown device fails at once" "no device 'gpu'" on run --device gpu
quietly 1 "and leaves no rows" test -e "$scratch/results/one/runs.csv"
fails 2 "a line end cannot leave a comment of a job" "line end" on slurm --only a --only $'a\ntouch '"$scratch/bait"
script 'error {}'
fails 1 "an error that is no text is described" "an error that is no text but a table" on list
script 'return lh.include "script.lua"'
fails 1 "a script that includes itself" "includes itself" on list
script 'return lh.include "../'"$(basename "$scratch")"'/script.lua"'
fails 1 "by whatever path" "includes itself" on list
script 'local bench = lh.experiment "one" bench:row(with("a", { seeds = 1e18 })) return bench'
fails 1 "seeds of a row are bounded" "script.lua:5: row: field 'seeds' must be a positive integer of at most 100000" on dry-run
long='setmetatable({ 1 }, { __len = function() return 1 << 40 end })'
script 'error(lh.models.brt({ recurrent_layers = '"$long"' }).text)'
fails 1 "a list is as long as it is, whatever it says" "recurrent_layers=1 " on list
script 'local list = {} for i = 1, 70000 do list[i] = 1 end return lh.models.brt { recurrent_layers = list }'
fails 1 "and no longer than one is" "at most 65536 integers, got 70000" on list
# Numbers that only bounds and divisions keep from wrapping: none may end a process.
script 'return lh.models.transformer_xl { rsa_kinds = { math.maxinteger, 1, 0, 0, 0, 0 } }'
fails 1 "a list's integers keep to their range" "'rsa_kinds' must be integers between 0 and 32, got '9223372036854775807'" on list --sandbox
small='width=8 heads=1 head_width=4 layers=1'
training=(--task recall --task-options 'batch=2 evaluate_sequences=4 vocabulary=64 lengths=64 pairs=4' --train steps=2)
fails 1 "so many buckets wrap no integer" "option 'buckets' takes" \
    "$LONGHAUL_BIN" train --model reformer --options "$small positions=8,8 buckets=2091014,12866,48914,14018" "${training[@]}"
fails 1 "nor do so many positions" "option 'positions' has 3 sizes" \
    "$LONGHAUL_BIN" train --model reformer --options "$small attention=full positions=2091014,2924258,3016804" "${training[@]}"
says_its_length() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
local core = require "longhaul.core"
local long = $long
local say = { "abc" }
print(core.did_you_mean("abd", setmetatable(say, getmetatable(long))), pcall(core.time_steps, long, 1, 1))
LUA
    )
}
succeeds "as an array of names or sessions is" "'abc'?); there are: abc	false" says_its_length
script 'local bench = lh.experiment "one" bench:seeds(1e18) return bench'
fails 1 "and those of all rows" "of at most 100000" on dry-run
for name in . .. .hidden -x 'a/b' ''; do
    script "return lh.experiment '$name'"
    fails 1 "no experiment is called '$name'" "an experiment's name" on list
done
script 'local bench = lh.experiment "one" bench:row(with "a\0,b") return bench'
fails 1 "a label cannot hold a NUL byte" "script.lua:5: row: a label cannot hold a NUL byte" on list
script 'local bench = lh.experiment "one" bench:row(with "\27]0;x\7") return bench'
fails 1 "a label is no command to a terminal" "script.lua:5: row: a label holds a line end, a tab or another control" on list
script 'os.execute "touch '"$scratch/bait"'" return lh.experiment "one"'
fails 1 "a stranger's script runs no program" "undefined global 'os'" on list --sandbox
script 'local bench = lh.experiment "boxed" bench:row(with "a") bench:table { columns = { "bits_per_token" } } return bench'
succeeds "and trains as any other" "bits/token" on run --sandbox --no-timing
quietly 1 "nothing was run" test -e "$scratch/bait"
script 'local bench = lh.experiment "boxed" bench:row(with "a") bench.check = function() while true do end end return bench'
fails 1 "nor forever" "script.lua:5: 'check' of a longhaul.experiment cannot be changed" on list --sandbox
script 'local bench = lh.experiment "boxed" bench:row(with "a") bench.name = "../../out" return bench'
fails 1 "nor elsewhere" "'name' of a longhaul.experiment cannot be changed" on run --sandbox
printf 'return { example = print, sizes = function() while true do end end }' >"$scratch/endless.lua"
script 'local bench = lh.experiment "boxed"
local row = with "a"
row.task = lh.tasks.scripted_tokens { "endless.lua" }
bench:row(row) return bench'
fails 1 "nor do its files of examples" "endless.lua:1: the sandbox allows 500 million instructions" on dry-run --sandbox

# ---- files of results, as people and programs leave them ----

# shellcheck disable=SC2016  # no command is meant
script 'local bench = lh.experiment "one" bench:row(with "=a,b") bench:row(with "`x` [1]") bench:table { columns = { "bits_per_token" } } return bench'
succeeds "labels of any kind run" "bits/token" on run --no-timing
runs=$scratch/results/one/runs.csv
cp "$runs" "$scratch/kept.csv"
# unchanged EDIT...: the file after the command, then a run; how many rows there are
unchanged() {
    cp "$scratch/kept.csv" "$runs"
    sed -i "$@" "$runs"
    on run --no-timing >/dev/null 2>&1
    "$LONGHAUL_BIN" lua <(echo "print(#require('longhaul.run.csv').read '$runs' .. ' rows')")
}
succeeds "finished runs are found again" "2 rows" unchanged ''
succeeds "also behind a byte order mark" "2 rows" unchanged $'1s/^/\xEF\xBB\xBF/'
printf 'run_id;row\nx;y\n' >"$runs"
fails 1 "a spreadsheet's semicolons are named" "runs.csv: fields are parted by ';'" on run --no-timing
sed '1s/,row,/,rwo,/' "$scratch/kept.csv" >"$runs"
fails 1 "a missing column is named" "runs.csv: there is no column 'row'" on run --no-timing
sed '1s/,row,/,seed,/' "$scratch/kept.csv" >"$runs"
fails 1 "a column that is there twice is named" "runs.csv: column 'seed' stands there twice" on table
rm "$runs"
mkfifo "$runs"
fails 1 "a pipe in its place is not waited for" "not a plain file" on table
rm "$runs"
cp "$scratch/kept.csv" "$scratch/elsewhere.csv"
chmod 664 "$scratch/elsewhere.csv"
ln -s "$scratch/elsewhere.csv" "$runs"
succeeds "a link to it is kept" "bits/token" on run --no-timing --force
succeeds "with its mode" "-rw-rw-r--" ls -l "$scratch/elsewhere.csv"
succeeds "where it points to" "elsewhere.csv" readlink "$runs"

# ---- what is left behind, and many at once ----

left=$scratch/results/one/weights/0123.best.safetensors
id=$(sed -n 2p "$scratch/kept.csv" | cut -d, -f1)
touch "$left" "${left/0123/$id}" "$scratch/results/one/checkpoints/x.snapshot.1-7.partial"
succeeds "what was left behind is cleaned" "bits/token" on run --no-timing
quietly 1 "best weights of a finished run are gone" test -e "${left/0123/$id}"
quietly 0 "those of another stay" test -e "$left"
quietly 1 "and so is what a killed process wrote" test -e "$scratch/results/one/checkpoints/x.snapshot.1-7.partial"

many() {
    local failed=0 process processes=()
    for _ in 1 2 3 4 5 6 7 8; do
        on table >/dev/null 2>"$scratch/many.log" &
        processes+=($!)
    done
    for process in "${processes[@]}"; do wait "$process" || failed=$((failed + 1)); done
    cat "$scratch/many.log"
    echo "$failed failed"
}
succeeds "eight processes write one table" "0 failed" many
quietly 0 "and leave nothing but it" find "$scratch/results/one" -name "*.partial"

finish
