/* Hashing, sorting and attention within buckets (Kitaev et al. 2020), each pair of tokens by
 * itself. */
#include "tests/kernels/reference/loops.h"

/* ---- hashing ---- */

/* The first largest of [y; -y], y = x times `half` columns of a matrix with rows `pitch` apart. */
static int64_t hash_of(const number *x, int64_t width, const number *columns, int64_t pitch,
                       int64_t half) {
    int64_t best = 0;
    number most = 0;
    for (int64_t c = 0; c < 2 * half; c++) {
        number y = 0;
        for (int64_t d = 0; d < width; d++)
            y += x[d] * columns[d * pitch + c % half];
        if (c >= half) y = -y;
        if (c > 0 && y <= most) continue;
        best = c;
        most = y;
    }
    return best;
}

void REFERENCE(lsh_hash)(const void *arguments) {
    const lh_lsh_hash_args *args = arguments;
    int64_t columns = 0, at = 0;
    for (int64_t f = 0; f < args->factors; f++)
        columns += args->factor[f] / 2;
    const int64_t pitch = args->rounds * columns;
    for (int64_t b = 0; b < args->batch; b++)
        for (int64_t h = 0; h < args->heads; h++)
            for (int64_t r = 0; r < args->rounds; r++)
                for (int64_t t = 0; t < args->length; t++) {
                    const int64_t pair = b * args->heads + h;
                    const number *rotation = (const number *)(const void *)args->rotation +
                                             pair * args->head_width * pitch + r * columns;
                    int64_t bucket = 0, place = 1;
                    for (int64_t f = 0; f < args->factors; f++) {
                        const int64_t half = args->factor[f] / 2;
                        bucket += place * hash_of(row_of(&args->x, b, t, h), args->head_width,
                                                  rotation, pitch, half);
                        place *= args->factor[f];
                        rotation += half;
                    }
                    args->bucket[at++] = (int32_t)bucket;
                }
}

/* ---- sorting ---- */

void REFERENCE(lsh_sort)(const void *arguments) {
    const lh_lsh_sort_args *args = arguments;
    for (int64_t row = 0; row < args->rows; row++) {
        const int64_t at = row * args->length;
        int64_t slot = 0;
        for (int64_t b = 0; b < args->buckets; b++) {
            const int64_t start = slot;
            for (int64_t t = 0; t < args->length; t++) {
                if (args->bucket[at + t] != b) continue;
                const int64_t reach = (slot / args->chunk - 1) * args->chunk;
                args->first[at + t] = (int32_t)(reach > start ? reach : start);
                args->slot[at + t] = (int32_t)slot;
                args->order[at + slot++] = (int32_t)t;
            }
        }
    }
}

/* ---- attention ---- */

/* What both passes are told. */
typedef struct lsh_tables {
    int64_t heads, length, rounds, chunk;
    bool any_bucket;
    const int32_t *slot, *first;
} lsh_tables;

#define LSH_TABLES(args)                                                                           \
    {                                                                                              \
        (args)->heads, (args)->length, (args)->rounds, (args)->chunk, (args)->any_bucket,          \
            (args)->slot, (args)->first                                                            \
    }

static bool lsh_sees(const lsh_tables *tables, int64_t pair, int64_t r, int64_t i, int64_t j) {
    const int64_t at = (pair * tables->rounds + r) * tables->length;
    const int64_t later = tables->slot[at + i] / tables->chunk,
                  earlier = tables->slot[at + j] / tables->chunk;
    if (tables->any_bucket) return j < i && (later == earlier || later == earlier + 1);
    return tables->first[at + i] <= tables->slot[at + j] &&
           tables->slot[at + j] < tables->slot[at + i];
}

/* The rounds in which i sees j. */
static int64_t lsh_count(const lsh_tables *tables, int64_t pair, int64_t i, int64_t j) {
    int64_t count = 0;
    for (int64_t r = 0; r < tables->rounds; r++)
        count += lsh_sees(tables, pair, r, i, j);
    return count;
}

/* How often a key that is seen counts. */
static int64_t lsh_times(const lsh_tables *tables, int64_t pair, int64_t i, int64_t j) {
    const int64_t count = lsh_count(tables, pair, i, j);
    return tables->any_bucket || count == 0 ? count : 1;
}

/* Sizes and precision as products of head vectors want them. */
static lh_attention_spec lsh_box(int64_t batch, int64_t heads, int64_t head_width,
                                 lh_precision precision) {
    return (lh_attention_spec){
        .batch = batch, .heads = heads, .head_width = head_width, .precision = precision};
}

/* The sum over rounds of exp(score - log N) is that of exp(score), once for each key seen, or of
 * any bucket once for each round. */
static void attend_hashed(const lh_lsh_attention_forward_args *args, const lsh_tables *tables,
                          int64_t b, int64_t h, int64_t i) {
    const lh_attention_spec box = lsh_box(0, 0, args->head_width, args->precision);
    const int64_t pair = b * args->heads + h;
    const number *q = row_of(&args->q, b, i, h), *own = row_of(&args->v, b, i, h);
    number *out = row_of(&args->out, b, i, h);
    number *lse = (number *)(void *)args->lse + pair * args->length + i;
    number most = -(number)INFINITY, sum = 0;
    for (int64_t j = 0; j < args->length; j++)
        if (lsh_count(tables, pair, i, j) > 0)
            most = larger(most, inner_rounded(&box, q, row_of(&args->k, b, j, h)));
    for (int64_t d = 0; d < args->head_width; d++)
        out[d] = most == -(number)INFINITY ? own[d] : 0;
    for (int64_t j = 0; j < args->length; j++) {
        for (int64_t n = lsh_times(tables, pair, i, j); n > 0; n--) {
            const number weight =
                exp(inner_rounded(&box, q, row_of(&args->k, b, j, h)) - shift_of(most));
            sum += weight;
            add_rounded(&box, &args->out, b, i, h, 1, weight, row_of(&args->v, b, j, h));
        }
    }
    *lse = sum == 0 ? -(number)INFINITY : most + log(sum);
    for (int64_t d = 0; sum != 0 && d < args->head_width; d++)
        out[d] /= sum;
}

void REFERENCE(lsh_attention_forward)(const void *arguments) {
    const lh_lsh_attention_forward_args *args = arguments;
    const lsh_tables tables = LSH_TABLES(args);
    for (int64_t b = 0; b < args->batch; b++)
        for (int64_t h = 0; h < args->heads; h++)
            for (int64_t i = 0; i < args->length; i++)
                attend_hashed(args, &tables, b, h, i);
}

static void attend_hashed_back(const lh_lsh_attention_backward_args *args, const lsh_tables *tables,
                               int64_t b, int64_t h, int64_t i) {
    const lh_attention_spec box = lsh_box(0, 0, args->head_width, args->precision);
    const int64_t pair = b * args->heads + h, width = args->head_width;
    const number *q = row_of(&args->q, b, i, h), *dout = row_of(&args->dout, b, i, h);
    const number lse = ((const number *)(const void *)args->lse)[pair * args->length + i];
    const number delta = inner(dout, row_of(&args->out, b, i, h), width);
    if (lse == -(number)INFINITY) add_scaled(&args->dv, b, i, h, 1, dout, width);
    for (int64_t j = 0; j < args->length; j++) {
        for (int64_t n = lsh_times(tables, pair, i, j); n > 0; n--) {
            const number *k = row_of(&args->k, b, j, h), *v = row_of(&args->v, b, j, h);
            const number weight = exp(inner_rounded(&box, q, k) - shift_of(lse));
            const number dscore = weight * (inner_rounded(&box, dout, v) - delta);
            add_rounded(&box, &args->dq, b, i, h, 1, dscore, k);
            add_rounded(&box, &args->dk, b, j, h, 1, dscore, q);
            add_rounded(&box, &args->dv, b, j, h, 1, weight, dout);
        }
    }
}

void REFERENCE(lsh_attention_backward)(const void *arguments) {
    const lh_lsh_attention_backward_args *args = arguments;
    const lsh_tables tables = LSH_TABLES(args);
    const lh_attention_spec box =
        lsh_box(args->batch, args->heads, args->head_width, args->precision);
    if (args->dq_write == LH_SET) clear_view(&box, &args->dq, args->length);
    if (args->dk_write == LH_SET) clear_view(&box, &args->dk, args->length);
    if (args->dv_write == LH_SET) clear_view(&box, &args->dv, args->length);
    for (int64_t b = 0; b < args->batch; b++)
        for (int64_t h = 0; h < args->heads; h++)
            for (int64_t i = 0; i < args->length; i++)
                attend_hashed_back(args, &tables, b, h, i);
}
