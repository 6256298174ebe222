/* Rows appended to rings that are empty, filling, or wrap more than once. */
#include "tests/kernels/conformance.h"

typedef struct shape {
    int64_t batch, capacity, length, width;
} shape;

/* The contract bounds the counts but not where they wrap: compare what they say about the ring. */
static void wrap_counts(const void *arguments) {
    const lh_ring_append_args *args = arguments;
    for (int64_t b = 0; b < args->batch; b++)
        if (args->count[b] > args->capacity)
            args->count[b] = (int32_t)(args->capacity + args->count[b] % args->capacity);
}

static void append(suite *s, shape w, bool advance, int32_t most) {
    lh_ring_append_args args = {.batch = w.batch,
                                .capacity = w.capacity,
                                .length = w.length,
                                .width = w.width,
                                .advance = advance};
    case_open(s, &args, sizeof args,
              "%" PRId64 " x %" PRId64 " of %" PRId64 " to %" PRId64 ", advance %d, counts to %d",
              w.batch, w.length, w.width, w.capacity, advance, (int)most);
    case_in(s, "x", &args.x, w.batch * w.length * w.width);
    case_in_out(s, "ring", &args.ring, w.batch * w.capacity * w.width);
    case_in_out_i32(s, "count", &args.count, w.batch, most + 1);
    case_canonical(s, wrap_counts, wrap_counts);
    case_exact(s);
    case_run(s);
}

void cases_ring_append(suite *s) {
    static const shape shapes[] = {
        {0, 4, 2, 3},   {2, 4, 0, 3},    {2, 4, 2, 0},   {1, 1, 1, 1},     {3, 1, 5, 2},
        {2, 4, 1, 7},   {2, 4, 3, 8},    {3, 4, 4, 9},   {2, 4, 5, 17},    {2, 5, 13, 3},
        {4, 31, 7, 16}, {3, 64, 33, 15}, {2, 33, 65, 8}, {5, 128, 64, 64}, {2, 257, 129, 65}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int32_t capacity = (int32_t)shapes[i].capacity;
        append(s, shapes[i], true, 0);
        append(s, shapes[i], true, capacity);
        append(s, shapes[i], true, 2 * capacity);
        append(s, shapes[i], false, 2 * capacity);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_ring_append_args, .batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_ring_append_args, .capacity = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_ring_append_args, .length = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_ring_append_args, .width = -1);
}

void bench_ring_append(suite *s) {
    append(s, (shape){16, 2048, 256, 256}, true, 2048);
}
