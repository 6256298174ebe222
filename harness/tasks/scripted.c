/* Tasks whose examples a Lua file makes: of tokens, and of vectors.
 *
 * A batch row reads one example, whole or segment by segment; rows begin and end together, and what
 * lies behind an example's end has weight 0. Training never sees an example twice; a pass hands out
 * the held-out ones, and its last batches may have empty rows. */
#include "harness/tasks/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "harness/engine/text.h"
#include "harness/tasks/lua_examples.h"
#include "harness/train/batch.h"

/* Raised by whoever changes what a file makes of a key. */
enum { VERSION = 1 };

/* Where a stream stands, and its examples under way: each array is [segments][rows][segment] and so
 * many numbers wide, a batch after the other. */
typedef struct stream {
    lh_split split;
    int64_t rows, examples; /* of a batch; in all, -1: without end */
    int64_t next;           /* batches handed out */
    int64_t loaded;         /* the group of examples in the arrays, one for each row; -1: none */
    lh_example store;
} stream;

typedef struct scripted {
    const char *file, *parameters;
    int64_t rows, segment, held_out, data_seed;
    uint64_t seed;
    lh_lua_examples *examples;
    lh_example_sizes sizes;
    int64_t segments;
    lh_example row; /* the example made last */
    stream train, pass;
    bool passing;
    int32_t *starts;
} scripted;

/* ---- arrays ---- */

static lh_status allocate_example(const scripted *task, int64_t positions, lh_example *out) {
    const lh_example_sizes *sizes = &task->sizes;
    const size_t count = (size_t)positions, inputs = (size_t)sizes->inputs,
                 outputs = (size_t)sizes->outputs;
    if (sizes->vocabulary > 0) {
        out->tokens = lh_allocate(count * sizeof *out->tokens);
        out->targets = lh_allocate(count * sizeof *out->targets);
        out->weights = lh_allocate(count * sizeof *out->weights);
        return out->tokens && out->targets && out->weights ? LH_OK : LH_EMEMORY;
    }
    out->inputs = lh_allocate(count * inputs * sizeof *out->inputs);
    out->outputs = lh_allocate(count * outputs * sizeof *out->outputs);
    out->weights = lh_allocate(count * outputs * sizeof *out->weights);
    return out->inputs && out->outputs && out->weights ? LH_OK : LH_EMEMORY;
}

static void free_example(lh_example *example) {
    free(example->tokens);
    free(example->targets);
    free(example->inputs);
    free(example->outputs);
    free(example->weights);
}

/* Numbers of a target, each with its weight. */
static int64_t outputs_of(const scripted *task) {
    return task->sizes.vocabulary > 0 ? 1 : task->sizes.outputs;
}

/* ---- examples to batches ---- */

/* Training draws from the run's seed, the held-out splits from `data_seed`. */
static lh_status make(scripted *task, lh_lua_examples *examples, lh_split split, int64_t index,
                      const lh_example *out) {
    const lh_random_key key = {.seed = split == LH_TRAIN ? task->seed : (uint64_t)task->data_seed,
                               .step = (uint64_t)index,
                               .stream = LH_STREAM_DATA,
                               .op = 1 + (uint32_t)split};
    const lh_status status = lh_lua_examples_make(examples, key, split, out);
    if (status != LH_OK) lh_note("example %lld", (long long)index);
    return status;
}

/* Copies [length] positions of `bytes` to row r of [segments][rows][segment]; NULL: empty ones. */
static void put_row(const scripted *task, const stream *s, int64_t r, size_t bytes,
                    const void *from, void *to) {
    if (to == NULL) return;
    const int64_t segment = task->segment;
    for (int64_t k = 0; k < task->segments; ++k) {
        const int64_t left = task->sizes.length - k * segment;
        const int64_t count = from == NULL ? 0 : left < segment ? left : segment;
        char *place = (char *)to + (size_t)((k * s->rows + r) * segment) * bytes;
        if (count > 0)
            memcpy(place, (const char *)from + (size_t)(k * segment) * bytes,
                   (size_t)count * bytes);
        memset(place + (size_t)count * bytes, 0, (size_t)(segment - count) * bytes);
    }
}

static void put_example(const scripted *task, const stream *s, int64_t r, const lh_example *from) {
    const size_t inputs = (size_t)task->sizes.inputs, outputs = (size_t)outputs_of(task);
    put_row(task, s, r, sizeof(int32_t), from->tokens, s->store.tokens);
    put_row(task, s, r, sizeof(int32_t), from->targets, s->store.targets);
    put_row(task, s, r, inputs * sizeof(real), from->inputs, s->store.inputs);
    put_row(task, s, r, outputs * sizeof(real), from->outputs, s->store.outputs);
    put_row(task, s, r, outputs * sizeof(real), from->weights, s->store.weights);
}

static lh_status load_group(scripted *task, stream *s, int64_t group) {
    static const lh_example empty;
    s->loaded = -1;
    for (int64_t r = 0; r < s->rows; ++r) {
        const int64_t index = group * s->rows + r;
        const bool is_there = s->examples < 0 || index < s->examples;
        if (is_there) LH_TRY(make(task, task->examples, s->split, index, &task->row));
        put_example(task, s, r, is_there ? &task->row : &empty);
    }
    s->loaded = group;
    return LH_OK;
}

/* The next batch of a stream; of none rows at the end of a pass. */
static lh_status next_batch(scripted *task, stream *s, lh_host_batch *out) {
    const int64_t group = s->next / task->segments, part = s->next % task->segments;
    *out = (lh_host_batch){0};
    if (s->examples >= 0 && group * s->rows >= s->examples) return LH_OK;
    if (s->loaded != group) LH_TRY(load_group(task, s, group));
    for (int64_t r = 0; r < s->rows; ++r)
        task->starts[r] = part == 0;
    const int64_t first = part * s->rows * task->segment;
    *out = (lh_host_batch){.rows = s->rows,
                           .length = task->segment,
                           .target_length = task->segment,
                           .tokens = lh_integers_from(s->store.tokens, first),
                           .target = lh_integers_from(s->store.targets, first),
                           .vectors = lh_reals_from(s->store.inputs, first * task->sizes.inputs),
                           .target_vectors =
                               lh_reals_from(s->store.outputs, first * task->sizes.outputs),
                           .weights = lh_reals_from(s->store.weights, first * outputs_of(task)),
                           .starts = task->starts};
    s->next += 1;
    return LH_OK;
}

/* ---- opening ---- */

static bool is_same(const scripted *task, const lh_example *a, const lh_example *b) {
    const size_t length = (size_t)task->sizes.length, inputs = (size_t)task->sizes.inputs,
                 outputs = (size_t)outputs_of(task);
    if (memcmp(a->weights, b->weights, length * outputs * sizeof(real)) != 0) return false;
    if (task->sizes.vocabulary > 0)
        return memcmp(a->tokens, b->tokens, length * sizeof(int32_t)) == 0 &&
               memcmp(a->targets, b->targets, length * sizeof(int32_t)) == 0;
    return memcmp(a->inputs, b->inputs, length * inputs * sizeof(real)) == 0 &&
           memcmp(a->outputs, b->outputs, length * outputs * sizeof(real)) == 0;
}

/* Example 1 as it is after example 0, and in a fresh interpreter by itself: a resumed run and a
 * worker of a sweep begin anywhere. */
static lh_status check_examples(scripted *task, lh_lua_examples *fresh, const lh_example *other) {
    LH_TRY(make(task, task->examples, LH_TRAIN, 0, &task->row));
    LH_TRY(make(task, task->examples, LH_TRAIN, 1, &task->row));
    LH_TRY(make(task, fresh, LH_TRAIN, 1, other));
    if (is_same(task, &task->row, other)) return LH_OK;
    return lh_fail(
        LH_EFORMAT,
        "%s: `example` gives something else when it is called again: it must follow from "
        "its parameters, the split and math.random alone, not from a variable that "
        "outlives the call or from the address of a table",
        task->file);
}

static lh_status check_repeatable(scripted *task) {
    lh_example other = {0};
    lh_lua_examples *fresh = NULL;
    lh_status status =
        lh_lua_examples_create(task->file, task->parameters, task->sizes.vocabulary == 0, &fresh);
    if (status == LH_OK) status = allocate_example(task, task->sizes.length, &other);
    if (status == LH_OK) status = check_examples(task, fresh, &other);
    free_example(&other);
    lh_lua_examples_destroy(fresh);
    return status;
}

static lh_status open_stream(scripted *task, lh_split split, stream *out) {
    const bool ends = split != LH_TRAIN;
    *out = (stream){.split = split,
                    .rows = ends && task->held_out < task->rows ? task->held_out : task->rows,
                    .examples = ends ? task->held_out : -1,
                    .loaded = -1};
    return allocate_example(task, task->segments * out->rows * task->segment, &out->store);
}

static lh_status open_task(scripted *task, uint64_t seed, bool vectors) {
    if (task->file[0] == '\0')
        return lh_fail(LH_EOPTION, "option 'file' names the Lua file that makes the examples");
    task->seed = seed;
    LH_TRY(lh_lua_examples_create(task->file, task->parameters, vectors, &task->examples));
    task->sizes = *lh_lua_examples_sizes(task->examples);
    if (task->segment == 0 || task->segment > task->sizes.length)
        task->segment = task->sizes.length;
    task->segments = lh_chunk_count(task->sizes.length, task->segment);
    task->starts = lh_allocate((size_t)task->rows * sizeof *task->starts);
    if (task->starts == NULL) return LH_EMEMORY;
    LH_TRY(allocate_example(task, task->sizes.length, &task->row));
    LH_TRY(check_repeatable(task));
    LH_TRY(open_stream(task, LH_TRAIN, &task->train));
    return open_stream(task, LH_VALID, &task->pass);
}

static lh_status open_tokens(void *instance, uint64_t seed, lh_model_setup *setup) {
    scripted *task = instance;
    LH_TRY(open_task(task, seed, false));
    *setup = (lh_model_setup){.vocabulary = task->sizes.vocabulary};
    return LH_OK;
}

static lh_status open_vectors(void *instance, uint64_t seed, lh_model_setup *setup) {
    scripted *task = instance;
    LH_TRY(open_task(task, seed, true));
    *setup = (lh_model_setup){.input_features = task->sizes.inputs,
                              .output_features = task->sizes.outputs};
    return LH_OK;
}

static void close_task(void *instance) {
    scripted *task = instance;
    free_example(&task->row);
    free_example(&task->train.store);
    free_example(&task->pass.store);
    lh_lua_examples_destroy(task->examples);
    free(task->starts);
}

/* ---- class ---- */

static void get_shape(const void *instance, int64_t *rows, int64_t *length) {
    const scripted *task = instance;
    *rows = task->rows;
    *length = task->segment;
}

static lh_status train_batch(void *instance, lh_host_batch *out) {
    scripted *task = instance;
    return next_batch(task, &task->train, out);
}

static lh_status evaluate_begin(void *instance, lh_split split) {
    scripted *task = instance;
    if (split == LH_TRAIN)
        return lh_fail(LH_EFORMAT, "data: training examples have no end to evaluate");
    if (split != task->pass.split) task->pass.loaded = -1;
    task->pass.split = split;
    task->pass.next = 0;
    task->passing = true;
    return LH_OK;
}

static lh_status evaluate_batch(void *instance, lh_host_batch *out) {
    scripted *task = instance;
    if (!task->passing) return lh_fail(LH_ESTATE, "data: no evaluation has begun");
    return next_batch(task, &task->pass, out);
}

static int get_cursor(const void *instance, int64_t *words) {
    const scripted *task = instance;
    words[0] = task->train.next;
    return 1;
}

static lh_status set_cursor(void *instance, const int64_t *words, int count) {
    scripted *task = instance;
    if (count != 1 || !lh_is_count(words[0]))
        return lh_fail(LH_EFORMAT, "data: a position that no stream of examples has");
    task->train.next = words[0];
    return LH_OK;
}

static char *describe(const void *instance) {
    const scripted *task = instance;
    const char *slash = strrchr(task->file, '/');
    const char *chance = lh_lua_examples_chance(task->examples);
    const bool is_said = chance[0] != '\0';
    return lh_format("examples of %s, %lld positions%s%s%s", slash != NULL ? slash + 1 : task->file,
                     (long long)task->sizes.length, is_said ? " (guessing scores " : "", chance,
                     is_said ? ")" : "");
}

/* The content of the file, of which everything follows; the parameters are options. */
static uint64_t digest(const void *instance) {
    const scripted *task = instance;
    const uint64_t content = lh_lua_examples_digest(task->examples);
    return lh_digest_mix(lh_digest_generated(VERSION, (uint64_t)task->data_seed), &content,
                         sizeof content);
}

static const lh_option scripted_options[] = {
    LH_TEXT("file", scripted, file, "", "the Lua file that makes the examples"),
    LH_TEXT("parameters", scripted, parameters, "",
            "what the file is told in place of its defaults, as in word=31"),
    LH_INTEGER("segment", scripted, segment, 0, 0, 1e9,
               "positions of an example that are read at once; 0: all"),
    LH_INTEGER("batch", scripted, rows, 32, 1, 65536, "examples of a batch (B)"),
    LH_INTEGER("evaluate_examples", scripted, held_out, 256, 1, 1e9,
               "examples of the validation and of the test split"),
    LH_INTEGER(
        "data_seed", scripted, data_seed, 1, 0, 1e15,
        "what held-out examples are drawn from; training draws fresh ones from the run's seed"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(scripted), {0}};

const lh_task_class lh_scripted_tokens_class = {.name = "scripted_tokens",
                                                .summary = "Tokens that a Lua file makes",
                                                .options = options,
                                                .kind = {.vocabulary = 1},
                                                .lacks = LH_HAS_NO_TEXT,
                                                .instance_size = sizeof(scripted),
                                                .open = open_tokens,
                                                .close = close_task,
                                                .shape = get_shape,
                                                .train_batch = train_batch,
                                                .evaluate_begin = evaluate_begin,
                                                .evaluate_batch = evaluate_batch,
                                                .cursor_get = get_cursor,
                                                .cursor_set = set_cursor,
                                                .describe = describe,
                                                .digest = digest,
                                                .place_option = "file"};

const lh_task_class lh_scripted_vectors_class = {
    .name = "scripted_vectors",
    .summary = "Vectors that a Lua file makes",
    .options = options,
    .kind = {.input_features = 1, .output_features = 1},
    .instance_size = sizeof(scripted),
    .open = open_vectors,
    .close = close_task,
    .shape = get_shape,
    .train_batch = train_batch,
    .evaluate_begin = evaluate_begin,
    .evaluate_batch = evaluate_batch,
    .cursor_get = get_cursor,
    .cursor_set = set_cursor,
    .describe = describe,
    .digest = digest,
    .place_option = "file"};
