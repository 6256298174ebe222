/* The sizes, views and decays that the decaying scan and the delta rule go through. */
#ifndef LH_TESTS_KERNELS_CASES_SCAN_SHAPE_H
#define LH_TESTS_KERNELS_CASES_SCAN_SHAPE_H

#include "tests/kernels/conformance.h"

typedef struct scan_shape {
    int64_t batch, length, heads, groups, key_width, value_width;
} scan_shape;

/* What no scan may be. */
enum { SCAN_REFUSED = 8 };
extern const scan_shape scan_refused[SCAN_REFUSED];

/* How fast states decay: log_decay is -rate times the square of a normal number. */
static const double no_decay = -1, weak = 0.01, middle = 0.5, strong = 30;

/* Strides of a view, dense or a part of wider rows. Gives the elements that it spans. */
int64_t scan_lay_out(lh_heads *view, const scan_shape *w, int64_t heads, int64_t width,
                     bool padded);

/* Elements of all states. */
int64_t scan_states_of(const scan_shape *w);

/* A spec of these sizes, without operands. */
lh_decay_scan_spec scan_sizes_of(const scan_shape *w);

/* Lays out the states that a scan starts with and, unless it has none, its decays. */
void scan_add_states(suite *s, lh_decay_scan_spec *spec, const scan_shape *w, double rate);

/* Opens a case, named by its sizes, decay, layout and row of flags. */
void scan_open_case(suite *s, void *args, size_t size, const scan_shape *w, double rate,
                    bool padded, int row);

#endif
