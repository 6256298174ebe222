/* Batches of token 0. */
#include "harness/bench/sizes_task.h"

#include <stdlib.h>
#include <string.h>

typedef struct sizes {
    int64_t vocabulary, segment, batch, source;
    int32_t *zeros; /* as many as the longest field of a batch has */
    int32_t *counts;
    bool is_read; /* the batch of a pass over a split */
} sizes;

static lh_status open_sizes(void *instance, uint64_t seed, lh_model_setup *setup) {
    sizes *s = instance;
    const int64_t longest = lh_max(s->source, s->segment);
    (void)seed;
    setup->vocabulary = s->vocabulary;
    setup->source_vocabulary = s->source > 0 ? s->vocabulary : 0;
    setup->source_length = s->source;
    s->zeros = lh_allocate_zeroed((size_t)(s->batch * longest), sizeof *s->zeros);
    s->counts = lh_allocate_zeroed((size_t)s->batch, sizeof *s->counts);
    if (s->zeros == NULL || s->counts == NULL) return LH_EMEMORY;
    for (int64_t row = 0; row < s->batch; ++row)
        s->counts[row] = (int32_t)s->source;
    return LH_OK;
}

static void close_sizes(void *instance) {
    sizes *s = instance;
    free(s->zeros);
    free(s->counts);
}

static void shape(const void *instance, int64_t *rows, int64_t *length) {
    const sizes *s = instance;
    *rows = s->batch;
    *length = s->segment;
}

static lh_status train_batch(void *instance, lh_host_batch *out) {
    const sizes *s = instance;
    *out = (lh_host_batch){.rows = s->batch,
                           .length = s->segment,
                           .source_length = s->source,
                           .tokens = s->zeros,
                           .target = s->zeros,
                           .starts = s->zeros};
    if (s->source > 0) {
        out->source_tokens = s->zeros;
        out->source_count = s->counts;
    }
    return LH_OK;
}

static lh_status evaluate_begin(void *instance, lh_split split) {
    sizes *s = instance;
    (void)split;
    s->is_read = false;
    return LH_OK;
}

static lh_status evaluate_batch(void *instance, lh_host_batch *out) {
    sizes *s = instance;
    *out = (lh_host_batch){0};
    if (s->is_read) return LH_OK;
    s->is_read = true;
    return train_batch(instance, out);
}

static int cursor_get(const void *instance, int64_t *words) {
    (void)instance;
    (void)words;
    return 0;
}

static lh_status cursor_set(void *instance, const int64_t *words, int count) {
    (void)instance;
    (void)words;
    (void)count;
    return LH_OK;
}

static char *describe(const void *instance) {
    static const char text[] = "sizes";
    char *copy = lh_allocate(sizeof text);
    (void)instance;
    return copy != NULL ? memcpy(copy, text, sizeof text) : NULL;
}

static uint64_t digest(const void *instance) {
    (void)instance;
    return 0;
}

static const lh_option sizes_options[] = {
    LH_INTEGER("vocabulary", sizes, vocabulary, 32128, 1, 1e9, "rows of the embedding"),
    LH_INTEGER("segment", sizes, segment, 4096, 1, 1e9, "tokens of a row"),
    LH_INTEGER("batch", sizes, batch, 1, 1, 1e6, "rows of a batch"),
    LH_INTEGER("source", sizes, source, 0, 0, 1e9, "tokens of a row's source"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(sizes), {0}};

const lh_task_class lh_sizes_task = {.name = "sizes",
                                     .summary = "Batches of given sizes",
                                     .options = options,
                                     .kind = {.vocabulary = 1},
                                     .instance_size = sizeof(sizes),
                                     .open = open_sizes,
                                     .close = close_sizes,
                                     .shape = shape,
                                     .train_batch = train_batch,
                                     .evaluate_begin = evaluate_begin,
                                     .evaluate_batch = evaluate_batch,
                                     .cursor_get = cursor_get,
                                     .cursor_set = cursor_set,
                                     .describe = describe,
                                     .digest = digest};
