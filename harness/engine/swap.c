/* Which groups of parameters are on the device, and the copies that bring and take them. */
#include "harness/engine/swap.h"

#include <stdlib.h>

#include "harness/engine/array.h"
#include "harness/engine/gradient.h"
#include "harness/engine/run_kernel.h"
#include "harness/engine/storage.h"

typedef enum whereabouts { AWAY, COMING, HERE } whereabouts;

/* A run of parameters. */
typedef struct group {
    int64_t offset;                /* in the blocks at home */
    lh_tensor *values, *gradients; /* on the device; without memory while they are away */
    bool stays;
    whereabouts values_are, gradients_are;
    bool collected; /* home has gradients of this pass */
} group;

struct lh_swap {
    const lh_params *home;
    lh_device *device;
    lh_tensor **param; /* views of the groups' blocks */
    group *group;
    int group_count;
    group **visit; /* who is here, in the order of coming */
    int visits;
    group *leaving;   /* whose gradients are still being copied */
    group **order;    /* how groups came, in this pass up to `came` and then in the one before */
    int came, known;  /* of order */
    int64_t capacity; /* of order */
    bool pinned[2];   /* values, gradients at home */
};

/* ---- copies ---- */

static real *home_values(const lh_swap *swap, const group *g) {
    return lh_tensor_real(lh_params_values(swap->home)) + g->offset;
}

static real *home_gradients(const lh_swap *swap, const group *g) {
    return lh_tensor_real(lh_params_gradients(swap->home)) + g->offset;
}

static size_t bytes_of(const lh_tensor *block) {
    return (size_t)lh_tensor_count(block) * sizeof(real);
}

static lh_status copy_in(const lh_swap *swap, const lh_tensor *block, const real *home) {
    lh_device *device = swap->device;
    real *to = lh_tensor_real(block);
    const size_t bytes = bytes_of(block);
    return lh_pool_called("copy in", device->copies == NULL
                                         ? device->upload(device, to, home, bytes)
                                         : device->copies->in(device, to, home, bytes));
}

static lh_status copy_out(const lh_swap *swap, const lh_tensor *block, real *home) {
    lh_device *device = swap->device;
    const real *from = lh_tensor_real(block);
    const size_t bytes = bytes_of(block);
    return lh_pool_called("copy out", device->copies == NULL
                                          ? device->download(device, home, from, bytes)
                                          : device->copies->out(device, home, from, bytes));
}

static lh_status join(const lh_swap *swap) {
    if (swap->device->copies == NULL) return LH_OK;
    return lh_pool_called("join", swap->device->copies->join(swap->device));
}

static lh_status fill_zeros(const lh_tensor *block) {
    const lh_fill_args args = {.count = lh_tensor_count(block), .x = lh_tensor_real(block)};
    return LH_RUN(block->pool, fill, &args);
}

/* ---- coming ---- */

static lh_status call_values(const lh_swap *swap, group *g) {
    if (g->values_are != AWAY) return LH_OK;
    LH_TRY(lh_storage_restore(g->values->pool, g->values->storage));
    LH_TRY(copy_in(swap, g->values, home_values(swap, g)));
    g->values_are = COMING;
    return LH_OK;
}

/* Passes repeat the one before. */
static lh_status note_order(lh_swap *swap, group *g) {
    LH_TRY(lh_array_reserve(&swap->order, &swap->capacity, swap->came + 1, sizeof(group *)));
    const bool repeats = swap->came < swap->known && swap->order[swap->came] == g;
    swap->order[swap->came++] = g;
    if (!repeats) swap->known = swap->came;
    return LH_OK;
}

static lh_status bring_values(lh_swap *swap, group *g) {
    if (g->values_are == HERE) return LH_OK;
    LH_TRY(call_values(swap, g));
    LH_TRY(join(swap));
    g->values_are = HERE;
    swap->visit[swap->visits++] = g;
    LH_TRY(note_order(swap, g));
    const bool foreseen = swap->device->copies != NULL && swap->came < swap->known;
    return foreseen ? call_values(swap, swap->order[swap->came]) : LH_OK;
}

/* The gradients that were being copied are at home. */
static lh_status finish_leaving(lh_swap *swap) {
    group *g = swap->leaving;
    if (g == NULL) return LH_OK;
    LH_TRY(join(swap));
    lh_storage_evict(g->gradients->pool, g->gradients->storage);
    g->gradients_are = AWAY;
    swap->leaving = NULL;
    return LH_OK;
}

/* The zeros are for the padding between parameters, and for those without a contribution. */
static lh_status bring_gradients(lh_swap *swap, group *g) {
    if (swap->leaving == g) LH_TRY(finish_leaving(swap));
    if (g->gradients_are == HERE) return LH_OK;
    LH_TRY(lh_storage_restore(g->gradients->pool, g->gradients->storage));
    g->gradients_are = HERE;
    if (!g->collected) return fill_zeros(g->gradients);
    LH_TRY(copy_in(swap, g->gradients, home_gradients(swap, g)));
    return join(swap);
}

/* NULL for a tensor of no group, and for those that stay. */
static group *find(const lh_swap *swap, const lh_tensor *parameter) {
    for (int i = 0; i < swap->group_count; ++i) {
        group *g = &swap->group[i];
        if (!g->stays && g->values->storage == parameter->storage) return g;
    }
    return NULL;
}

lh_status lh_swap_need(lh_swap *swap, const lh_tensor *parameter, bool differentiating) {
    group *g = find(swap, parameter);
    if (g == NULL) return LH_OK;
    LH_TRY(bring_values(swap, g));
    return differentiating ? bring_gradients(swap, g) : LH_OK;
}

/* ---- leaving ---- */

static lh_status send_gradients(lh_swap *swap, group *g) {
    if (g->gradients_are == AWAY) return LH_OK;
    LH_TRY(finish_leaving(swap));
    LH_TRY(copy_out(swap, g->gradients, home_gradients(swap, g)));
    g->collected = true;
    swap->leaving = g;
    return swap->device->copies != NULL ? LH_OK : finish_leaving(swap);
}

int lh_swap_visits(const lh_swap *swap) {
    return swap->visits;
}

lh_status lh_swap_leave(lh_swap *swap, int mark) {
    while (swap->visits > mark) {
        group *g = swap->visit[--swap->visits];
        LH_TRY(send_gradients(swap, g));
        lh_storage_evict(g->values->pool, g->values->storage);
        g->values_are = AWAY;
    }
    return LH_OK;
}

/* Nothing visits any more, whatever has become of it: after a pass that failed, too. */
static lh_status clear(lh_swap *swap) {
    const lh_status status = join(swap);
    for (int i = 0; i < swap->group_count; ++i) {
        group *g = &swap->group[i];
        g->collected = false;
        if (g->stays) continue;
        lh_storage_evict(g->values->pool, g->values->storage);
        lh_storage_evict(g->gradients->pool, g->gradients->storage);
        g->values_are = g->gradients_are = AWAY;
    }
    swap->visits = 0;
    swap->leaving = NULL;
    return status;
}

/* ---- passes ---- */

lh_status lh_swap_begin(lh_swap *swap) {
    LH_TRY(clear(swap));
    swap->came = 0;
    for (int i = 0; i < lh_params_count(swap->home); ++i)
        lh_tensor_clear_gradient(swap->param[i]);
    for (int i = 0; i < swap->group_count; ++i) {
        const group *g = &swap->group[i];
        if (!g->stays) continue;
        LH_TRY(copy_in(swap, g->values, home_values(swap, g)));
        LH_TRY(fill_zeros(g->gradients));
    }
    return join(swap);
}

static lh_status collect(lh_swap *swap) {
    LH_TRY(lh_swap_leave(swap, 0));
    for (int i = 0; i < swap->group_count; ++i) {
        const group *g = &swap->group[i];
        if (g->stays) LH_TRY(copy_out(swap, g->gradients, home_gradients(swap, g)));
    }
    LH_TRY(join(swap));
    return lh_pool_called("synchronize", swap->device->synchronize(swap->device));
}

lh_status lh_swap_collect(lh_swap *swap) {
    LH_TRY(collect(swap));
    for (int i = 0; i < lh_params_count(swap->home); ++i) {
        lh_params_get(swap->home, i)->gradient->present = swap->param[i]->gradient->present;
        lh_tensor_clear_gradient(swap->param[i]); /* the next step may have no pass: no rows */
    }
    return clear(swap);
}

/* ---- life ---- */

lh_tensor *lh_swap_param(const lh_swap *swap, int index) {
    return index >= 0 && index < lh_params_count(swap->home) ? swap->param[index] : NULL;
}

int64_t lh_swap_resting_bytes(const lh_swap *swap) {
    int64_t bytes = 0;
    for (int i = 0; i < swap->group_count; ++i)
        bytes += swap->group[i].stays ? (int64_t)bytes_of(swap->group[i].values) : 0;
    return bytes;
}

/* The group of parameters [first, end). */
static lh_status open_group(lh_swap *swap, int first, int end, lh_pool *pool) {
    const lh_params *home = swap->home;
    group *g = &swap->group[swap->group_count++];
    g->offset = lh_params_offset(home, first);
    g->stays = lh_params_at(home, first)->group == 0;
    const int64_t extent = lh_params_offset(home, end) - g->offset;
    LH_TRY(lh_tensor_create(pool, LH_REAL, 1, &extent, &g->values));
    LH_TRY(lh_tensor_create(pool, LH_REAL, 1, &extent, &g->gradients));
    for (int i = first; i < end; ++i)
        LH_TRY(lh_param_view(lh_params_at(home, i), g->values, g->gradients,
                             lh_params_offset(home, i) - g->offset, &swap->param[i]));
    if (g->stays) return LH_OK;
    lh_storage_evict(g->values->pool, g->values->storage);
    lh_storage_evict(g->gradients->pool, g->gradients->storage);
    return LH_OK;
}

static lh_status pin(const lh_swap *swap, const lh_tensor *block, bool *pinned) {
    if (swap->device->copies == NULL) return LH_OK;
    LH_TRY(lh_pool_called(
        "pin", swap->device->copies->pin(swap->device, lh_tensor_real(block), bytes_of(block))));
    *pinned = true;
    return LH_OK;
}

static lh_status open_parts(lh_swap *swap, lh_pool *pool) {
    const lh_params *home = swap->home;
    const int count = lh_params_count(home);
    swap->param = lh_allocate_zeroed((size_t)count + 1, sizeof(lh_tensor *));
    swap->group = lh_allocate_zeroed((size_t)count + 1, sizeof *swap->group);
    swap->visit = lh_allocate_zeroed((size_t)count + 1, sizeof(group *));
    if (swap->param == NULL || swap->group == NULL || swap->visit == NULL) return LH_EMEMORY;
    LH_TRY(pin(swap, lh_params_values(home), &swap->pinned[0]));
    LH_TRY(pin(swap, lh_params_gradients(home), &swap->pinned[1]));
    for (int first = 0, end = 1; first < count; first = end++) {
        while (end < count && lh_params_at(home, end)->group == lh_params_at(home, first)->group)
            ++end;
        LH_TRY(open_group(swap, first, end, pool));
    }
    return LH_OK;
}

lh_status lh_swap_create(const lh_params *home, lh_pool *pool, lh_swap **out) {
    lh_swap *swap = lh_allocate_zeroed(1, sizeof *swap);
    if (swap == NULL) return LH_EMEMORY;
    swap->home = home;
    swap->device = lh_pool_device(pool);
    const lh_status status = open_parts(swap, pool);
    if (status == LH_OK)
        *out = swap;
    else
        lh_swap_destroy(swap);
    return status;
}

void lh_swap_destroy(lh_swap *swap) {
    if (swap == NULL) return;
    (void)join(swap);
    (void)swap->device->synchronize(swap->device);
    for (int i = 0; swap->param != NULL && i < lh_params_count(swap->home); ++i)
        lh_tensor_release(swap->param[i]);
    for (int i = 0; i < swap->group_count; ++i) {
        lh_tensor_release(swap->group[i].values);
        lh_tensor_release(swap->group[i].gradients);
    }
    if (swap->pinned[0])
        swap->device->copies->unpin(swap->device, lh_tensor_real(lh_params_values(swap->home)));
    if (swap->pinned[1])
        swap->device->copies->unpin(swap->device, lh_tensor_real(lh_params_gradients(swap->home)));
    free(swap->param);
    free(swap->group);
    free(swap->visit);
    free(swap->order);
    free(swap);
}
