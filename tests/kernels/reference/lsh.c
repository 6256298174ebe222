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

static bool lsh_sees(const lh_lsh_attention_spec *spec, int64_t pair, int64_t r, int64_t i,
                     int64_t j) {
    const int64_t at = (pair * spec->rounds + r) * spec->length;
    const int64_t later = spec->slot[at + i] / spec->chunk,
                  earlier = spec->slot[at + j] / spec->chunk;
    if (spec->any_bucket) return j < i && (later == earlier || later == earlier + 1);
    return spec->first[at + i] <= spec->slot[at + j] && spec->slot[at + j] < spec->slot[at + i];
}

/* The rounds in which i sees j. */
static int64_t lsh_count(const lh_lsh_attention_spec *spec, int64_t pair, int64_t i, int64_t j) {
    int64_t count = 0;
    for (int64_t r = 0; r < spec->rounds; r++)
        count += lsh_sees(spec, pair, r, i, j);
    return count;
}

/* How often a key that is seen counts. */
static int64_t lsh_times(const lh_lsh_attention_spec *spec, int64_t pair, int64_t i, int64_t j) {
    const int64_t count = lsh_count(spec, pair, i, j);
    return spec->any_bucket || count == 0 ? count : 1;
}

/* Sizes and precision as products of head vectors want them. */
static lh_attention_spec lsh_box(int64_t batch, int64_t heads, int64_t head_width,
                                 lh_precision precision) {
    return (lh_attention_spec){
        .batch = batch, .heads = heads, .head_width = head_width, .precision = precision};
}

/* The sum over rounds of exp(score - log N) is that of exp(score), once for each key seen, or of
 * any bucket once for each round. */
static void attend_hashed(const lh_lsh_attention_forward_args *args, int64_t b, int64_t h,
                          int64_t i) {
    const lh_lsh_attention_spec *spec = &args->spec;
    const lh_attention_spec box = lsh_box(0, 0, spec->head_width, spec->precision);
    const int64_t pair = b * spec->heads + h;
    const number *q = row_of(&args->q, b, i, h), *own = row_of(&args->v, b, i, h);
    number *out = row_of(&args->out, b, i, h);
    number *lse = (number *)(void *)args->lse + pair * spec->length + i;
    number most = -(number)INFINITY, sum = 0;
    for (int64_t j = 0; j < spec->length; j++)
        if (lsh_count(spec, pair, i, j) > 0)
            most = larger(most, inner_rounded(&box, q, row_of(&args->k, b, j, h)));
    for (int64_t d = 0; d < spec->head_width; d++)
        out[d] = most == -(number)INFINITY ? own[d] : 0;
    for (int64_t j = 0; j < spec->length; j++) {
        for (int64_t n = lsh_times(spec, pair, i, j); n > 0; n--) {
            const number weight =
                exp(inner_rounded(&box, q, row_of(&args->k, b, j, h)) - shift_of(most));
            sum += weight;
            add_rounded(&box, &args->out, b, i, h, 1, weight, row_of(&args->v, b, j, h));
        }
    }
    *lse = sum == 0 ? -(number)INFINITY : most + log(sum);
    for (int64_t d = 0; sum != 0 && d < spec->head_width; d++)
        out[d] /= sum;
}

void REFERENCE(lsh_attention_forward)(const void *arguments) {
    const lh_lsh_attention_forward_args *args = arguments;
    for (int64_t b = 0; b < args->spec.batch; b++)
        for (int64_t h = 0; h < args->spec.heads; h++)
            for (int64_t i = 0; i < args->spec.length; i++)
                attend_hashed(args, b, h, i);
}

static void attend_hashed_back(const lh_lsh_attention_backward_args *args, int64_t b, int64_t h,
                               int64_t i) {
    const lh_lsh_attention_spec *spec = &args->spec;
    const lh_attention_spec box = lsh_box(0, 0, spec->head_width, spec->precision);
    const int64_t pair = b * spec->heads + h, width = spec->head_width;
    const number *q = row_of(&args->q, b, i, h), *dout = row_of(&args->dout, b, i, h);
    const number lse = ((const number *)(const void *)args->lse)[pair * spec->length + i];
    const number delta = inner_against(dout, row_of(&args->out, b, i, h), width);
    if (lse == -(number)INFINITY) add_scaled(&args->dv, b, i, h, 1, dout, width);
    for (int64_t j = 0; j < spec->length; j++) {
        for (int64_t n = lsh_times(spec, pair, i, j); n > 0; n--) {
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
    const lh_attention_spec box =
        lsh_box(args->spec.batch, args->spec.heads, args->spec.head_width, args->spec.precision);
    if (args->dq_write == LH_SET) clear_view(&box, &args->dq, args->spec.length);
    if (args->dk_write == LH_SET) clear_view(&box, &args->dk, args->spec.length);
    if (args->dv_write == LH_SET) clear_view(&box, &args->dv, args->spec.length);
    for (int64_t b = 0; b < args->spec.batch; b++)
        for (int64_t h = 0; h < args->spec.heads; h++)
            for (int64_t i = 0; i < args->spec.length; i++)
                attend_hashed_back(args, b, h, i);
}
