/* Step times by the protocol: sessions take turns, medians and quartiles are told. */
#include "harness/train/step_timer.h"

#include "harness/engine/quantile.h"
#include "harness/train/matrix_rate.h"
#include "harness/train/session_inside.h"
#include "harness/train/train_step.h"

#include <stdlib.h>

/* Times of one session's measured steps, milliseconds. */
typedef struct series {
    double *ms;
    int count;
    int64_t allocations, graphs; /* of the device, before the measured steps */
} series;

/* A step that the device is done with. */
static lh_status whole_step(lh_session *session) {
    LH_TRY(lh_train_step(session));
    return lh_pool_called("synchronize", session->device->synchronize(session->device));
}

static lh_status timed_step(lh_session *session, lh_clock clock, double *ms) {
    const double start = clock();
    LH_TRY(whole_step(session));
    *ms = 1e3 * (clock() - start);
    return LH_OK;
}

static lh_status warm_up(lh_session *const *sessions, int count, int warmup) {
    for (int round = 0; round < warmup; ++round) {
        for (int i = 0; i < count; ++i)
            LH_TRY(whole_step(sessions[i]));
    }
    return LH_OK;
}

/* The sessions take turns, so that a slow phase of the machine hits all of them alike. */
static lh_status measure(lh_session *const *sessions, int count, int steps, lh_clock clock,
                         series *all) {
    for (int i = 0; i < count; ++i) {
        lh_session_reset_peak(sessions[i]);
        all[i].allocations = lh_pool_get_stats(sessions[i]->pool).device_allocations;
        all[i].graphs = sessions[i]->device->graphs_made;
    }
    for (int round = 0; round < steps; ++round) {
        for (int i = 0; i < count; ++i)
            LH_TRY(timed_step(sessions[i], clock, &all[i].ms[all[i].count++]));
    }
    return LH_OK;
}

static void summarize(const lh_session *session, series *times, lh_step_time *out) {
    const lh_pool_stats stats = lh_pool_get_stats(session->pool);
    const lh_quartiles quartiles = lh_quartiles_of(times->ms, times->count);
    *out = (lh_step_time){.median_ms = quartiles.median,
                          .q1_ms = quartiles.q1,
                          .q3_ms = quartiles.q3,
                          .tokens_per_step = (double)lh_session_tokens_per_step(session),
                          .peak_memory_bytes = stats.peak_bytes,
                          .workspace_bytes = stats.workspace_bytes,
                          .allocations_after_warmup = stats.device_allocations - times->allocations,
                          .graphs_after_warmup = session->device->graphs_made - times->graphs};
}

lh_status lh_session_time_steps(lh_session *const *sessions, int count, int warmup, int steps,
                                lh_step_time *out) {
    return lh_session_time_steps_by(sessions, count, warmup, steps, lh_clock_seconds, out);
}

lh_status lh_session_time_steps_by(lh_session *const *sessions, int count, int warmup, int steps,
                                   lh_clock clock, lh_step_time *out) {
    if (count < 1 || warmup < 0 || steps < 1)
        return lh_fail(LH_EOPTION, "step time: needs a session and at least one measured step");
    double *times = lh_allocate_zeroed((size_t)count * (size_t)steps, sizeof *times);
    series *all = lh_allocate_zeroed((size_t)count, sizeof *all);
    lh_status status = times != NULL && all != NULL ? LH_OK : LH_EMEMORY;
    for (int i = 0; status == LH_OK && i < count; ++i)
        all[i].ms = times + (size_t)i * (size_t)steps;
    if (status == LH_OK) status = warm_up(sessions, count, warmup);
    if (status == LH_OK) status = measure(sessions, count, steps, clock, all);
    for (int i = 0; status == LH_OK && i < count; ++i)
        summarize(sessions[i], &all[i], &out[i]);
    free(times);
    free(all);
    return status;
}

/* In a pool of its own, so that the session's counts stay as they are. */
lh_status lh_session_matrix_rate(const lh_session *session, double *out) {
    lh_pool *pool = NULL;
    LH_TRY(lh_pool_create(session->device, &pool));
    lh_status status = lh_pool_set_precision(pool, session->plan.precision);
    if (status == LH_OK) status = lh_matrix_rate(pool, 0, lh_clock_seconds, out);
    lh_pool_destroy(pool);
    return status;
}
