/* The sizes, views and decays that the decaying scan and the delta rule go through. */
#include "tests/kernels/cases/scan_shape.h"

const scan_shape scan_refused[SCAN_REFUSED] = {
    {-1, 5, 2, 1, 4, 4}, {1, -1, 2, 1, 4, 4}, {1, 5, 0, 1, 4, 4}, {1, 5, 2, 0, 4, 4},
    {1, 5, 3, 2, 4, 4},  {1, 5, -2, 1, 4, 4}, {1, 5, 2, 1, 0, 4}, {1, 5, 2, 1, 4, 0}};

int64_t scan_lay_out(lh_heads *view, const scan_shape *w, int64_t heads, int64_t width,
                     bool padded) {
    view->head_stride = width + (padded ? 3 : 0);
    view->token_stride = heads * view->head_stride + (padded ? 7 : 0);
    view->batch_stride = w->length * view->token_stride;
    if (w->batch == 0 || w->length == 0) return 0;
    return (w->batch - 1) * view->batch_stride + (w->length - 1) * view->token_stride +
           (heads - 1) * view->head_stride + width;
}

int64_t scan_states_of(const scan_shape *w) {
    return w->batch * w->heads * w->key_width * w->value_width;
}

lh_decay_scan_spec scan_sizes_of(const scan_shape *w) {
    return (lh_decay_scan_spec){.batch = w->batch,
                                .length = w->length,
                                .heads = w->heads,
                                .groups = w->groups,
                                .key_width = w->key_width,
                                .value_width = w->value_width};
}

void scan_add_states(suite *s, lh_decay_scan_spec *spec, const scan_shape *w, double rate) {
    const int64_t decays = w->batch * w->length * w->heads;
    case_in(s, "start", &spec->start, scan_states_of(w));
    if (rate < 0) return;
    real *decay = case_in(s, "log_decay", &spec->log_decay, decays);
    for (int64_t i = 0; i < decays; i++)
        decay[i] *= (real)-rate * decay[i];
}

void scan_open_case(suite *s, void *args, size_t size, const scan_shape *w, double rate,
                    bool padded, int row) {
    case_open(s, args, size,
              "batch %" PRId64 ", length %" PRId64 ", heads %" PRId64 " in %" PRId64
              " groups, widths %" PRId64 " and %" PRId64 ", decay %g, padded %d, flags %d",
              w->batch, w->length, w->heads, w->groups, w->key_width, w->value_width, rate, padded,
              row);
}
