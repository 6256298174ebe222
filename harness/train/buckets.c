/* Which parameters make a bucket, and when its sum may start. */
#include "harness/train/buckets.h"
#include "harness/engine/run_kernel.h"

#include <stdlib.h>

enum { LEAST = 4 << 10, MOST = 4 << 20, PARTS = 8 };

static int64_t default_size(int64_t elements) {
    const int64_t part = elements / PARTS;
    if (part < LEAST) return LEAST;
    return part > MOST ? MOST : part;
}

/* Cuts the block from its end. The padding behind a parameter goes with it. */
static void cut(lh_buckets *buckets, int64_t least) {
    int64_t end = lh_tensor_count(lh_params_gradients(buckets->params));
    lh_bucket open = {0};
    for (int i = lh_params_count(buckets->params) - 1; i >= 0; --i) {
        open.first = lh_params_offset(buckets->params, i);
        open.count = end - open.first;
        open.parameters += 1;
        if (open.count < least && i > 0) continue;
        buckets->bucket[buckets->count++] = open;
        end = open.first;
        open = (lh_bucket){0};
    }
}

lh_status lh_buckets_init(const lh_params *params, lh_communicator *ranks, int64_t least,
                          lh_buckets *out) {
    *out = (lh_buckets){.ranks = ranks, .params = params};
    out->bucket = lh_allocate_zeroed((size_t)lh_params_count(params) + 1, sizeof *out->bucket);
    if (out->bucket == NULL) return LH_EMEMORY;
    cut(out, least > 0 ? least : default_size(lh_tensor_count(lh_params_gradients(params))));
    return LH_OK;
}

void lh_buckets_clear(lh_buckets *buckets) {
    free(buckets->bucket);
    *buckets = (lh_buckets){0};
}

void lh_buckets_begin(lh_buckets *buckets) {
    buckets->started = 0;
    for (int i = 0; i < buckets->count; ++i)
        buckets->bucket[i].open = buckets->bucket[i].parameters;
}

static lh_device *device_of(const lh_buckets *buckets) {
    return lh_pool_device(lh_params_values(buckets->params)->pool);
}

static lh_status start_next(lh_buckets *buckets) {
    const lh_bucket *next = &buckets->bucket[buckets->started++];
    real *x = lh_tensor_real(lh_params_gradients(buckets->params)) + next->first;
    return buckets->ranks->start(buckets->ranks, device_of(buckets), x, next->count);
}

static lh_bucket *find(const lh_buckets *buckets, int64_t element) {
    int i = 0;
    while (element < buckets->bucket[i].first)
        ++i;
    return &buckets->bucket[i];
}

lh_status lh_buckets_watch(void *context, const lh_tensor *gradient) {
    lh_buckets *buckets = context;
    if (gradient == NULL)
        return buckets->started > 0 ? buckets->ranks->progress(buckets->ranks) : LH_OK;
    find(buckets, gradient->offset)->open -= 1;
    while (buckets->started < buckets->count && buckets->bucket[buckets->started].open == 0)
        LH_TRY(start_next(buckets));
    return LH_OK;
}

lh_status lh_buckets_finish(lh_buckets *buckets) {
    while (buckets->started < buckets->count)
        LH_TRY(start_next(buckets));
    return buckets->ranks->finish(buckets->ranks, device_of(buckets));
}

static lh_status start_average(lh_buckets *buckets, const lh_tensor *statistic, double share) {
    const lh_linear_combination_args args = {.count = lh_tensor_count(statistic),
                                             .alpha = (real)share,
                                             .a = lh_tensor_activation(statistic),
                                             .y = lh_tensor_activation(statistic)};
    LH_TRY(LH_RUN(statistic->pool, linear_combination, &args));
    return buckets->ranks->start(buckets->ranks, device_of(buckets), lh_tensor_real(statistic),
                                 args.count);
}

lh_status lh_buckets_average_statistics(lh_buckets *buckets, lh_share rows) {
    const double share = (double)rows.count / (double)rows.all;
    for (int i = 0; i < lh_params_count(buckets->params); ++i) {
        const lh_param *param = lh_params_at(buckets->params, i);
        if (param->statistic) LH_TRY(start_average(buckets, param->value, share));
    }
    return buckets->ranks->finish(buckets->ranks, device_of(buckets));
}
