/* A session on a ledger takes two steps: the first one creates what later ones find. */
#include "harness/bench/step_cost.h"

#include "harness/train/train_step.h"

static lh_status count(lh_session *session, lh_step_cost *out) {
    LH_TRY(lh_train_step(session));
    lh_ledger_clear(&out->ledger);
    LH_TRY(lh_train_step(session));
    out->tokens = lh_session_tokens_per_step(session);
    out->model_flops = 3 * lh_session_flops_per_token(session) * (double)out->tokens;
    out->peak_bytes = lh_session_peak_memory(session);
    return LH_OK;
}

lh_status lh_step_cost_count(const lh_session_spec *spec, lh_step_cost *out) {
    lh_session_spec own = *spec;
    lh_session *session = NULL;
    *out = (lh_step_cost){0};
    LH_TRY(lh_ledger_device(&out->ledger, &own.opened));
    LH_TRY(lh_session_create(&own, &session));
    const lh_status status = count(session, out);
    lh_session_destroy(session);
    return status;
}

void lh_step_cost_clear(lh_step_cost *cost) {
    lh_ledger_free(&cost->ledger);
}
