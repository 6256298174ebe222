#!/usr/bin/env bash
# Corpora: fetching through curl (from file addresses here), its sums, and importing a tree.
. tests/test.sh

mkdir -p "$scratch/remote" "$scratch/tree/project/inner" "$scratch/tree/other"
printf 'some text\n' >"$scratch/remote/small.txt"
printf 'int main;\n' >"$scratch/tree/project/a.c"
printf 'int b;\n' >"$scratch/tree/project/inner/b.c"
printf 'x\0y' >"$scratch/tree/other/binary.o"

fetch() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
local sources = {{ name = "small", licence = "none", files = {{ url = "file://$scratch/remote/$1", file = "small.txt", sha256 = $2 }} }}
require("longhaul.run.data").fetch("small", sources)
LUA
    )
}

succeeds "lists the generators" "generate:books" "$LONGHAUL_BIN" data list
succeeds "lists where parallel text comes from" "data import /usr/share/locale --translations de" "$LONGHAUL_BIN" data list
fails 2 "suggests the nearest corpus" "did you mean 'enwik8'?" "$LONGHAUL_BIN" data fetch enwik9
fails 1 "what downloads is named where it is missing" "apt-get install curl" env PATH="$scratch" "$LONGHAUL_BIN" data fetch enwik8
fails 1 "a download that fails says so" "goes on with it" fetch missing.txt nil
quietly 1 "and leaves no folder" test -e "$XDG_CACHE_HOME/longhaul/small"
mkdir -p "$XDG_CACHE_HOME/longhaul/text8"
touch "$XDG_CACHE_HOME/longhaul/text8/text8.zip.part"
succeeds "what a broken download left is no corpus" "longhaul data fetch text8" "$LONGHAUL_BIN" data list
succeeds "and nothing to verify, which is said" "nothing to verify: nothing was fetched into $XDG_CACHE_HOME/longhaul" "$LONGHAUL_BIN" data verify
succeeds "a download is kept" "small.txt" fetch small.txt nil
kept=$XDG_CACHE_HOME/longhaul/small/small.txt
fails 1 "a file that changed since is refused" "delete the file and fetch again" fetch small.txt '"00"'
succeeds "and stays" "some text" cat "$kept"
succeeds "and again is no download" "small.txt" fetch small.txt nil
rm "$kept" # its note stays
printf 'other text\n' >"$scratch/remote/small.txt"
succeeds "what was noted of a file that has gone says nothing of the next" "noted: none is known" fetch small.txt nil
rm "$kept"
fails 1 "a bad first download is taken away" "the file was removed" fetch small.txt '"00"'
quietly 1 "so that it is never trusted" test -e "$kept"
printf 'some text\n' >"$scratch/remote/small.txt"
succeeds "and the same command fetches again" "small.txt" fetch small.txt nil
printf 'changed\n' >"$XDG_CACHE_HOME/longhaul/small/small.txt"
fails 1 "a changed file is noticed" "expected" fetch small.txt nil
rm "$XDG_CACHE_HOME/longhaul/small/"*
mkdir "$scratch/whole"
cat >"$scratch/whole/curl" <<SH
#!/bin/sh
while [ "\$1" != --output ]; do shift; done
[ ! -e "\$2" ] || exit 33
cp "$scratch/remote/small.txt" "\$2"
SH
chmod +x "$scratch/whole/curl"
printf 'SOME' >"$kept.part"
PATH=$scratch/whole:$PATH succeeds "a broken download begins anew where a server gives whole files alone" "small.txt" fetch small.txt nil
succeeds "and is whole" "some text" cat "$kept"
rm "$XDG_CACHE_HOME/longhaul/small/"*
printf 'SOME' >"$XDG_CACHE_HOME/longhaul/small/small.txt.part" # its capitals show that it was kept
sum=$(printf 'SOME text\n' | sha256sum | cut -d ' ' -f 1)
succeeds "a broken download goes on where it stopped" "$sum" fetch small.txt "\"$sum\""

succeeds "whatever the cache folder is called" "noted: none is known" env XDG_CACHE_HOME="$scratch/a\\b" bash -c "$(declare -f fetch)
    scratch='$scratch' fetch small.txt nil"

# What somebody imported under the name of a public corpus.
mkdir -p "$scratch/elsewhere"
mv "$XDG_CACHE_HOME/longhaul/small" "$scratch/elsewhere"
"$LONGHAUL_BIN" data import "$scratch/tree" --name small >"$scratch/imported"
fails 1 "a fetch into another's corpus is refused" "longhaul/small holds another corpus" fetch small.txt nil
quietly 1 "and brings nothing" test -e "$XDG_CACHE_HOME/longhaul/small/small.txt"
rm -r "$XDG_CACHE_HOME/longhaul/small"
mv "$scratch/elsewhere/small" "$XDG_CACHE_HOME/longhaul"
fetch_books() {
    printf '{ "items": [ { "name": "train/1.txt" } ] }' >"$scratch/remote/bucket"
    mkdir -p "$scratch/remote/train"
    printf 'a book\n' >"$scratch/remote/train/1.txt"
    "$LONGHAUL_BIN" lua <(cat <<LUA
require("longhaul.run.data").fetch("shelf", {{ name = "shelf", licence = "none", bucket = "file://$scratch/remote/${1:-bucket}",
    download = "file://$scratch/remote/", folders = { { "train", "train" } } }})
LUA
    )
}
mkdir -p "$XDG_CACHE_HOME/longhaul/shelf/train"
printf 'mine\n' >"$XDG_CACHE_HOME/longhaul/shelf/train/mine.txt"
fails 1 "nor does a bucket come into one" "longhaul/shelf/train holds another corpus" fetch_books
rm -r "$XDG_CACHE_HOME/longhaul/shelf"
succeeds "but where there is none" "shelf (none) is in" fetch_books
succeeds "whole" "a book" cat "$XDG_CACHE_HOME/longhaul/shelf/train/1.txt"
succeeds "and once more" "shelf (none) is in" fetch_books

fails 1 "a list that cannot be had says so" "remote/gone?prefix=train/&fields=items(name),nextPageToken: the download failed" \
    fetch_books gone

fails 2 "a language is letters" "no language" "$LONGHAUL_BIN" data import "$scratch" --translations ../de
fails 1 "a corpus has a name that a folder can have" "no name for a corpus" \
    "$LONGHAUL_BIN" data import "$scratch" --translations de --name ..
if [ -d /usr/share/locale/de/LC_MESSAGES ]; then
    succeeds "catalogues of this machine become parallel text" "messages-en-de" \
        "$LONGHAUL_BIN" data import /usr/share/locale/ --translations de
    succeeds "which a model can be trained on" "bleu" "$LONGHAUL_BIN" train --model reformer_encoder_decoder \
        --options 'layers=1 width=16 heads=2 positions=512' --task translation \
        --task-options 'name=messages-en-de tokens=bytes batch_tokens=256 evaluate_pairs=2' --train 'steps=2 warmup=1'
fi

{
    echo date,load,price
    for day in $(seq 10 28); do echo "2020-01-$day,$day,1"; done
    echo 2020-01-29,,1
} >"$scratch/load.csv"
fails 2 "a table says of which kind it is" "load.csv is a table: --kind series" "$LONGHAUL_BIN" data import "$scratch/load.csv"
fails 2 "a kind is one of two" "did you mean 'series'?" "$LONGHAUL_BIN" data import "$scratch/load.csv" --kind serie
fails 2 "columns are a series'" "--columns is for --kind series" "$LONGHAUL_BIN" data import "$scratch/load.csv" --kind text --columns load
fails 2 "nor parallel text's" "--columns is for --kind series" "$LONGHAUL_BIN" data import "$scratch" --translations de --columns load
fails 2 "which is of one kind" "--kind and --translations" "$LONGHAUL_BIN" data import "$scratch" --translations de --kind text
fails 2 "folders are joined of texts" "--join-folders is for --kind text" "$LONGHAUL_BIN" data import "$scratch/load.csv" --kind series \
    --join-folders
head -n 3 "$scratch/load.csv" >"$scratch/few.csv"
fails 1 "a series that is too short is named as it is called" "$scratch/few.csv (2 rows in $scratch/few.csv): the training split" \
    "$LONGHAUL_BIN" data import "$scratch/few.csv" --kind series
fails 2 "a rule is one of two" "did you mean 'forward'?" "$LONGHAUL_BIN" data import "$scratch/load.csv" --kind series --missing foward
fails 1 "a cell without a value is refused" "load.csv: line 21, column 'load'" "$LONGHAUL_BIN" data import "$scratch/load.csv" --kind series
succeeds "or takes the last one" "1 value carried forward (load 1), in $XDG_CACHE_HOME/longhaul/load" \
    "$LONGHAUL_BIN" data import "$scratch/load.csv" --kind series --missing forward --columns load
succeeds "a series is found by its name" "load (20 rows with 1 value carried forward in load/load.csv)" "$LONGHAUL_BIN" train --model dlinear --task forecasting \
    --task-options 'name=load seq_len=2 label_len=1 pred_len=1 batch=2' --train 'steps=2 warmup=1'

echo none >"$XDG_CACHE_HOME/longhaul/load/load.csv.carried"
fails 1 "a note of what was carried forward has a number" "load.csv.carried: says no number" "$LONGHAUL_BIN" train --model dlinear \
    --task forecasting --task-options 'name=load seq_len=2 label_len=1 pred_len=1 batch=2' --train 'steps=2 warmup=1'

# verify SUM: compares what was fetched
verify() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
local sources = {{ name = "small", licence = "none", files = {{ url = "file:///x", file = "small.txt", sha256 = $1 }} }}
if not require("longhaul.run.data").verify(nil, sources) then os.exit(1) end
LUA
    )
}
succeeds "verify finds what was published" "small.txt  as published" verify "\"$sum\""
succeeds "or what was fetched first" "as first fetched; no sha256 is known" verify nil
printf 'changed\n' >"$kept"
fails 1 "and what has changed" "small.txt  has CHANGED" verify nil
rm "$kept"
fails 1 "or has gone" "small.txt  is missing" verify nil
succeeds "verify of nothing fetched" "nothing to verify" "$LONGHAUL_BIN" data verify
succeeds "the list says which sums are known" "wikitext-103 (Wikipedia text, CC BY-SA; sha256 known)" "$LONGHAUL_BIN" data list
succeeds "and which are not" "no sha256 is known" "$LONGHAUL_BIN" data list
succeeds "or of some files only" "sha256 known of 2 of 3 files" "$LONGHAUL_BIN" data list
(cd "$scratch" && head -c 200000000 /dev/zero >zeros && { python3 -c 'import zipfile; zipfile.ZipFile("remote/bomb.zip", "w", zipfile.ZIP_DEFLATED).write("zeros")'; rm zeros; })
fetch_bomb() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
require("longhaul.run.data").fetch("bomb", {{ name = "bomb", licence = "none", files = {{ url = "file://$scratch/remote/bomb.zip", file = "bomb.zip", unpack = "unzip" }} }})
LUA
    )
}
fails 1 "an archive that would fill the disk is not unpacked" "bomb.zip: unpacks to 200000000 bytes, more than a hundred times" fetch_bomb

# Weights in PyTorch's format become safetensors; a Python of our own stands in for one that has torch.
fetch_weights() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
local sources = {{ name = "weights", licence = "none", files = {{ url = "file://$scratch/remote/small.txt", file = "pytorch_model.bin",
  unpack = "pytorch" }} }}
require("longhaul.run.data").fetch("weights", sources)
LUA
    )
}
mkdir -p "$scratch/bin"
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/python3"
chmod +x "$scratch/bin/python3"
fails 1 "without torch the conversion says what it takes" "pip install torch safetensors" env PATH="$scratch/bin:$PATH" bash -c \
    "$(declare -f fetch_weights); scratch=$scratch; fetch_weights"
# shellcheck disable=SC2016  # the inner shell expands them
printf '#!/bin/sh\ncase $2 in *weights_only=True*) cp "$3" "$4" ;; *) exit 1 ;; esac\n' >"$scratch/bin/python3"
succeeds "the same command goes on" "is in" env PATH="$scratch/bin:$PATH" bash -c \
    "$(declare -f fetch_weights); scratch=$scratch; fetch_weights"
succeeds "and leaves model.safetensors" "some text" cat "$XDG_CACHE_HOME/longhaul/weights/model.safetensors"

succeeds "an import says that it lies where people wipe" "a cache folder: keep what this was made of" \
    "$LONGHAUL_BIN" data import "$scratch/tree" --name wiped
succeeds "imports a folder as a document" "2 documents" "$LONGHAUL_BIN" data import "$scratch/tree" --name code --join-folders
succeeds "and leaves binaries out" "code" ls "$XDG_CACHE_HOME/longhaul"
fails 1 "names a missing folder" "no such file or folder" "$LONGHAUL_BIN" data import "$scratch/nowhere"
seq 2000 >"$scratch/counted.txt"
gzip -kc "$scratch/counted.txt" >"$scratch/packed.txt.gz"
train_on() { "$LONGHAUL_BIN" train --model lstm --options 'hidden=8 width=8' --train 'steps=2 warmup=1' --task-options "segment=8 batch=1 name=$1"; }
succeeds "imports a file of text" "counted: 8.89K bytes in one file" "$LONGHAUL_BIN" data import "$scratch/counted.txt"
"$LONGHAUL_BIN" data import "$scratch/packed.txt.gz" >"$scratch/imported"
train_on counted >"$scratch/by_name" 2>&1
train_on "$scratch/counted.txt" >"$scratch/by_path" 2>&1
train_on packed >"$scratch/by_packed" 2>&1
succeeds "which is read as the file is by its path" "1 to test" grep "1 to test" "$scratch/by_path"
for how in by_name by_packed; do
    succeeds "and tests the same, $how" "$(grep bits_per_token "$scratch/by_path")" grep bits_per_token "$scratch/$how"
done
printf 'a\0b' >"$scratch/nul.txt"
gzip -k "$scratch/nul.txt"
for file in nul.txt nul.txt.gz; do
    fails 1 "$file with a NUL byte is no text" "there is no text in it" "$LONGHAUL_BIN" data import "$scratch/$file"
    fails 1 "nor is it read as such" "$file: has a NUL byte: no text" train_on "$scratch/$file"
done
for i in $(seq 100); do printf '{"text": "hello %d"}\n["hi", "who is it?"]\n' "$i"; done >"$scratch/talk.jsonl"
succeeds "imports JSON lines" "bytes of JSON lines" "$LONGHAUL_BIN" data import "$scratch/talk.jsonl" --name reddit
succeeds "which train like any corpus" "bits_per_token" "$LONGHAUL_BIN" train --model lstm --options 'hidden=8 width=8' \
    --task-options 'name=reddit segment=8 batch=1' --train 'steps=2 warmup=1'
mkdir -p "$scratch/splits"
printf '{"body": "good morning"}\n' >"$scratch/splits/train.jsonl"
printf '{"body": "hello again"}\n' | tee "$scratch/splits/valid.jsonl" >"$scratch/splits/test.jsonl"
succeeds "imports a folder of JSON lines" "bytes of JSON lines" "$LONGHAUL_BIN" data import "$scratch/splits/" --name web
succeeds "whose files are its splits" "bits_per_token" "$LONGHAUL_BIN" train --model lstm --options 'hidden=8 width=8' \
    --task-options 'name=web field=body segment=4 batch=1' --train 'steps=2 warmup=1'
fails 1 "and names a line without the field" "jsonl: line 1: no field 'text'" "$LONGHAUL_BIN" train --model lstm \
    --task-options 'name=web' --train 'steps=2 warmup=1'
rm "$XDG_CACHE_HOME/longhaul/web/test.jsonl"
succeeds "of which the validation split may stand in for the test split" "no test split: the validation split is read" \
    "$LONGHAUL_BIN" train --model lstm --options 'hidden=8 width=8' \
    --task-options 'name=web field=body segment=4 batch=1' --train 'steps=2 warmup=1'
untested() {
    "$LONGHAUL_BIN" train --model lstm --options 'hidden=8 width=8' --task-options "name=$1 segment=4 batch=1" \
        --train 'steps=1000000000' --out "$scratch/lost.safetensors"
}
mkdir -p "$XDG_CACHE_HOME/longhaul/only/train"
printf 'some text' >"$XDG_CACHE_HOME/longhaul/only/train/a.txt"
fails 1 "with a training split alone no step is taken" "no documents of the test split, which is evaluated (train has 1, valid 0, test 0)" untested only
mkdir -p "$XDG_CACHE_HOME/longhaul/bare/train" "$XDG_CACHE_HOME/longhaul/bare/test"
printf 'some text' >"$XDG_CACHE_HOME/longhaul/bare/train/a.txt"
printf 'a' >"$XDG_CACHE_HOME/longhaul/bare/test/a.txt"
fails 1 "nor with an empty one" "evaluate: the test split has nothing to predict" untested bare

# What is imported is what is read in place: packed files, empty ones, JSON lines among others, and their splits.
mkdir -p "$scratch/mixed" "$scratch/mixed_splits"/{train,test}
for i in $(seq 30); do printf 'text %d\n' "$i" >"$scratch/mixed/$i.txt"; done
gzip "$scratch"/mixed/1*.txt
gzip -kc "$scratch/mixed/2.txt" >"$scratch/mixed/2.txt.gz"
touch "$scratch/mixed/empty.txt"
gzip -c /dev/null | tee "$scratch/mixed/hollow.gz" >"$scratch/mixed/hollow.jsonl.gz"
for i in $(seq 40); do printf '{"text": "line %d"}\n\n' "$i"; done >"$scratch/mixed/notes.jsonl"
gzip -k "$scratch/mixed/notes.jsonl"
cp "$scratch/mixed/2.txt" "$scratch/mixed/notes.jsonl" "$scratch/mixed_splits/train"
cp "$scratch/mixed/1.txt.gz" "$scratch/mixed/notes.jsonl.gz" "$scratch/mixed_splits/test"
# documents_of NAME: "data: ... N to train, N to validate, N to test", without the name
documents_of() { train_on "$1" 2>&1 | grep -o '[0-9]* documents\|[0-9]* to train.*'; }
for corpus in mixed mixed_splits; do
    "$LONGHAUL_BIN" data import "$scratch/$corpus" >"$scratch/imported"
    documents_of "$scratch/$corpus" >"$scratch/in_place"
    succeeds "$corpus in place has documents" "to test" cat "$scratch/in_place"
    succeeds "and as many in each split when imported" "$(cat "$scratch/in_place")" documents_of "$corpus"
done
succeeds "of which an import tells" "82 documents" cat "$scratch/imported"
quietly 0 "a text is what it was" cmp "$scratch/mixed_splits/train/2.txt" "$XDG_CACHE_HOME"/longhaul/mixed_splits/train/train-2.txt-*
printf 'no JSON\n' >"$scratch/mixed_splits/train/bad.jsonl"
fails 1 "a line that is none is named also among other files" "bad.jsonl: line 1" "$LONGHAUL_BIN" data import "$scratch/mixed_splits" --replace
printf 'text\n' >"$scratch/mixed_splits/train/2.txt"
succeeds "joined, they are text" "2 documents" "$LONGHAUL_BIN" data import "$scratch/mixed_splits" --name joined_lines --join-folders
mkdir -p "$scratch/lines_alone/a" "$scratch/lines_alone/b"
printf '{"text": "one"}\n{"text": "two"}\n' | tee "$scratch/lines_alone/a/x.jsonl" >"$scratch/lines_alone/b/y.jsonl"
succeeds "also where there are no others" "2 documents" "$LONGHAUL_BIN" data import "$scratch/lines_alone" --name joined_alone --join-folders
mkdir "$scratch/alone"
touch "$scratch/alone/empty.txt"
cp "$scratch/counted.txt" "$scratch/alone"
succeeds "beside an empty file one of text is alone" "1 to test" documents_of "$scratch/alone/"
rm "$scratch"/alone/*.txt
mkdir "$scratch/alone/inner"
cp "$scratch/counted.txt" "$scratch/alone/inner"
succeeds "and in an inner folder a document" "1 documents" "$LONGHAUL_BIN" data import "$scratch/alone" --name inner
fails 1 "names a missing file" "no such file" "$LONGHAUL_BIN" data import "$scratch/nowhere.jsonl"
fails 2 "wants an action" "no action" "$LONGHAUL_BIN" data lsit


# Documents keep apart whatever their files are called, and a tree that links to itself is read once.
mkdir -p "$scratch/names/a" "$scratch/names/deep"
for name in a/b.txt a_b.txt 'a b.txt' a-b.txt x.jsonl.txt; do printf 'text of %s\n' "$name" >"$scratch/names/$name"; done
printf '{"text": "lines"}\n' | tee "$scratch/names/x.jsonl" >"$scratch/names/deep/x.jsonl"
ln -s .. "$scratch/names/a/up"
ln -s ../a "$scratch/names/deep/side"
succeeds "every file is a document" "7 documents" "$LONGHAUL_BIN" data import "$scratch/names" --name names
count() { find "$XDG_CACHE_HOME/longhaul/$1" -type f | wc -l; }
succeeds "of its own" "7" count names
cp -r "$scratch/names" "$scratch/moved"
succeeds "also where the tree lies elsewhere" "7 documents" "$LONGHAUL_BIN" data import "$scratch/moved" --name names --replace
succeeds "with the same names" "7" count names
mkdir "$scratch/linked"
cp -r "$scratch/names" "$scratch/linked"
listed() { LONGHAUL_DATA=$scratch/linked timeout 60 "$LONGHAUL_BIN" data list | tr -s ' ' | grep "^$1"; }
succeeds "and listed once" "names 7 " listed names
mkdir "$scratch/linked/tokens" && echo text >"$scratch/linked/tokens/a.txt"
succeeds "data may be called as a folder of the cache is" "$scratch/linked" listed tokens

# A document is of the split that its folder or its name says, where all say one; else of that of its hash.
mkdir -p "$scratch/called" "$scratch/folders/train" "$scratch/folders/valid" "$scratch/sources/test" "$scratch/sources/src"
for split in train valid test; do printf 'text of %s\n' "$split" >"$scratch/called/novels.$split.txt"; done
for i in 1 2 3 4 5 6 7 8 9; do
    printf 'train %s\n' "$i" >"$scratch/folders/train/$i.txt"
    printf 'valid %s\n' "$i" >"$scratch/folders/valid/$i.txt"
    printf 'test %s\n' "$i" >"$scratch/sources/test/$i.c"
    printf 'source %s\n' "$i" >"$scratch/sources/src/$i.c"
done
for corpus in called folders sources; do "$LONGHAUL_BIN" data import "$scratch/$corpus" >/dev/null; done
succeeds "files called after splits are these" "text of test" cat "$XDG_CACHE_HOME"/longhaul/called/test/*
# lengths CORPUS: how many documents its splits have
lengths() { for split in train valid test; do printf '%d ' "$(count "$1/$split" 2>/dev/null)"; done; }
succeeds "and no others" "1 1 1" lengths called
succeeds "folders of splits are these" "9 9 0" lengths folders
succeeds "with what lay in them" "valid 3" cat "$XDG_CACHE_HOME"/longhaul/folders/valid/*
succeeds "a folder test/ among sources is none" "18" count sources
succeeds "so that its files are trained on" "test" cat "$XDG_CACHE_HOME"/longhaul/sources/train/*
mkdir -p "$scratch/trained/train" "$scratch/held_out"/{valid,test,src} "$scratch/joined_names"/wiki.{train,test}
for file in trained/train/1.txt trained/README.md held_out/{valid,test,src}/1.c joined_names/wiki.{train,test}/1.txt; do
    echo "$file" >"$scratch/$file"
done
succeeds "nor is a folder train/ alone" "2 documents" "$LONGHAUL_BIN" data import "$scratch/trained"
fails 1 "without train/ nothing lies beside splits" "'src/1.c' is not" "$LONGHAUL_BIN" data import "$scratch/held_out"
"$LONGHAUL_BIN" data import "$scratch/joined_names" --join-folders >/dev/null
succeeds "a folder that is a document is called after no split" "1 1 0" lengths joined_names

# What is read in place of a folder is imported of it, and no more: nothing is trained on that is tested on there.
mkdir -p "$scratch"/parted/{train,dev,test} "$scratch"/parted_lines/{train,test} "$scratch/halved" "$scratch/named_lines"
for i in $(seq 9); do for split in train dev test; do printf '%s %s\n' "$split" "$i" >"$scratch/parted/$split/$i.txt"; done; done
printf 'what this is\n' | tee "$scratch/parted/README.md" >"$scratch/parted_lines/README.md"
touch "$scratch/parted/train/empty.txt"
for split in train test; do printf '{"text": "%s"}\n' "$split" >"$scratch/parted_lines/$split/a.jsonl"; done
succeeds "folders of splits are imported alone" "27 documents, 189 bytes; 1 files beside the folders of its splits were left out" \
    "$LONGHAUL_BIN" data import "$scratch/parted"
succeeds "each as itself, dev/ to validate" "9 9 9" lengths parted
succeeds "as in its place" "9 to validate, 9 to test" train_on "$scratch/parted/"
succeeds "JSON lines of such folders, too" "2 documents, 35 bytes of JSON lines; 1 files" "$LONGHAUL_BIN" data import "$scratch/parted_lines"
for split in train valid; do
    seq 9 >"$scratch/halved/$split.txt"
    printf '{"text": "%s"}\n' "$split" >"$scratch/named_lines/$split.jsonl"
done
touch "$scratch/halved/empty.txt"
succeeds "an empty file hides no split" "2 documents" "$LONGHAUL_BIN" data import "$scratch/halved"
succeeds "of the others" "1 1 0" lengths halved
printf 'more\n' >"$scratch/halved/more.txt"
fails 1 "a file of no split among those of splits is refused" "'more.txt' is not: move such files away, or every file into one of" \
    "$LONGHAUL_BIN" data import "$scratch/halved" --replace
succeeds "but not where a document is a folder" "1 documents" "$LONGHAUL_BIN" data import "$scratch/halved" --name joined --join-folders
printf 'what this is\n' >"$scratch/named_lines/README.md"
fails 1 "nor are JSON lines copied as text beside it" "'README.md' is not" "$LONGHAUL_BIN" data import "$scratch/named_lines"
mv "$scratch/named_lines/README.md" "$scratch/more.md"
printf '{"text": "more"}\n' >"$scratch/named_lines/extra.jsonl"
fails 1 "nor into a corpus that cannot be opened" "'extra.jsonl' is not" "$LONGHAUL_BIN" data import "$scratch/named_lines"
mkdir "$scratch/named_lines/test"
mv "$scratch/named_lines/valid.jsonl" "$scratch/named_lines/test"
fails 1 "nor where a folder that is a split would hide them" "'extra.jsonl' is not" "$LONGHAUL_BIN" data import "$scratch/named_lines"
rm "$scratch/named_lines/train.jsonl"
fails 1 "also where there is no other split" "'extra.jsonl' is not" "$LONGHAUL_BIN" data import "$scratch/named_lines"
quietly 1 "and nothing is left" test -e "$XDG_CACHE_HOME/longhaul/named_lines"

# A corpus is one import: another of its name is refused, or takes its place.
mkdir -p "$scratch/da/corp" "$scratch/db/corp" "$scratch/data/other"
printf 'one\n' >"$scratch/da/corp/a.txt"
printf 'two\n' >"$scratch/db/corp/b.txt"
printf 'three\n' >"$scratch/data/other/c.txt"
succeeds "a first corpus" "4 bytes in one file" "$LONGHAUL_BIN" data import "$scratch/da/corp"
fails 1 "another of its name is refused" "longhaul/corp is there already: --name NAME gives this corpus another name, --replace puts" \
    "$LONGHAUL_BIN" data import "$scratch/db/corp"
succeeds "and was not mixed into it" "1" count corp
fails 1 "a corpus of LONGHAUL_DATA would be read in its place" "data/other is there already" \
    env LONGHAUL_DATA="$scratch/data" "$LONGHAUL_BIN" data import "$scratch/db/corp" --name other --replace
fails 1 "what fails takes nobody's place" "no such file or folder" "$LONGHAUL_BIN" data import "$scratch/none" --name corp --replace
printf '7\n' >"$scratch/seven.jsonl"
fails 1 "nor does what is no document" "seven.jsonl" "$LONGHAUL_BIN" data import "$scratch/seven.jsonl" --name corp --replace
succeeds "the first is still there" "one" grep -rh one "$XDG_CACHE_HOME/longhaul/corp"
succeeds "with --replace the other is" "4 bytes in one file" "$LONGHAUL_BIN" data import "$scratch/db/corp" --replace
succeeds "alone" "1" count corp

# Two at once write into folders of one name.
import_amid_import() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
local core, data = require "longhaul.core", require "longhaul.run.data"
data.make("both", false, function(folder)
  core.write_file(folder .. "/first.txt", "first")
  os.execute "$LONGHAUL_BIN data import $scratch/db/corp --name both 2>&1"
end)
print(table.concat(core.list_folder(core.cache_folder() .. "/both"), " "))
LUA
    )
}
succeeds "a second import of a name is refused" "longhaul/both is being made by another process" import_amid_import
succeeds "and the first is alone" "1" count both

# A program rm that ends who asked for it once it has removed some of what it was to.
mkdir "$scratch/deadly"
cat >"$scratch/deadly/rm" <<'RM'
#!/usr/bin/env bash
folder=${!#}
/bin/rm -f "$(find "$folder" -type f | head -n 1)"
process=$PPID
until [[ $(cat "/proc/$process/comm") == longhaul ]]; do read -r _ _ _ process _ <"/proc/$process/stat"; done
kill -KILL "$process"
RM
chmod +x "$scratch/deadly/rm"
mkdir "$scratch/many" "$scratch/more"
for i in 1 2 3; do
    printf 'many %d\n' $i >"$scratch/many/$i.txt"
    printf 'more %d\n' $i >"$scratch/more/$i.txt"
done
said_by() { find "$XDG_CACHE_HOME/longhaul/$1" -type f -exec cut -d ' ' -f 1 {} + | sort | uniq -c; }
succeeds "a corpus of three" "3 documents" "$LONGHAUL_BIN" data import "$scratch/many" --name killed
quietly 137 "an import that is killed as it takes a corpus' place" \
    env PATH="$scratch/deadly:$PATH" "$LONGHAUL_BIN" data import "$scratch/more" --name killed --replace
succeeds "leaves no half of one" "3 more" said_by killed
succeeds "the same command goes on" "3 documents" "$LONGHAUL_BIN" data import "$scratch/more" --name killed --replace
mv "$XDG_CACHE_HOME/longhaul/killed" "$XDG_CACHE_HOME/longhaul/.killed.old"
fails 1 "what stepped aside and was never replaced goes back" "killed is there already" \
    "$LONGHAUL_BIN" data import "$scratch/many" --name killed
succeeds "whole" "3 more" said_by killed
quietly 1 "and nothing is left of it beside" test -e "$XDG_CACHE_HOME/longhaul/.killed.old"

for name in tokens vocabularies Tokens digests rates.csv.lock matches.csv; do
    fails 1 "'$name' is the program's own" "is no name for a corpus: the cache folder has" "$LONGHAUL_BIN" data import "$scratch/names" --name "$name"
done
for name in '' . .. ../../x /x a/b -x .x; do
    fails 1 "'$name' is no name for a corpus" "is no name for a corpus" "$LONGHAUL_BIN" data import "$scratch/names" "--name=$name"
done
quietly 1 "nothing was written outside" test -e "$XDG_CACHE_HOME/x"
mkdir -p "$scratch/empty/inner" "$scratch/blank"
fails 1 "an empty folder is an error" "there is no file in it" "$LONGHAUL_BIN" data import "$scratch/empty"
printf '\0' >"$scratch/blank/x"
fails 1 "and so is one without text" "there is no text in it" "$LONGHAUL_BIN" data import "$scratch/blank"
printf '{"text": "good"}\n{"text": bad}\n' >"$scratch/bad.jsonl"
fails 1 "a line that is no JSON is named" "bad.jsonl: line 2, column" "$LONGHAUL_BIN" data import "$scratch/bad.jsonl"
printf '{"text": "good"}\n7\n' >"$scratch/seven.jsonl"
fails 1 "and one that is no document" "seven.jsonl: line 2: neither an object nor an array" "$LONGHAUL_BIN" data import "$scratch/seven.jsonl"
quietly 1 "nothing of it is kept" test -e "$XDG_CACHE_HOME/longhaul/bad"
gzip -k "$scratch/talk.jsonl"
cat "$scratch/talk.jsonl.gz" "$scratch/talk.jsonl.gz" >"$scratch/twice.jsonl.gz"
succeeds "all members of a gzip file are read" "400 documents" "$LONGHAUL_BIN" data import "$scratch/twice.jsonl.gz"
head -c 300 "$scratch/talk.jsonl.gz" >"$scratch/cut.jsonl.gz"
fails 1 "a truncated one is named" "cut.jsonl.gz: cannot be unpacked" "$LONGHAUL_BIN" data import "$scratch/cut.jsonl.gz"
cp "$scratch/talk.jsonl" "$scratch/plain.jsonl.gz"
fails 1 "and one that is none" "plain.jsonl.gz: cannot be unpacked" "$LONGHAUL_BIN" data import "$scratch/plain.jsonl.gz"
head -c 200000000 /dev/zero | gzip -1 >"$scratch/bomb.jsonl.gz"
fails 1 "one that would fill the memory is not unpacked" "bomb.jsonl.gz: unpacks to more than" "$LONGHAUL_BIN" data import "$scratch/bomb.jsonl.gz" --name heavy

finish
