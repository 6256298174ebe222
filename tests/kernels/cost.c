/* What a kernel's cost says of a call, against the call. */
#include "tests/kernels/conformance.h"

#include "kernels/cost/ledger.h"

static int64_t bytes_of(const suite *s, buffer_role role) {
    int64_t bytes = 0;
    for (int i = 0; i < s->buffer_count; i++)
        if (s->buffers[i].role == role) bytes += (int64_t)s->buffers[i].bytes;
    return bytes;
}

/* A call of nothing launches nothing; any other writes something. */
bool cost_good(suite *s, int64_t launched) {
    if (s->expected != LH_OK) return true;
    lh_ledger ledger = {0};
    const lh_launch launch = {.stream = &ledger};
    const lh_status status = s->kernel->run(&lh_ledger_kernels, &launch, s->device_args);
    if (status != LH_OK || ledger.count != 1) abort();
    const lh_cost cost = ledger.call[0].cost;
    lh_ledger_free(&ledger);
    if (launched >= 0 && cost.launches != launched)
        return case_fails(s, "%" PRId64 " launches, but its cost says %" PRId64, launched,
                          cost.launches);
    if (cost.launches > 0 && bytes_of(s, ROLE_OUT) > 0 && cost.written <= 0)
        return case_fails(s, "its cost writes nothing");
    if (cost.read < 0 || cost.flops < 0 || cost.products < 0 || cost.serial < 0)
        return case_fails(s, "its cost is negative");
    return true;
}
