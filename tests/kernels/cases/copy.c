/* Copies between boxes whose axes lie in any order, with gaps, repeated or not. */
#include "tests/kernels/conformance.h"

/* How an axis of y finds its place in x and y: the order of the axes in memory, gaps between them,
 * axes of x that are repeated. */
typedef struct layout {
    int order[LH_MAX_RANK];
    int64_t gap[LH_MAX_RANK];
    bool repeated[LH_MAX_RANK];
} layout;

/* Strides from the axis that moves fastest outwards; gives the span. */
static int64_t lay_out(int rank, const int64_t *shape, const layout *how, int64_t *stride) {
    int64_t span = 1;
    for (int i = rank - 1; i >= 0; i--) {
        const int axis = how->order[i];
        stride[axis] = how->repeated[axis] ? 0 : span;
        if (!how->repeated[axis]) span = span * shape[axis] + how->gap[axis];
    }
    return span;
}

static void copy(suite *s, int rank, const int64_t *shape, const layout *from, const layout *to,
                 lh_write write) {
    lh_copy_args args = {.rank = rank, .write = write};
    if (s->dtype == LH_BF16 && s->ordinal % 3 != 1) args.x.dtype = LH_BF16;
    if (s->dtype == LH_BF16 && s->ordinal % 3 != 2) args.y.dtype = LH_BF16;
    for (int i = 0; i < rank; i++)
        args.shape[i] = shape[i];
    const int64_t x_span = lay_out(rank, shape, from, args.x_stride);
    const int64_t y_span = lay_out(rank, shape, to, args.y_stride);
    char text[200] = "";
    for (int i = 0, at = 0; i < rank; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       ", %" PRId64 " (%" PRId64 " to %" PRId64 ")", shape[i], args.x_stride[i],
                       args.y_stride[i]);
    case_open(s, &args, sizeof args, "write %d, dtypes %d %d, rank %d%s", write, args.x.dtype,
              args.y.dtype, rank, text);
    case_in(s, "x", &args.x, x_span);
    case_out(s, "y", &args.y, y_span, write);
    if (write == LH_SET && (args.x.dtype == args.y.dtype || args.y.dtype == LH_REAL)) case_exact(s);
    case_dtype(s, &args.x, args.x.dtype);
    case_dtype(s, &args.y, args.y.dtype);
    case_run(s);
}

static layout random_layout(suite *s, int rank, bool repeats) {
    layout how = {.order = {0}};
    for (int i = 0; i < rank; i++)
        how.order[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        const int j = (int)suite_integer(s, i + 1);
        const int kept = how.order[i];
        how.order[i] = how.order[j];
        how.order[j] = kept;
    }
    for (int i = 0; i < rank; i++) {
        how.gap[i] = suite_integer(s, 3) == 0 ? suite_integer(s, 4) : 0;
        how.repeated[i] = repeats && suite_integer(s, 4) == 0;
    }
    return how;
}

static layout plain_layout(void) {
    return (layout){.order = {0, 1, 2, 3, 4}};
}

static void random_boxes(suite *s) {
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 16, 17};
    for (int trial = 0; trial < 80; trial++) {
        suite choice = *s; /* the numbers of a case depend on the case alone */
        choice.random = s->seed * 7919u + (uint64_t)trial;
        const int rank = trial % (LH_MAX_RANK + 1);
        int64_t shape[LH_MAX_RANK] = {0};
        for (int i = 0; i < rank; i++)
            shape[i] = sizes[suite_integer(&choice, rank > 3 ? 6 : 9)];
        if (rank > 0 && trial % 16 == 15) shape[suite_integer(&choice, rank)] = 0;
        const layout from = random_layout(&choice, rank, true);
        const layout to = trial % 3 == 0 ? plain_layout() : random_layout(&choice, rank, false);
        copy(s, rank, shape, &from, &to, write_of(trial % 2 == 1));
    }
}

static const layout heads_first = {.order = {0, 2, 1, 3}};

void cases_copy(suite *s) {
    const layout plain = plain_layout(), transposed = {.order = {1, 0}};
    const layout sliced = {.order = {0, 1}, .gap = {0, 37}}, repeated = {.repeated = {true}};
    random_boxes(s);
    for (int write = LH_SET; write <= LH_ADD; write++) {
        copy(s, 1, (int64_t[]){100003}, &plain, &plain, (lh_write)write);
        copy(s, 2, (int64_t[]){129, 257}, &transposed, &plain, (lh_write)write);
        copy(s, 2, (int64_t[]){129, 257}, &plain, &sliced, (lh_write)write);
        copy(s, 2, (int64_t[]){255, 127}, &sliced, &plain, (lh_write)write);
        copy(s, 2, (int64_t[]){65, 64}, &(layout){.order = {0, 1}, .repeated = {true}}, &plain,
             (lh_write)write);
        copy(s, 1, (int64_t[]){33}, &repeated, &plain, (lh_write)write);
        copy(s, 4, (int64_t[]){3, 64, 4, 16}, &plain, &heads_first, (lh_write)write);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_copy_args, .rank = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_copy_args, .rank = LH_MAX_RANK + 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_copy_args, .rank = 2, .shape = {3, -1});
    CASE_REFUSED(s, LH_EOPTION, lh_copy_args, .x = {.dtype = LH_I32});
    CASE_REFUSED(s, LH_EOPTION, lh_copy_args, .y = {.dtype = LH_I32});
}

void bench_copy(suite *s) {
    const layout plain = plain_layout();
    copy(s, 4, (int64_t[]){16, 256, 8, 32}, &plain, &heads_first, LH_SET);
    copy(s, 2, (int64_t[]){4096, 256}, &(layout){.order = {1, 0}}, &plain, LH_SET);
    copy(s, 2, (int64_t[]){4096, 256}, &plain, &(layout){.order = {0, 1}, .gap = {0, 512}}, LH_ADD);
}
