/* The attentions that the forward and the backward kernel are tried on. */
#ifndef LH_TESTS_KERNELS_CASES_ATTENTION_SHAPE_H
#define LH_TESTS_KERNELS_CASES_ATTENTION_SHAPE_H

#include "tests/kernels/conformance.h"

/* Where heads lie in memory: [batch][tokens][heads][width] dense, the same as a part of wider
 * rows, or [batch][heads][tokens][width] with gaps. */
typedef enum heads_layout { HEADS_DENSE, HEADS_PACKED, HEADS_FIRST, HEADS_LAYOUTS } heads_layout;

typedef struct key_run {
    int64_t count, first;
    bool everywhere, filled; /* filled: each batch row has a part of them */
} key_run;

typedef struct attention_shape {
    const char *name;
    int64_t batch, heads, queries, head_width;
    int64_t min_distance, max_distance, chunk, chunks_back;
    int source_count;
    key_run source[LH_KEY_SOURCES];
} attention_shape;

typedef struct attention_flags {
    bool head_scale, bias, dropout, period, positions;
    bool masks;         /* some of the bias is minus infinity */
    bool own_positions; /* a table for each head */
    heads_layout layout;
    lh_precision precision;
    bool dense; /* all views are, not just those that `layout` names */
} attention_flags;

enum { ATTENTION_PAPER_COUNT = 2 };
extern const attention_shape attention_shapes[], attention_bench_shapes[],
    attention_paper_shapes[ATTENTION_PAPER_COUNT]; /* these are for a GPU */
extern const int attention_shape_count, attention_bench_count;

/* Row 0 .. 7 of flags: every pair of values. */
attention_flags attention_flags_at(int row);
/* Gives `args` its name and its sizes, and opens the case. */
void attention_open(suite *s, void *args, size_t size, lh_attention_spec *spec,
                    const attention_shape *shape, attention_flags flags, const char *what);
/* Adds keys, values, bias, scales and the random key. */
void attention_inputs(suite *s, lh_attention_spec *spec, const attention_shape *shape,
                      attention_flags flags);
/* Strides of a view of so many tokens; gives the elements it spans. */
int64_t heads_lay_out(lh_heads *view, int64_t batch, int64_t heads, int64_t head_width,
                      int64_t tokens, heads_layout layout);
/* Multiplications and additions of the forward pass. */
double attention_work(const attention_shape *shape);

#endif
