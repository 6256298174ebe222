/* Attention to the nearest keys of a memory (Wu et al. 2022, Memorizing Transformers, section
 * 3.2). Scores of a tile of queries come from matrix products with one stretch of the memory after
 * the other; each query keeps its best in a heap that most scores never reach. */
#include "kernels/cpu/attention_inside.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/nearest.h"
#include "kernels/cpu/vector_math.h"

typedef lh_knn_attention_forward_args forward_args;
typedef lh_knn_attention_backward_args backward_args;

/* Memory slots scored at once, and the elements between two rows of scores: a little more, so that
 * rows do not fall on one another in the cache. */
enum { STRETCH = 1024, PITCH = STRETCH + 16 };

/* What a thread works in. */
typedef struct scratch {
    real score[LH_ATTENTION_ROWS * PITCH];
    lh_nearest nearest[LH_ATTENTION_ROWS];
    lh_nearest_entry entry[]; /* [rows][top] */
} scratch;

static size_t scratch_bytes(int64_t top) {
    const size_t entries = (size_t)(LH_ATTENTION_ROWS * top) * sizeof(lh_nearest_entry);
    return lh_attention_align(sizeof(scratch) + entries);
}

/* Offers a stretch of scores to a query. Sixteen at a time are compared with its worst entry. */
static void offer(lh_nearest *nearest, const real *score, int64_t count, int64_t slot) {
    enum { LANES = 16 };
    for (int64_t c = 0; c < count; c += LANES) {
        const int64_t lanes = lh_min(LANES, count - c);
        bool better = nearest->size < nearest->top;
        if (!better && lanes == LANES) {
            const real worst = nearest->entry[0].score;
            int reached = 0;
            for (int l = 0; l < LANES; ++l)
                reached |= !(score[c + l] <= worst);
            better = reached;
        }
        for (int64_t l = 0; (better || lanes < LANES) && l < lanes; ++l) {
            const lh_nearest_entry value = {score[c + l], (int32_t)(slot + c + l)};
            lh_nearest_add(nearest, value);
        }
    }
}

/* Softmax over a query's list, and the weighted sum of its values. */
static void attend_row(const forward_args *args, int64_t batch, int64_t head, int64_t i,
                       const lh_nearest *nearest) {
    const int64_t first = ((batch * args->queries + i) * args->heads + head) * args->top;
    const int64_t pitch = args->heads * args->head_width;
    const real scale = args->head_scale ? args->head_scale[head] : LH_R(1);
    const real *v = args->v + batch * args->capacity * pitch + head * args->head_width;
    real *y = lh_head_rows(args->out, batch, head, i).data;
    real *weight = args->weight + first;
    real maximum = -LH_R(INFINITY), sum = 0;
    for (int64_t n = 0; n < nearest->size; ++n) {
        weight[n] = scale * nearest->entry[n].score;
        maximum = weight[n] > maximum ? weight[n] : maximum;
    }
    maximum = maximum == -LH_R(INFINITY) ? 0 : maximum;
    for (int64_t n = 0; n < nearest->size; ++n) {
        weight[n] = lh_exp(weight[n] - maximum);
        sum += weight[n];
    }
    for (int64_t n = 0; n < args->top; ++n) {
        const bool found = n < nearest->size;
        args->index[first + n] = found ? nearest->entry[n].slot : -1;
        weight[n] = found && sum != 0 ? weight[n] / sum : 0;
    }
    for (int64_t d = 0; d < args->head_width; ++d)
        y[d] = 0;
    for (int64_t n = 0; n < nearest->size; ++n)
        for (int64_t d = 0; d < args->head_width; ++d)
            y[d] += weight[n] * v[nearest->entry[n].slot * pitch + d];
}

static void attend_tile(const forward_args *args, int64_t batch, int64_t head, lh_range rows,
                        scratch *work) {
    const int64_t filled = lh_min(args->count[batch], args->capacity);
    const int64_t pitch = args->heads * args->head_width, queries = rows.end - rows.begin;
    real *k = (real *)args->k + batch * args->capacity * pitch + head * args->head_width;
    const lh_rows q = lh_head_rows(args->q, batch, head, rows.begin);
    const lh_rows score = {work->score, PITCH};
    for (int64_t row = 0; row < queries; ++row) {
        const lh_nearest empty = {args->top, 0, work->entry + row * args->top};
        work->nearest[row] = empty;
    }
    for (int64_t slot = 0; slot < filled; slot += STRETCH) {
        const int64_t keys = lh_min(filled - slot, STRETCH);
        const lh_rows stretch = {k + slot * pitch, pitch};
        lh_blas_multiply(false, true, queries, keys, args->head_width, 1, q, stretch, 0, score);
        for (int64_t row = 0; row < queries; ++row)
            offer(&work->nearest[row], work->score + row * PITCH, keys, slot);
    }
    for (int64_t row = 0; row < queries; ++row) {
        lh_nearest_sort(&work->nearest[row]);
        attend_row(args, batch, head, rows.begin + row, &work->nearest[row]);
    }
}

size_t lh_cpu_knn_attention_forward_workspace(const forward_args *args) {
    return (size_t)lh_attention_slots() * scratch_bytes(args->top);
}

lh_status lh_cpu_knn_attention_forward(const lh_launch *launch, const forward_args *args) {
    const int64_t tiles = lh_chunk_count(args->queries, LH_ATTENTION_ROWS);
    const int64_t tasks = args->batch * args->heads * tiles;
    uint8_t *memory = launch->workspace;
#pragma omp parallel for schedule(dynamic) num_threads(lh_attention_threads()) if (tasks > 1)
    for (int64_t task = 0; task < tasks; ++task) {
        uint8_t *slot = memory + (size_t)lh_attention_thread() * scratch_bytes(args->top);
        attend_tile(args, task / tiles / args->heads, task / tiles % args->heads,
                    lh_chunk(args->queries, LH_ATTENTION_ROWS, task % tiles),
                    (scratch *)(void *)slot);
    }
    return LH_OK;
}

/* Gradient of one query through its list; gives that of the head's scale. */
static double differentiate_row(const backward_args *args, int64_t batch, int64_t head, int64_t i) {
    const int64_t first = ((batch * args->queries + i) * args->heads + head) * args->top;
    const int64_t pitch = args->heads * args->head_width, width = args->head_width;
    const int64_t memory = batch * args->capacity * pitch + head * width;
    const real scale = args->head_scale ? args->head_scale[head] : LH_R(1);
    const real *dout = lh_head_rows(args->dout, batch, head, i).data;
    const real *q = lh_head_rows(args->q, batch, head, i).data;
    real *dq = args->dq.act.data ? lh_head_rows(args->dq, batch, head, i).data : NULL;
    real delta = 0;
    double scale_gradient = 0;
    for (int64_t n = 0; n < args->top && args->index[first + n] >= 0; ++n)
        delta += args->weight[first + n] *
                 lh_attention_dot(width, dout, args->v + memory + args->index[first + n] * pitch);
    for (int64_t d = 0; dq && args->dq_write == LH_SET && d < width; ++d)
        dq[d] = 0;
    for (int64_t n = 0; n < args->top && args->index[first + n] >= 0; ++n) {
        if (args->weight[first + n] == 0) continue; /* its score may be infinite */
        const int64_t offset = memory + args->index[first + n] * pitch;
        const real *k = args->k + offset;
        const real gradient =
            args->weight[first + n] * (lh_attention_dot(width, dout, args->v + offset) - delta);
        scale_gradient += (double)(gradient * lh_attention_dot(width, q, k));
        for (int64_t d = 0; dq && d < width; ++d)
            dq[d] += scale * gradient * k[d];
    }
    return scale_gradient;
}

static int64_t backward_tasks(const backward_args *args) {
    return args->batch * args->heads * lh_chunk_count(args->queries, LH_ATTENTION_ROWS);
}

size_t lh_cpu_knn_attention_backward_workspace(const backward_args *args) {
    return lh_attention_align((size_t)backward_tasks(args) * sizeof(double));
}

/* Joins the sums [batch][heads][tiles] in order. */
static void join_scale(const backward_args *args, const double *sums, int64_t tiles) {
    for (int64_t head = 0; head < args->heads; ++head) {
        real *y = &args->dhead_scale[head];
        double sum = args->dhead_scale_write == LH_ADD ? (double)*y : 0;
        for (int64_t batch = 0; batch < args->batch; ++batch)
            for (int64_t tile = 0; tile < tiles; ++tile)
                sum += sums[(batch * args->heads + head) * tiles + tile];
        *y = (real)sum;
    }
}

lh_status lh_cpu_knn_attention_backward(const lh_launch *launch, const backward_args *args) {
    const int64_t tiles = lh_chunk_count(args->queries, LH_ATTENTION_ROWS);
    const int64_t tasks = backward_tasks(args);
    double *sums = launch->workspace;
#pragma omp parallel for schedule(dynamic) if (tasks > 1)
    for (int64_t task = 0; task < tasks; ++task) {
        const lh_range rows = lh_chunk(args->queries, LH_ATTENTION_ROWS, task % tiles);
        sums[task] = 0;
        for (int64_t i = rows.begin; i < rows.end; ++i)
            sums[task] +=
                differentiate_row(args, task / tiles / args->heads, task / tiles % args->heads, i);
    }
    if (args->dhead_scale) join_scale(args, sums, tiles);
    return LH_OK;
}
