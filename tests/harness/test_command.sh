#!/usr/bin/env bash
# The command line: help everywhere, exit codes, suggestions, and one model at a time.
. tests/test.sh
export OMP_NUM_THREADS=1

succeeds "help" "EXIT STATUS" "$longhaul" help
succeeds "of help" "EXIT STATUS" "$longhaul" help help
succeeds "of its option" "EXIT STATUS" "$longhaul" help --help
fails 2 "no command" "SYNOPSIS" "$longhaul"
fails 2 "a budget of something else" "--match is parameters=N or flops_per_token=N, N above 0, not 'parameter=1e6'" \
    "$longhaul" describe brt --match parameter=1e6
fails 2 "one below 0" "not 'parameters=-1'" "$longhaul" describe brt --match parameters=-1
succeeds "a model at the size of a budget" "    width=64 hidden=446" "$longhaul" describe brt --vocabulary 260 --match parameters=1e6
fails 2 "an unknown command" "did you mean 'describe'" "$longhaul" describ
fails 2 "an unknown option" "did you mean '--scale'" "$longhaul" run x.lua --scael small
fails 2 "an option with a new name" "longhaul run: --task is called --run now" "$longhaul" run x.lua --task 3
fails 2 "with its value in the word" "longhaul run: --source is called --plan now" "$longhaul" run x.lua --source=x
fails 2 "of another command" "longhaul forward: --tokens is called --ids now" "$longhaul" forward --tokens x
fails 2 "an option without its value" "--scale needs a value" "$longhaul" run x.lua --scale
fails 2 "nor the beginning of one" "unknown option: --scal (did you mean '--scale'?)" "$longhaul" run x.lua --scal
fails 2 "a value of an option that takes none" "longhaul run: --force takes no value" "$longhaul" run x.lua --force=1
fails 2 "letters behind an option" "unknown option: -xy;" "$longhaul" run x.lua --force -xy
fails 2 "an option that list has no use for" "unknown option: --force" "$longhaul" list x.lua --force
fails 2 "a word too many" "'xl' is one word too many" "$longhaul" describe brt xl
fails 2 "no size" "--vocabulary takes a positive integer, not '-5'" "$longhaul" describe brt --vocabulary -5
fails 2 "no rounds" "--rounds takes a positive integer, not '0'" "$longhaul" bench --rounds 0
fails 2 "no model" "a --model NAME is needed" "$longhaul" train
fails 2 "an option of training" "longhaul run: --steps is an option of training: --set train.steps=VALUE" \
    "$longhaul" run x.lua --steps=3
fails 2 "of models" "longhaul train: --layers is an option of models: --options 'layers=VALUE'" \
    "$longhaul" train --model slide --layers 3
fails 2 "of tasks, where a command takes none" "unknown option: --segment" "$longhaul" bench --segment 3
fails 2 "a device by another name" "no device 'gpu': it is called 'cuda'" "$longhaul" run x.lua --device gpu
fails 2 "no action" "no action is given; there are: merge" "$longhaul" results
fails 2 "a table that goes into no file" "--out and --charts are of the page" "$longhaul" report --markdown --out "$scratch/x"
fails 1 "a report of no folder" "no such folder" "$longhaul" report --results "$scratch/none"
mkdir -p "$scratch/machines/"{one,two}
for machine in one two; do cp -r results/reference/amd-epyc-2-cores/rmt-segments "$scratch/machines/$machine"; done
fails 1 "a report of machines' folders says which to give" "give --results $scratch/machines/one or $scratch/machines/two" \
    "$longhaul" report --results "$scratch/machines" --out "$scratch/report.html"
succeeds "a report of nothing yet" "report.html" "$longhaul" report --results "$(mktemp -d -p "$scratch")"
fails 2 "a bad scale" "there are: smoke, small" "$longhaul" run x.lua --scale tiny
fails 2 "a bad number" "positive integer" "$longhaul" run x.lua --seeds none
fails 2 "no script" "expected one SCRIPT.lua" "$longhaul" run
fails 1 "an absent script" "absent.lua" "$longhaul" run "$scratch/absent.lua"
quietly 0 "help of a command is its --help" cmp <("$longhaul" help run) <("$longhaul" run --help)
fails 2 "help of an unknown command" "did you mean 'run'" "$longhaul" help runn
fails 2 "a scale nearly right" "no scale 'smal' (did you mean 'small'?)" "$longhaul" run x.lua --scale smal
fails 2 "a skeleton nearly right" "no skeleton 'modl' (did you mean 'model'?)" "$longhaul" new modl plain
for command in run list dry-run table plot slurm describe train eval export forward generate data bench version \
    report figures lua new query compare results watch manual completion; do
    succeeds "$command --help" "SYNOPSIS" "$longhaul" "$command" --help
done
succeeds "version" "blas" "$longhaul" version

# OpenBLAS takes the processors that it does not know for old ones.
if grep -q " avx2" /proc/cpuinfo && LONGHAUL_BLAS_CHOSEN=1 OPENBLAS_CORETYPE=Prescott "$longhaul" version | grep -q Prescott; then
    quietly 1 "a core of SSE3 is changed for a better one" env -u LONGHAUL_BLAS_CHOSEN OPENBLAS_CORETYPE=Prescott \
        sh -c "'$longhaul' version | grep Prescott"
fi
succeeds "the commands that make test-faults disturbs are commands still" "6 passed, 0 failed" \
    env LH_FAULT_STEP=1000 tests/faults.sh

succeeds "models are listed" "brt" "$longhaul" describe
succeeds "a model is described" "layers.1.state.ids" \
    "$longhaul" describe brt --options 'layers=4 width=128 heads=4 window=64' --vocabulary 260
succeeds "and the size of its carried state" "3,072" \
    "$longhaul" describe lstm --options 'layers=3 hidden=128' --vocabulary 260
succeeds "FLOPs are of segments that it takes" "FORWARD FLOP PER TOKEN, SEGMENTS OF 512" "$longhaul" describe xl
succeeds "else it says why there are none" "none: block 512 does not divide segment 100 (try 512)" \
    "$longhaul" describe compressive --segment 100
succeeds "an option's range is exact" "integer, 1 to 1048576" "$longhaul" describe brt
succeeds "so is that of a list's integers" "list, 1 to 1000000000" "$longhaul" describe brt
succeeds "a step's cost is an estimate" "AN ESTIMATE, NOT A MEASUREMENT" \
    "$longhaul" describe brt --options 'layers=4 width=128 heads=4 window=64' --cost
succeeds "of the paper's size, at its matrix rate" "32.2 TFLOP as the model counts them" \
    "$longhaul" describe slide --options 'layers=12 width=1024 heads=8 window=512' --vocabulary 256 --batch 8 --cost
succeeds "of a task, too" "attention_forward" "$longhaul" describe informer --task forecasting --cost --train precision=f32
fails 2 "on a device that is known" "did you mean 'h200'" "$longhaul" describe brt --cost --device h20
fails 2 "a batch costs nothing by itself" "--batch is said with --cost" "$longhaul" describe brt --batch 4
fails 2 "a task has its own batch" "longhaul describe: --batch says nothing beside --task" \
    "$longhaul" describe brt --cost --batch 4 --task language_model
fails 2 "and vocabulary" "--vocabulary says nothing beside --task" "$longhaul" describe brt --vocabulary 4 --task language_model
fails 2 "options of no task" "longhaul describe: --task-options is said with --task" "$longhaul" describe brt --task-options segment=4
fails 2 "published names in no file" "longhaul train: --published-names is said with --out" \
    "$longhaul" train --model gpt2 --published-names
fails 2 "a task of tokens that are given" "--task-options is said with --inputs" \
    "$longhaul" forward --model lstm --ids x --task-options segment=4 --out "$scratch/no.npy"
fails 2 "a vocabulary of vectors" "--vocabulary says nothing beside --inputs" \
    "$longhaul" forward --model lstm --inputs x --vocabulary 4 --out "$scratch/no.npy"
fails 2 "a path that is none" "--out takes a path, not nothing" "$longhaul" train --model lstm --out ''
fails 2 "nor is one of weights" "--weights takes a path, not nothing" "$longhaul" eval --weights ''
fails 1 "a file in the root folder" "/proc: not a plain file, so it is not replaced" "$longhaul" train --model lstm --out /proc
fails 2 "a column of a text" "--column is of a CSV file" "$longhaul" dilation README.md --column x
fails 2 "an import that is none" "--replace is said of data import" "$longhaul" data list --replace
fails 2 "a script that nothing is packed by" "--script is said of results pack" "$longhaul" results migrate "$scratch" --script x.lua
fails 2 "a scale of no script" "longhaul results: --scale is said with --script" "$longhaul" results pack a b --scale small
mkdir -p "$scratch/data/mybooks"
echo "once" >"$scratch/data/mybooks/one.txt"
succeeds "a corpus that lies here" "$scratch/data/mybooks: 1 file, 5 bytes" env LONGHAUL_DATA="$scratch/data" "$longhaul" describe mybooks
succeeds "and a generator, by its own name" "generate:latex, data" "$longhaul" describe latex
if command -v script >/dev/null; then
    columns() { script -qec "stty cols 60; $*" /dev/null | tr -d '\r' | wc -L; }
    quietly 0 "help fits the terminal" test "$(columns "$longhaul" help run)" -le 60
    quietly 0 "and what is described, too" test "$(columns "$longhaul" describe)" -le 60
fi
quietly 0 "elsewhere a model is a line" test "$("$longhaul" describe | grep -c "arXiv:2203.07852)$")" -eq 1
succeeds "pairs of models and tasks are listed" " pairs run" "$longhaul" matrix
succeeds "with why one is none" "needs a source for its encoder, which the task lacks; the models with a mark" "$longhaul" matrix
succeeds "and the option that a pair asks for" "mix=false" "$longhaul" matrix
succeeds "with which it is described" "a window: the source" "$longhaul" describe informer --task language_model --options mix=false
succeeds "a pair is described" "vectors stand for tokens" "$longhaul" describe brt --options 'layers=4 width=128 heads=4 window=60' \
    --task simulated_network
succeeds "with the adapter's parameters" "adapter.embedding.weight" "$longhaul" describe rsa --task random_walk
succeeds "a model's weights are told with it" "FILES" "$longhaul" describe gpt2
quietly 1 "but not behind what a task makes of it" sh -c "'$longhaul' describe gpt2 --task language_model | grep FILES"
quietly 1 "nothing near is nothing meant" sh -c "'$longhaul' describe nonsense 2>&1 | grep 'did you mean'"
fails 1 "a pair that is none" "t5: needs a source for its encoder" "$longhaul" describe t5 --task random_walk
fails 2 "a model's options are checked" "did you mean 'window'" "$longhaul" describe brt --options windw=3
for words in "--seed 3" "--seed=3" "--forc"; do
    # shellcheck disable=SC2086  # an option and its value are two words
    fails 2 "no option is cut short: $words" "unknown option: ${words%% *}" "$longhaul" run experiments/examples/sweep.lua $words
done
fails 2 "and the whole one is told" "did you mean '--seeds'?" "$longhaul" run experiments/examples/sweep.lua --seed=3
fails 2 "an unknown model" "did you mean 'brt'" "$longhaul" describe brtt
fails 2 "what several sorts have is meant once" "(did you mean 'steps'?)" "$longhaul" describe step
succeeds "a task is described, with its options" "tokens of a segment (N)" "$longhaul" describe language_model
succeeds "and the models for it" "seasonal_naive" "$longhaul" describe forecasting
succeeds "an option of training" "| adafactor" "$longhaul" describe optimizer
succeeds "an option of models, by who has it" "OF gpt2 gpt2_recurrent" "$longhaul" describe window
succeeds "an option that a kind of chart is called by, too" "recurrence, an option" "$longhaul" describe recurrence
succeeds "data that the program makes" "embedded generator of time series" "$longhaul" describe generate:seasonal
succeeds "a kernel in a sentence" "(Hutchins et al. 2022, eqs. 2-3): g = sigmoid(bias)" "$longhaul" describe kernels
succeeds "a metric, which end is better" "better     max" "$longhaul" describe valid_accuracy
succeeds "by its sort, too" "mean squared error" "$longhaul" describe metric mse
quietly 1 "of which alone it is" sh -c "'$longhaul' describe chart recurrence | grep 'an option'"
fails 2 "where the nearest name is meant" "no metric 'msee' (did you mean 'mse'?)" "$longhaul" describe metric msee
fails 2 "a sort that is none" "or one of models, tasks, training" "$longhaul" describe metrix mse
fails 2 "words too many say what a command takes" "\`longhaul describe [NAME | (models |" "$longhaul" describe model x metric
succeeds "what is of a sort is completed" "bits_per_byte" "$longhaul" completion words describe -- metric
quietly 1 "and nothing else" sh -c "'$longhaul' completion words describe -- metric | grep lstm"
succeeds "a kind of chart, with its fields" "frontier" "$longhaul" describe pareto
succeeds "data, with their terms" "CC BY-SA" "$longhaul" describe enwik8
succeeds "a kernel, with what it promises" "y may be x." "$longhaul" describe unary_forward
succeeds "and its arguments" "lh_unary_op op;" "$longhaul" describe unary_forward
for sort in tasks:random_walk training:warmup metrics:perplexity charts:bars data:ETTh1 kernels:matmul; do
    succeeds "${sort%:*} are listed" "${sort#*:} " "$longhaul" describe "${sort%:*}"
done
fails 2 "an unknown kernel" "did you mean 'dropout'" "$longhaul" describe dropuot
succeeds "every kernel is known" "$(grep -ch '^LH_KERNEL' kernels/contract/*.h | awk '{ n += $1 } END { print n }')" \
    sh -c "'$longhaul' describe kernels | wc -l"
fails 1 "unknown data" "no data 'boks' (did you mean 'books'?); there are: books, latex, code" \
    "$longhaul" train --model lstm --task-options name=boks
succeeds "a script has its name and its words in arg" "2	named	two" \
    "$longhaul" lua <(echo 'print(#arg, arg[0] and "named", arg[2])') one two
fails 1 "an unknown field of lh" "longhaul has no field 'modls' (did you mean 'models'?)" "$longhaul" lua <(echo 'print(require "longhaul".modls)')
fails 1 "an unknown model in a script" "no model 'brtt' (did you mean 'brt'?)" "$longhaul" lua <(echo 'print(require "longhaul".models.brtt)')
fails 2 "an unknown metric" "did you mean 'bits_per_byte'" "$longhaul" describe bits_per_bite
fails 2 "no peer's model" "no peer's model has 'nosuch' in its name; there are: slide" "$longhaul" bench --model nosuch
fails 2 "rounds of what is left out" "--rounds times steps, which --no-timing leaves out" \
    "$longhaul" run nosuch.lua --rounds 3 --no-timing
fails 2 "nothing that bench measures" "bench has no 'nosuch'; there are: width 128" "$longhaul" bench --only nosuch
fails 2 "jobs that are no number" "--jobs takes a number or auto, not 'all'" "$longhaul" dry-run experiments/examples/sweep.lua --jobs all
fails 2 "what only a model has" "--segment is said of a model; 'rate' is none" "$longhaul" describe rate --segment 4

options='layers=2 width=16 heads=2 window=8'
data='name=generate:books documents=4 document_bytes=2000 segment=32 batch=2'
succeeds "train" "bits_per_byte" "$longhaul" train --model slide --options "$options" \
    --task-options "$data" --train 'steps=3 warmup=2' --out "$scratch/w.safetensors"
succeeds "eval" "bits_per_byte" "$longhaul" eval --model slide --options "$options" \
    --task-options "$data" --weights "$scratch/w.safetensors"
fails 2 "no split" "no split 'tset' (did you mean 'test'?); there are: valid, test" "$longhaul" eval --model slide --weights "$scratch/w.safetensors" --split tset
fails 1 "weights of another model" "layers.2" "$longhaul" eval --model slide \
    --options 'layers=3 width=16 heads=2 window=8' --task-options "$data" --weights "$scratch/w.safetensors"

quietly 0 "export" "$longhaul" export --model slide --options "$options" --task-options "$data" \
    --train 'warmup=2' --batches 3 --out "$scratch/run"
succeeds "its options" '"window":	8' cat "$scratch/run/run.json"
succeeds "its weights" "bits_per_byte" "$longhaul" eval --model slide --options "$options" \
    --task-options "$data" --weights "$scratch/run/weights.safetensors"
latin=$scratch/$'caf\xe9'
mkdir "$latin" && printf '%300s' text >"$latin/train.txt" && printf '%300s' text >"$latin/valid.txt"
quietly 0 "export of data in a folder whose name is no UTF-8" "$longhaul" export --model slide --options "$options" \
    --task-options "name=$latin segment=32 batch=1" --batches 1 --out "$scratch/latin"
succeeds "is JSON, which is" "caf?" "$longhaul" lua <(echo "local text = io.read 'a' print(utf8.len(text) and text)") \
    <"$scratch/latin/run.json"
quietly 0 "export of windows" "$longhaul" export --model informer --task forecasting --options 'width=8 heads=2 layers=1' --batches 2 \
    --task-options 'name=generate:seasonal series_rows=200 channels=3 seq_len=5 label_len=2 pred_len=3 batch=4' --out "$scratch/windows"
quietly 0 "windows and their features" grep -qF '"vectors":{"dtype":"F32","shape":[2,4,8,7]' "$scratch/windows/batches.safetensors"
quietly 0 "what is to be predicted" grep -qF '"target_vectors":{"dtype":"F32","shape":[2,4,3,3]' "$scratch/windows/batches.safetensors"
quietly 0 "export of sentences" "$longhaul" export --model t5 --task translation --options 'layers=1 width=8 heads=2 hidden=8' \
    --task-options 'tokens=bytes pairs=200 batch_tokens=256' --batches 6 --out "$scratch/sentences"
quietly 0 "sources of any length" grep -qE '"source_tokens":\{"dtype":"F32","shape":\[6,[0-9]+,[0-9]+\]' \
    "$scratch/sentences/batches.safetensors"
fails 2 "export without a folder" "needs --out" "$longhaul" export --model slide
fails 2 "export of no number" "--batches takes a positive integer, not 'x'" "$longhaul" export --batches x --out "$scratch/run"

# Logits over several segments are those of one long segment.
seq -s ' ' 3 34 >"$scratch/tokens"
forward=("$longhaul" forward --model slide --options "$options" --vocabulary 260
    --weights "$scratch/w.safetensors" --ids "$scratch/tokens")
quietly 0 "forward in one segment" "${forward[@]}" --segment 32 --out "$scratch/whole.npy"
quietly 0 "forward in segments" "${forward[@]}" --segment 16 --out "$scratch/parts.npy"
cat >"$scratch/compare.lua" <<'LUA'
local first, second = ...
local core = require "longhaul.core"
local a, b = core.read_npy(first), core.read_npy(second)
local worst = 0
for i = 1, #a do worst = math.max(worst, math.abs(a[i] - b[i])) end
print(table.concat(a.shape, " "), #a == #b and worst < 1e-3 and "equal" or "differ by " .. worst)
LUA
succeeds "the same logits" "1 32 260	equal" \
    "$longhaul" lua "$scratch/compare.lua" "$scratch/whole.npy" "$scratch/parts.npy"
encoded=("$longhaul" forward --model slide --options "$options rsa_kinds=1,0,0,1,0,0 rsa_dilation=3" --vocabulary 260
    --ids "$scratch/tokens" --out "$scratch/logits.npy" --heads "$scratch/heads.npy")
quietly 0 "forward shows what encodings add to heads" "${encoded[@]}"
succeeds "of each layer and head, nothing before the dilation" "2 2 32	true	true" "$longhaul" lua <(cat <<LUA
local heads = require "longhaul.core".read_npy "$scratch/heads.npy"
print(table.concat(heads.shape, " "), heads[33] == 0 and heads[35] == 0 and heads[36] ~= 0, heads[1] == 0 and heads[2] ~= 0)
LUA
)
cp "$scratch/heads.npy" "$scratch/heads-alone.npy"
quietly 0 "forward with a segment that is not full" "${encoded[@]}" --segment 64
succeeds "shows the heads of what there is of it" "2 2 32	equal" \
    "$longhaul" lua "$scratch/compare.lua" "$scratch/heads.npy" "$scratch/heads-alone.npy"
fails 1 "heads of several segments" "heads are shown of one segment" "${encoded[@]}" --segment 16
fails 1 "heads without encodings" "no recurrence encodings to show" "${forward[@]}" --segment 32 --out "$scratch/logits.npy" \
    --heads "$scratch/heads.npy"
seq -s ' ' 3 68 >"$scratch/many"
windows=("$longhaul" forward --model brt --options 'layers=4 width=16 heads=2 window=16' --vocabulary 260 --ids "$scratch/many"
    --out "$scratch/logits.npy")
fails 1 "a length that windows do not divide" "all 66 inputs are one segment without --segment N" "${windows[@]}"
quietly 0 "does in segments" "${windows[@]}" --segment 64
echo "3 x 4" >"$scratch/bad"
printf '0 5 6\n0 7 8\n' >"$scratch/targets"
printf '1 2 3 4 5\n6 7\n' >"$scratch/sources"
encoder=("$longhaul" forward --model t5 --options 'layers=1 width=8 heads=2 hidden=8' --vocabulary 11)
quietly 0 "forward with sources" "${encoder[@]}" --ids "$scratch/targets" --source "$scratch/sources" --out "$scratch/two.npy"
tail -n 1 "$scratch/targets" >"$scratch/target"
tail -n 1 "$scratch/sources" >"$scratch/source"
quietly 0 "of a row alone" "${encoder[@]}" --ids "$scratch/target" --source "$scratch/source" --out "$scratch/one.npy"
succeeds "whose padding changes nothing" "yes" "$longhaul" lua <(cat <<LUA
local core = require "longhaul.core"
local two, one, worst = core.read_npy "$scratch/two.npy", core.read_npy "$scratch/one.npy", 0
for i = 1, #one do worst = math.max(worst, math.abs(one[i] - two[#one + i])) end
print(#two == 2 * #one and worst < 1e-5 and "yes" or worst)
LUA
)
fails 1 "a decoder's target in segments" "would begin anew in each segment of 1" "${encoder[@]}" --ids "$scratch/targets" \
    --source "$scratch/sources" --segment 1 --out "$scratch/none.npy"
fails 1 "forward without a source" "t5 needs a source" "${encoder[@]}" --ids "$scratch/target" --out "$scratch/none.npy"
fails 1 "forward with other rows of sources" "1 rows of tokens, 2 of the source" "${encoder[@]}" --ids "$scratch/target" \
    --source "$scratch/sources" --out "$scratch/none.npy"
# Files that hold no tokens, or no weights.
printf '4294967297\n' >"$scratch/wide"
printf -- '-1\n' >"$scratch/negative"
: >"$scratch/nothing"
npy() { # NAME DTYPE SHAPE VALUES...
    python3 - "$scratch/$1.npy" "$2" "$3" "${@:4}" <<'PY'
import struct, sys
path, kind, shape, values = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
text = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
text += " " * (-(len(text) + 11) % 64) + "\n"
form, to = ("q", int) if kind == "i8" else ("d", float)
open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + b"".join(struct.pack("<" + form, to(v)) for v in values))
PY
}
npy flat i8 "(3,)" 1 2 3
npy reals f8 "(1, 3)" 1 2 3
npy wide i8 "(1, 2)" 1 4294967297
npy good i8 "(1, 3)" 1 2 3
reads() { "$longhaul" forward --model lstm --options 'width=4 hidden=4' --vocabulary 11 --ids "$scratch/$1" --out "$scratch/read.npy"; }
fails 1 "a token beyond 32 bits" "wide:1: token 4294967297 is out of range" reads wide
fails 1 "a negative token" "negative:1: token -1 is out of range" reads negative
printf '1 2\n\n3 x\n' >"$scratch/apart"
printf '1 2\n\n3\n' >"$scratch/uneven"
fails 1 "no token behind an empty line" "apart:3: 'x' is no token number" reads apart
fails 1 "a shorter row behind an empty line" "uneven:3: 1 tokens, the first row has 2" reads uneven
fails 1 "a file without tokens" "nothing: there are no tokens in it" reads nothing
fails 1 "tokens of one axis" "flat.npy: tokens are an array [rows][length], not one of 1 axes" reads flat.npy
fails 1 "tokens that are reals" "reals.npy: tokens are integers" reads reals.npy
fails 1 "an array of wide tokens" "wide.npy: token 4294967297 is out of range" reads wide.npy
quietly 0 "an array of tokens" reads good.npy
trained() { "$longhaul" "$1" --model lstm --options 'width=4 hidden=4' --task-options 'name=generate:books documents=3 document_bytes=300 segment=8 batch=1' "${@:2}"; }
succeeds "weights to spoil" "bits_per_token" trained train --train steps=1 --out "$scratch/spoilt.safetensors"
printf '\x00\x00\xc0\x7f' | dd of="$scratch/spoilt.safetensors" bs=1 seek=$(($(stat -c %s "$scratch/spoilt.safetensors") - 4)) conv=notrunc status=none
fails 1 "weights that are no numbers" "spoilt.safetensors: tensor" trained eval --weights "$scratch/spoilt.safetensors"
fails 1 "are named with their element" "is nan" trained eval --weights "$scratch/spoilt.safetensors"

fails 1 "a bad token names its place" "bad:1: 'x'" "$longhaul" forward --model slide \
    --options "$options" --vocabulary 260 --ids "$scratch/bad" --out "$scratch/no.npy"

# Forecasts of a window of a series; a wrong width and a file that is missing are said.
cat >"$scratch/window.lua" <<'LUA'
local path, width = ...
local head = ("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 16, %d), }"):format(width)
head = head .. (" "):rep(117 - #head) .. "\n"
local values = {}
for i = 1, 16 * tonumber(width) do values[i] = ("<f"):pack(math.sin(i)) end
local file = assert(io.open(path, "wb"))
file:write("\x93NUMPY\x01\x00", ("<I2"):pack(#head), head, table.concat(values))
file:close()
LUA
"$longhaul" lua "$scratch/window.lua" "$scratch/window.npy" 7
"$longhaul" lua "$scratch/window.lua" "$scratch/narrow.npy" 6
series=("$longhaul" forward --model informer --options 'width=8 heads=2 layers=1'
    --task-options 'name=generate:seasonal series_rows=200 channels=3 seq_len=5 label_len=2 pred_len=3 batch=4')
quietly 0 "forward of windows" "${series[@]}" --inputs "$scratch/window.npy" --out "$scratch/forecast.npy"
succeeds "a forecast has its steps" "1 6 3	equal" \
    "$longhaul" lua "$scratch/compare.lua" "$scratch/forecast.npy" "$scratch/forecast.npy"
fails 1 "a width that does not fit" "no array of reals [rows][length][7]" "${series[@]}" \
    --inputs "$scratch/narrow.npy" --out "$scratch/no.npy"
fails 2 "neither tokens nor vectors" "needs --ids or --inputs" "$longhaul" forward --model informer --out "$scratch/no.npy"

# Text from weights, the same twice; weights under published names are read as well.
gpt2='layers=2 width=16 heads=2 context=32 window=16'
succeeds "train under published names" "bits_per_byte" "$longhaul" train --model gpt2 --options "$gpt2" \
    --task-options "$data" --train 'steps=3 warmup=2' --out "$scratch/new/folder/gpt2.safetensors" --published-names
succeeds "and without a config.json where there is none" "no config.json is written" "$longhaul" train --model linear_attention \
    --options 'layers=1 width=16 heads=2' --task-options "$data" --train 'steps=1' --out "$scratch/new/linear/model.safetensors" --published-names
generate=("$longhaul" generate --model gpt2 --options "$gpt2" --tokens bytes --weights "$scratch/new/folder/gpt2.safetensors")
fails 2 "a share of the probability is none of 90" "--top-p takes a number, 0 to 1, not '90'" \
    "${generate[@]}" --prompt "The river" --top-p 90
fails 2 "no negative temperature" "--temperature takes a number, 0 or more, not '-1'" \
    "${generate[@]}" --prompt "The river" --temperature -1
succeeds "generate" "The river" "${generate[@]}" --prompt "The river" --count 40 --top-k 5 --temperature 0.7
"${generate[@]}" --prompt "The river" --count 40 --seed 3 >"$scratch/once"
"${generate[@]}" --prompt "The river" --count 40 --seed 3 >"$scratch/twice"
quietly 0 "a seed repeats a text" cmp "$scratch/once" "$scratch/twice"
fails 2 "no prompt" "needs a --prompt" "${generate[@]}"
# A file that longhaul wrote says itself what it is of; the command line counts first.
"$longhaul" generate --weights "$scratch/new/folder/gpt2.safetensors" --prompt "The river" --count 40 --seed 3 >"$scratch/alone"
quietly 0 "generate from a weight file alone" cmp "$scratch/once" "$scratch/alone"
"$longhaul" eval --model gpt2 --options "$gpt2" --task-options "$data" --weights "$scratch/new/folder/gpt2.safetensors" >"$scratch/told"
"$longhaul" eval --weights "$scratch/new/folder/gpt2.safetensors" >"$scratch/alone"
quietly 0 "eval of a weight file alone" cmp "$scratch/told" "$scratch/alone"
succeeds "eval on other options of the task" "bits_per_byte" "$longhaul" eval --weights "$scratch/new/folder/gpt2.safetensors" \
    --task-options "evaluate_batches=1"
fails 1 "a wrong width" "the model has [72], the file [48]; here width=24" \
    "$longhaul" eval --weights "$scratch/new/folder/gpt2.safetensors" --options width=24
fails 1 "too few layers" "is none of the model's; here layers=1" \
    "$longhaul" eval --weights "$scratch/new/folder/gpt2.safetensors" --options layers=1
# Another's file says it in config.json beside it.
mkdir "$scratch/hub"
sed 's/longhaul\./elsewhere/g' "$scratch/new/folder/gpt2.safetensors" >"$scratch/hub/model.safetensors"
fails 2 "a weight file that does not say it" "does not say which model it is of" \
    "$longhaul" eval --weights "$scratch/hub" --task-options "$data"
cat >"$scratch/hub/config.json" <<'JSON'
{"model_type": "gpt2", "n_layer": 2, "n_embd": 16, "n_head": 2, "n_positions": 32, "vocab_size": 260,
 "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "tie_word_embeddings": true}
JSON
fails 2 "its vocabulary is not guessed" "does not say its vocabulary" "$longhaul" eval --weights "$scratch/hub" --task-options "$data"
"$longhaul" eval --weights "$scratch/hub" --options window=16 --task-options "$data tokens=bytes" >"$scratch/alone" 2>"$scratch/notes"
quietly 0 "eval with config.json" cmp "$scratch/told" "$scratch/alone"
quietly 1 "what config.json leaves open contradicts nothing" grep note: "$scratch/notes"
succeeds "what shapes cannot tell is noted" "model.safetensors is of heads=2; the command line says heads=4, which counts" \
    sh -c "'$longhaul' eval --weights '$scratch/hub' --options heads=4 --task-options '$data tokens=bytes' 2>&1"
succeeds "a file that longhaul wrote, too" "gpt2.safetensors is of window=16; the command line says window=8, which counts" \
    sh -c "'$longhaul' eval --weights '$scratch/new/folder/gpt2.safetensors' --options window=8 2>&1"
fails 1 "a file of another model" "gpt2.safetensors is of gpt2; the command line says lstm, which counts" \
    "$longhaul" eval --weights "$scratch/new/folder/gpt2.safetensors" --model lstm
mkdir "$scratch/torch"
printf 'PK\3\4 and what torch.save writes' >"$scratch/torch/pytorch_model.bin"
fails 1 "a folder with a PyTorch checkpoint alone" "torch/pytorch_model.bin: a PyTorch checkpoint, which could run code; write it as" \
    "$longhaul" eval --weights "$scratch/torch"
fails 1 "a folder without weights" "$scratch: a folder without model.safetensors" "$longhaul" eval --weights "$scratch"
fails 1 "a vocabulary that is not the model's" "words:train:100:generate:books has a vocabulary of 100, $scratch/new/folder/gpt2.safetensors one of 260" \
    "$longhaul" generate --weights "$scratch/new/folder/gpt2.safetensors" --tokens words:train:100:generate:books --prompt the
# Words come with the blanks between them, behind the prompt, too: this model has learnt to write "to to".
for _ in 1 2 3 4 5 6 7 8 9 10; do echo to to to to to to to to to to; done >"$scratch/to.txt"
printf '<eos>\nto\n<unk>\n' >"$scratch/to.words"
mkdir -p "$scratch/to/train" "$scratch/to/valid" "$scratch/to/test"
for split in train valid test; do tr '\n' ' ' <"$scratch/to.txt" >"$scratch/to/$split/to.txt"; done
LONGHAUL_DATA=$scratch "$longhaul" train --model lstm --options 'layers=1 width=8' --task-options "name=to segment=16 batch=2 tokens=words:$scratch/to.words" \
    --train 'steps=20 warmup=1 rate=0.1' --out "$scratch/to.safetensors" >"$scratch/told" 2>&1
"$longhaul" generate --weights "$scratch/to.safetensors" --prompt to --count 3 --temperature 0 >"$scratch/text"
quietly 0 "words with their blanks" grep -qx "to to to to" "$scratch/text"
printf 'a b\nc' >"$scratch/text.txt"
"$longhaul" tokenize --tokens bytes "$scratch/text.txt" >"$scratch/text.tokens"
quietly 0 "tokenize" grep -qx "100 35 101 13 102" "$scratch/text.tokens"
"$longhaul" detokenize --tokens bytes <"$scratch/text.tokens" >"$scratch/text.again"
quietly 0 "detokenize gives the text again" cmp "$scratch/text.again" "$scratch/text.txt"
succeeds "tokenize by lines" "100 35 101" "$longhaul" tokenize --tokens bytes --lines "$scratch/text.txt"
fails 1 "no token" "-:1: '300' is no token of the vocabulary of 260" \
    bash -c "echo 300 | '$longhaul' detokenize --tokens bytes"
fails 1 "no token behind empty lines" "-:4: 'x' is no token of the vocabulary of 260" \
    bash -c "printf '1\\n\\n\\nx\\n' | '$longhaul' detokenize --tokens bytes"
quietly 0 "forward from a weight file alone" \
    "$longhaul" forward --weights "$scratch/new/folder/gpt2.safetensors" --ids "$scratch/text.tokens" --out "$scratch/alone.npy"
succeeds "the order of gates" "gates: input, forget, cell, output" "$longhaul" describe lstm
succeeds "what norms add" "RMS norms add option epsilon" "$longhaul" describe mamba2 --published-names
succeeds "published names" "transposed" "$longhaul" describe mamba2 --published-names
fails 1 "none" "has no published names" "$longhaul" describe slide --published-names
# A model without a cache, of vectors besides: its weights have those of the adapter.
rsa=(--model rsa --options 'layers=1 width=8 heads=2 rsa_kinds=1,0,0,0,0,0')
succeeds "train through an adapter" "bits_per_byte" "$longhaul" train "${rsa[@]}" --task-options "$data" --train 'steps=3 warmup=2' \
    --out "$scratch/rsa.safetensors"
succeeds "evaluate through an adapter" "bits_per_byte" "$longhaul" eval "${rsa[@]}" --task-options "$data" --weights "$scratch/rsa.safetensors"
anew=("$longhaul" generate "${rsa[@]}" --tokens bytes --weights "$scratch/rsa.safetensors" --prompt "The river" --count 20 --segment 16)
succeeds "generate through an adapter" "The river" "${anew[@]}"
"${anew[@]}" 2>"$scratch/told" >"$scratch/text"
quietly 0 "what takes long is said once" test "$(cat "$scratch/told")" = \
    "longhaul: rsa keeps nothing from token to token: each reads its segment of up to 16 anew"
"$longhaul" generate --weights "$scratch/rsa.safetensors" --prompt "The river" --count 2 2>"$scratch/told" >"$scratch/text"
quietly 0 "the segment is that of the training" grep -q "its segment of up to 32 anew" "$scratch/told"
# An encoder of text has the segment before; one that learnt from the sources of its task would have none.
t5=(--model t5 --options 'layers=1 width=8 heads=2 hidden=8')
succeeds "train an encoder on text" "bits_per_byte" "$longhaul" train "${t5[@]}" --task-options "$data" --train 'steps=3 warmup=2' --out "$scratch/t5.safetensors"
succeeds "generate what encodes its past" "The river" "$longhaul" generate --tokens bytes --weights "$scratch/t5.safetensors" \
    --prompt "The river" --count 20 --segment 16
succeeds "train it on translation" "bleu" "$longhaul" train "${t5[@]}" --task translation --task-options 'pairs=64 batch_tokens=64' \
    --train 'steps=2 warmup=1' --out "$scratch/translator.safetensors"
fails 1 "no source to translate" "t5 learnt to answer the sources of translation" "$longhaul" generate --tokens bytes \
    --weights "$scratch/translator.safetensors" --prompt "The river" --count 3
fails 1 "weights that are not there" "data fetch gpt2" "$longhaul" generate --model gpt2 --options "$gpt2" \
    --tokens bytes --weights gpt2 --prompt x
fails 1 "a vocabulary that is not there" "data fetch gpt2" "$longhaul" generate --model gpt2 --options "$gpt2" \
    --tokens bpe:gpt2 --weights "$scratch/new/folder/gpt2.safetensors" --prompt x
fails 1 "weights with nowhere to go, before any step" "$scratch/tokens: a file is where a folder should be" "$longhaul" train \
    --model slide --train 'steps=1000000000' --out "$scratch/tokens/w"
fails 1 "no published names" "no published names" "$longhaul" train --model slide --options "$options" \
    --task-options "$data" --train 'steps=1' --out "$scratch/no.safetensors" --published-names

here=$PWD
case $longhaul in /*) ;; *) longhaul=$here/$longhaul ;; esac
# shellcheck disable=SC2317  # called by succeeds and fails
skeleton() { (cd "$scratch" && "$longhaul" new "$@"); }
cat >"$scratch/long.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "long"
for _, label in ipairs { "short", "a label that is a good deal longer than the column was" } do
  bench:row { label, model = lh.models.lstm { width = 8 }, task = lh.tasks.recall { pairs = 2 }, train = lh.train { steps = 2, warmup = 1 } }
end
return bench
LUA
quietly 0 "a long label leaves columns where they are" \
    test "$("$longhaul" list "$scratch/long.lua" | awk '{ print index($0, " lstm ") }' | sort -u | wc -l)" = 1
succeeds "rows that a figure shows of others" "RSA-Informer" "$longhaul" list experiments/rsa/figure3.lua --scale smoke
succeeds "job arrays of a figure" "job1=\$(array rsa-table1 | sbatch" \
    "$longhaul" slurm experiments/rsa/figure3.lua --scale smoke
succeeds "a new experiment" "experiments/examples/mine.lua" skeleton experiment mine
fails 1 "never over a file" "is there already" skeleton experiment mine
fails 2 "a bad name" "lower-case letters" skeleton model Bad-Name
for kind in model task kernel command metric data chart; do
    fails 1 "a new $kind outside of the tree" "here: new $kind is for the folder of a clone" skeleton $kind mine
done
fails 1 "who wants a task there makes a plug-in" "longhaul new plugin NAME --kind task" skeleton task mine
quietly 1 "and nothing is written" test -e "$scratch/models" -o -e "$scratch/harness" -o -e "$scratch/kernels"
cp --parents models/models.def harness/tasks/tasks.def harness/lua/longhaul/main.lua harness/report/kinds.lua "$scratch"
succeeds "a new model" "models/models.def" skeleton model mine
succeeds "a new task" "harness/tasks/tasks.def" skeleton task mine
succeeds "is in the list" "LH_TASK(mine)" tail -n 1 "$scratch/harness/tasks/tasks.def"
cp harness/tasks/tasks.h "$scratch/harness/tasks"
fails 1 "a plug-in of a name that a model has" "model 'brt' is there already" skeleton plugin brt
fails 1 "or a task" "task 'recall' is there already" skeleton plugin recall --kind task
fails 1 "a model of a name that one has" "model 'lstm' is there already" skeleton model lstm
quietly 1 "leaves nothing" test -e "$scratch/models/lstm.c" -o -e "$scratch/brt" -o -e "$scratch/recall"
succeeds "an experiment of a paper" "experiments/sun/table1.lua" skeleton experiment sun/table1
succeeds "is called by paper and name" 'lh.experiment "sun-table1"' cat "$scratch/experiments/sun/table1.lua"
mkdir -p "$scratch/datasets" "$scratch/harness/run"
cp datasets/sources.lua "$scratch/datasets/"
cp harness/run/metrics.lua "$scratch/harness/run/"
fails 1 "a metric that is there" "metric 'accuracy' is there already" skeleton metric accuracy
fails 1 "a corpus that is there" "data 'enwik8' is there already" skeleton data enwik8
succeeds "a new metric is a line" "harness/run/metrics.lua" skeleton metric niceness
succeeds "of the registry" "1" grep -c '^  { "niceness", "niceness", digits = 3' "$scratch/harness/run/metrics.lua"
quietly 0 "which is still Lua" luac5.4 -p "$scratch/harness/run/metrics.lua"
succeeds "a new corpus is a line" "datasets/sources.lua" skeleton data tiny
quietly 0 "among the sources, which are still Lua" luac5.4 -p "$scratch/datasets/sources.lua"
fails 1 "a command that is in a file of another name" "command 'train' is there already" skeleton command train
fails 1 "a command that no file has" "command 'help' is there already" skeleton command help
quietly 1 "leaves no file" test -e "$scratch/harness/lua/longhaul/commands/train.lua"
succeeds "a new command" "harness/lua/longhaul/main.lua" skeleton command hello
succeeds "a new kind of charts" "plots/mine.gp" skeleton chart mine
for file in models/mine.c harness/tasks/mine.c tests/harness/tasks/test_mine.c; do
    quietly 0 "$file compiles" cc -std=c11 -Wall -Wextra -Wshadow -Wmissing-prototypes -Werror \
        -D_POSIX_C_SOURCE=200809L -I"$scratch" -I. -c "$scratch/$file" -o "$scratch/object.o"
done
succeeds "the new experiment is good" "brt" "$longhaul" list "$scratch/experiments/examples/mine.lua"

fails 2 "a device that is not there says so" "no device 'tpu'" "$LONGHAUL_BIN" train --model lstm --device tpu

if command -v gnuplot >/dev/null; then
    succeeds "how far back a file repeats itself, drawn" "lags.svg" "$longhaul" dilation README.md --lags 20 --first 2000 --out "$scratch/dilation"
    succeeds "what its axis is" ">share of bytes that are as the one a lag before<" cat "$scratch/dilation-lags.svg"
    succeeds "and how much of it a recurrence plot shows" "README.md: where the first 240 bytes are alike" \
        cat "$scratch/dilation-recurrence.svg"
fi
finish
