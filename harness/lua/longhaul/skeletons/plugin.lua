-- What somebody adds without the tree: a folder with a source, what makes a shared object of it, and
-- a test. A model and a task are what the skeletons of the tree make.
local core = require "longhaul.core"
local quote = require "longhaul.run.quote"

local in_tree = {
  model = require("longhaul.skeletons.model").files[1][2],
  task = require("longhaul.skeletons.task").files[1][2],
}

-- The function by which a shared object gives its classes: `field` of lh_plugin, ABI, type.
local function gives(symbol, field, abi, type)
  return ([==[

static const TYPE *const classes[] = {&NAME_class, NULL};

static const lh_plugin plugin = {
    .magic = LH_PLUGIN_MAGIC,
    .abi_major = LH_ABI_ABI_MAJOR,
    .abi_minor = LH_ABI_ABI_MINOR,
    .class_size = sizeof(TYPE),
    .FIELD = classes,
};

const lh_plugin *SYMBOL(void);
const lh_plugin *SYMBOL(void) {
    return &plugin;
}
]==]):gsub("TYPE", type):gsub("LH_ABI", "LH_" .. abi):gsub("FIELD", field):gsub("SYMBOL", symbol)
end

local corpus = [==[
/* NAME: where its documents come from, and under which licence. */
#include "datasets/text/corpus_class.h"

#include <stdlib.h>
#include <string.h>

#include "harness/engine/text.h"

/* Document `number`: replace its text by one that is read or made; the corpus takes it over. A file
 * is added by lh_corpus_add_file, which reads it when it is first used. */
static lh_status add_document(lh_corpus *corpus, lh_split split, int64_t number) {
    char *name = lh_format("NAME/%lld", (long long)number);
    char *text = lh_format("This is document %lld, and a long one: %0500lld\n", (long long)number,
                           (long long)(number * number));
    lh_status status = LH_EMEMORY;
    if (name == NULL || text == NULL)
        free(text);
    else
        status = lh_corpus_add_text(corpus, split, name, text, strlen(text));
    free(name);
    return status;
}

static lh_status NAME_read(lh_corpus *corpus, const lh_corpus_config *config) {
    for (int64_t i = 0; i < config->documents; ++i) {
        const lh_split split = i % 10 == 8 ? LH_VALID : i % 10 == 9 ? LH_TEST : LH_TRAIN;
        LH_TRY(add_document(corpus, split, i));
    }
    return LH_OK;
}

static const lh_corpus_class NAME_class = {
    .name = "NAME",
    .summary = "one line",
    .read = NAME_read,
};
]==]

local makefile = [==[
# The plug-in NAME: `make` builds NAME.so, `make test` tries it.
# PREFIX is where longhaul was installed (`make install`, or `make install-headers`).
PREFIX   ?= /usr/local
LONGHAUL ?= longhaul
CFLAGS   ?= -O2 -g

NAME.so: NAME.c
	@test -d "$(PREFIX)/include/longhaul" || { \
	    echo "no headers of longhaul in PREFIX=$(PREFIX): in its tree say make install-headers PREFIX=FOLDER," \
	        "here make PREFIX=FOLDER"; exit 1; }
	$(CC) -std=c11 -Wall -Wextra -Wno-missing-field-initializers $(CFLAGS) -shared -fPIC \
	    -I"$(PREFIX)/include/longhaul" $< -o $@

.PHONY: test
test: NAME.so
	LONGHAUL_PLUGINS=. LONGHAUL="$(LONGHAUL)" sh test.sh
]==]

-- A test that trains: what `looks` shows it, `words` which run; `first` is tried before.
local function test(looks, words, first)
  return ([==[
#!/bin/sh
# The plug-in is found, it trains, and a run that was interrupted ends as one that was not.
set -eu
train() {
    "$LONGHAUL" train WORDS \
        --train "steps=$1 warmup=1" --snapshot "$2" 2>&1
}
fail() {
    echo "NAME: $1"
    exit 1
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$LONGHAUL" LOOKS | grep NAME >/dev/null || fail "is not found"
FIRSTwhole=$(train 8 "$folder/whole") || fail "does not train: $whole"
half=$(train 4 "$folder/parts") || fail "does not train: $half"
parts=$(train 8 "$folder/parts") || fail "does not go on: $parts"
scores() { echo "$1" | grep -E '^(bits_per_token|mse) '; }
[ "$(scores "$whole")" = "$(scores "$parts")" ] || fail "goes on as another run"
echo "NAME: $(scores "$whole")"
]==]):gsub("WORDS", words):gsub("LOOKS", looks):gsub("FIRST", first or "")
end

local books = "--task-options 'name=generate:books documents=5 document_bytes=2000 segment=32 batch=2'"

local checked = '"$LONGHAUL" check NAME --options width=16 || fail "breaks a law that every model keeps"\n'

local function folder(source, tried)
  return { { "NAME/NAME.c", source }, { "NAME/Makefile", makefile }, { "NAME/test.sh", tried } }
end

local function class_of(kind, name)
  return (in_tree[kind]:gsub("const " .. name .. " lh_NAME_class", "static const " .. name .. " NAME_class")
    :gsub("const " .. name .. " lh_model_NAME", "static const " .. name .. " NAME_class")
    :gsub("harness/tasks/tasks%.h", "harness/train/task.h"))
end

local kinds = {
  model = folder(class_of("model", "lh_model_class")
    .. gives("lh_plugin_get", "classes", "MODEL", "lh_model_class"),
    test("describe", "--model NAME " .. books, checked)),
  task = folder(class_of("task", "lh_task_class")
    .. gives("lh_plugin_get_tasks", "tasks", "TASK", "lh_task_class"),
    test("describe tasks", "--model lstm --options 'width=8 hidden=8' --task NAME")),
  data = folder(corpus .. gives("lh_plugin_get_corpora", "corpora", "CORPUS", "lh_corpus_class"),
    test("data list", "--model lstm --options 'width=8 hidden=8' "
      .. "--task-options 'name=plugin:NAME documents=20 segment=32 batch=2'")),
}

-- What to do next: with the headers that lie beside an installed program, or else with those of the tree
-- that it was built in, which are put where the folder is made.
local function next_of(program)
  local installed = program:match "^(.*)/bin$"
  if installed and core.exists(installed .. "/include/longhaul") then
    return ("make -C NAME test PREFIX=%s; LONGHAUL_PLUGINS=NAME longhaul describe"):format(quote.shell(installed))
  end
  local tree, longhaul = program:match "^(.-)/build%f[/\0]" or "TREE", quote.shell(program .. "/longhaul")
  return ('make -C %s install-headers PREFIX="$PWD/prefix"; make -C NAME test PREFIX="$PWD/prefix" LONGHAUL=%s; '
    .. "LONGHAUL_PLUGINS=NAME %s describe"):format(quote.shell(tree), longhaul, longhaul)
end

return {
  says = "an architecture, or with --kind a task or a corpus, as a shared object outside the tree",
  kinds = kinds,
  files = kinds.model,
  next = next_of(core.program_folder()),
}
