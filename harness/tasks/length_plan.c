/* Items sorted by padded length and cut into batches of one length each. */
#include "harness/tasks/length_plan.h"

#include "harness/tasks/shuffle.h"

#include <stdlib.h>
#include <string.h>

enum { SHORTEST = 8, CLASSES = 32 };

struct lh_length_plan {
    int64_t count, batch_tokens, batches;
    int32_t *length;              /* [count]: class of length, by item */
    int64_t first[CLASSES + 1];   /* of the items of a class among all */
    int32_t *items, *drawn;       /* [count]: by class; as they were drawn */
    int64_t batch_first[CLASSES]; /* number of a class' first batch, before they are shuffled */
    int32_t *order;               /* [batches] */
};

static int class_of(int64_t length) {
    int class = 0;
    while ((int64_t)SHORTEST << class < length)
        class += 1;
    return class;
}

int64_t lh_length_rows(int64_t batch_tokens, int64_t padded) {
    return batch_tokens > padded ? batch_tokens / padded : 1;
}

static int64_t rows_of(const lh_length_plan *plan, int class) {
    return lh_length_rows(plan->batch_tokens, (int64_t)SHORTEST << class);
}

static int64_t items_of(const lh_length_plan *plan, int class) {
    return plan->first[class + 1] - plan->first[class];
}

/* Sorts the drawn items by class; those of a class keep their order. */
static void sort_items(lh_length_plan *plan) {
    int64_t next[CLASSES];
    memcpy(next, plan->first, sizeof next);
    for (int64_t i = 0; i < plan->count; ++i) {
        const int32_t item = plan->drawn[i];
        plan->items[next[plan->length[item]]++] = item;
    }
}

static void count_classes(lh_length_plan *plan, const int32_t *lengths) {
    int64_t batches = 0;
    for (int64_t i = 0; i < plan->count; ++i) {
        plan->length[i] = class_of(lengths[i]);
        plan->first[plan->length[i] + 1] += 1;
    }
    for (int class = 0; class < CLASSES; ++class) {
        const int64_t rows = rows_of(plan, class), items = plan->first[class + 1];
        plan->batch_first[class] = batches;
        plan->first[class + 1] += plan->first[class];
        batches += lh_chunk_count(items, rows);
    }
    plan->batches = batches;
}

lh_status lh_length_plan_create(const int32_t *lengths, int64_t count, int64_t batch_tokens,
                                lh_length_plan **out) {
    *out = NULL;
    if (count < 1 || count > INT32_MAX)
        return lh_fail(LH_EFORMAT, "data: %lld items to make batches of", (long long)count);
    lh_length_plan *plan = lh_allocate_zeroed(1, sizeof *plan);
    if (plan == NULL) return LH_EMEMORY;
    plan->count = count;
    plan->batch_tokens = batch_tokens;
    const size_t items = (size_t)count;
    plan->length = lh_allocate(items * sizeof *plan->length);
    plan->items = lh_allocate(items * sizeof *plan->items);
    plan->drawn = lh_allocate(items * sizeof *plan->drawn);
    plan->order = lh_allocate((items + 1) * sizeof *plan->order);
    if (!plan->length || !plan->items || !plan->drawn || !plan->order) {
        lh_length_plan_destroy(plan);
        return LH_EMEMORY;
    }
    count_classes(plan, lengths);
    for (int64_t i = 0; i < count; ++i)
        plan->drawn[i] = (int32_t)i;
    for (int64_t i = 0; i < plan->batches; ++i)
        plan->order[i] = (int32_t)i;
    sort_items(plan);
    *out = plan;
    return LH_OK;
}

void lh_length_plan_destroy(lh_length_plan *plan) {
    if (plan == NULL) return;
    free(plan->length);
    free(plan->items);
    free(plan->drawn);
    free(plan->order);
    free(plan);
}

int64_t lh_length_plan_tokens(const lh_length_plan *plan) {
    int64_t most = 0;
    for (int class = 0; class < CLASSES; ++class) {
        const int64_t tokens = rows_of(plan, class) * ((int64_t)SHORTEST << class);
        if (items_of(plan, class) > 0 && tokens > most) most = tokens;
    }
    return most;
}

void lh_length_plan_shuffle(lh_length_plan *plan, lh_random_key key) {
    lh_shuffle(key, plan->drawn, plan->count);
    sort_items(plan);
    key.op += 1;
    lh_shuffle(key, plan->order, plan->batches);
}

int64_t lh_length_plan_batches(const lh_length_plan *plan) {
    return plan->batches;
}

lh_length_batch lh_length_plan_batch(const lh_length_plan *plan, int64_t index) {
    const int64_t number = plan->order[index];
    int class = CLASSES - 1;
    while (items_of(plan, class) == 0 || plan->batch_first[class] > number)
        class -= 1;
    const int64_t rows = rows_of(plan, class);
    const int64_t begin = (number - plan->batch_first[class]) * rows;
    const int64_t left = items_of(plan, class) - begin;
    return (lh_length_batch){.items = plan->items + plan->first[class] + begin,
                             .count = left < rows ? left : rows,
                             .rows = rows,
                             .length = (int64_t)SHORTEST << class};
}
