/* The groups of a batch, a head and a tail for each cluster, by plain cross-entropies and
 * softmaxes. */
#include "harness/train/adaptive_softmax.h"

#include <stdlib.h>

/* hidden as [tokens][width]. */
static lh_tensor *flat_hidden(lh_tape *tape, const lh_output *output) {
    lh_tensor *hidden = lh_contiguous(tape, output->hidden);
    if (hidden == NULL) return NULL;
    const int64_t shape[] = {-1, hidden->shape[hidden->rank - 1]};
    return lh_reshape(tape, hidden, 2, shape);
}

/* ---- a softmax over a part of the weights ---- */

typedef struct part {
    lh_tensor *weight, *bias;
    lh_tensor *projection; /* NULL: words are as wide as hidden states */
} part;

int64_t lh_output_vocabulary(const lh_output *output) {
    if (output->head_projection == NULL) return output->head_weight->shape[0];
    const int last = output->clusters - 1;
    return output->cutoff[last] + output->cluster[last].weight->shape[0];
}

/* Where the words of cluster i end; -1: the frequent words. */
static int64_t end_of(const lh_output *output, int i) {
    return i + 1 < output->clusters ? output->cutoff[i + 1] : lh_output_vocabulary(output);
}

/* The frequent words, then the clusters. */
static part head_of(lh_tape *tape, const lh_output *output) {
    lh_tensor *const weights[] = {lh_slice(tape, output->head_weight, 0, 0, output->cutoff[0]),
                                  output->cluster_weight};
    lh_tensor *const biases[] = {lh_slice(tape, output->head_bias, 0, 0, output->cutoff[0]),
                                 output->cluster_bias};
    return (part){lh_concat(tape, 0, weights, 2), lh_concat(tape, 0, biases, 2),
                  output->head_projection};
}

/* The words of cluster i. */
static part tail_of(lh_tape *tape, const lh_output *output, int i) {
    const lh_cluster *own = &output->cluster[i];
    if (output->head_projection != NULL) return (part){own->weight, own->bias, own->projection};
    const int64_t first = output->cutoff[i], count = end_of(output, i) - first;
    return (part){lh_slice(tape, output->head_weight, 0, first, count),
                  lh_slice(tape, output->head_bias, 0, first, count), NULL};
}

/* hidden [tokens][width] as wide as the words of a part. */
static lh_tensor *narrow(lh_tape *tape, lh_tensor *hidden, part words) {
    if (words.projection == NULL) return hidden;
    return lh_matmul(tape, hidden, words.projection, false, true);
}

/* The head's entry for cluster i: the released code counts them from the end. */
static int64_t entry_of(const lh_output *output, int i) {
    return output->cutoff[0] + output->clusters - 1 - i;
}

/* ---- the loss ---- */

/* Tokens whose words lie in [first, end). */
typedef struct group {
    int64_t count;
    int32_t *token, *target; /* place among all tokens; place among the words */
    real *weight;            /* NULL: 1 each */
} group;

/* What all groups are picked from, on the host. */
typedef struct tokens {
    int64_t count;
    int32_t *target;
    real *weight;
} tokens;

static void release(int32_t *a, int32_t *b, real *weight) {
    free(a);
    free(b);
    free(weight);
}

static bool read_tokens(const lh_batch *batch, tokens *all) {
    all->count = batch->rows * batch->length;
    all->target = lh_allocate((size_t)all->count * sizeof *all->target);
    if (all->target == NULL || lh_tensor_read(batch->target, all->target, all->count) != LH_OK)
        return false;
    if (batch->weights == NULL) return true;
    all->weight = lh_allocate((size_t)all->count * sizeof *all->weight);
    return all->weight != NULL && lh_tensor_read(batch->weights, all->weight, all->count) == LH_OK;
}

/* Tokens that count for nothing are in no group: their targets may be anything. */
static bool counts(const tokens *all, int64_t t) {
    return all->weight == NULL || all->weight[t] > 0;
}

/* False after a message for another target that is no word. */
static bool check_targets(const tokens *all, int64_t vocabulary) {
    for (int64_t t = 0; t < all->count; ++t) {
        const bool is_word = all->target[t] >= 0 && all->target[t] < vocabulary;
        if (is_word || !counts(all, t)) continue;
        (void)lh_fail(LH_EOPTION, "loss: target %d is none of the %lld words", all->target[t],
                      (long long)vocabulary);
        return false;
    }
    return true;
}

static bool pick(const tokens *all, int64_t first, int64_t end, group *out) {
    const size_t most = (size_t)all->count + 1;
    out->token = lh_allocate(most * sizeof *out->token);
    out->target = lh_allocate(most * sizeof *out->target);
    if (all->weight != NULL) out->weight = lh_allocate(most * sizeof *out->weight);
    if (!out->token || !out->target || (all->weight != NULL && !out->weight)) return false;
    for (int64_t t = 0; t < all->count; ++t) {
        if (!counts(all, t) || all->target[t] < first || all->target[t] >= end) continue;
        out->token[out->count] = (int32_t)t;
        out->target[out->count] = (int32_t)(all->target[t] - first);
        if (out->weight != NULL) out->weight[out->count] = all->weight[t];
        out->count += 1;
    }
    return true;
}

/* What the softmaxes of all groups are made of, and add up to. */
typedef struct pass {
    lh_tape *tape;
    const lh_output *output;
    lh_tensor *hidden; /* [tokens][width] */
    part head;
    double gradient_scale;
    bool wants_sums;
    lh_tensor *loss; /* NULL: no group had a token so far */
    lh_loss_sums sums;
} pass;

/* One softmax of a group's tokens; all have target `entry` unless it is negative. */
static lh_tensor *group_loss(const pass *p, part words, const group *g, int64_t entry,
                             lh_loss_sums *sums) {
    lh_tensor *place = lh_integers(p->tape, 1, &g->count, g->token);
    lh_tensor *weights = g->weight != NULL ? lh_reals(p->tape, 1, &g->count, g->weight) : NULL;
    int32_t *same = NULL;
    if (entry >= 0) {
        same = lh_allocate((size_t)g->count * sizeof *same);
        if (same == NULL) return NULL;
        for (int64_t i = 0; i < g->count; ++i)
            same[i] = (int32_t)entry;
    }
    lh_tensor *target = lh_integers(p->tape, 1, &g->count, same != NULL ? same : g->target);
    free(same);
    lh_tensor *hidden = narrow(p->tape, lh_gather(p->tape, p->hidden, place), words);
    const lh_cross_entropy head = {.weight = words.weight,
                                   .bias = words.bias,
                                   .scale = p->output->logit_scale,
                                   .target = target,
                                   .weights = weights,
                                   .gradient_scale = p->gradient_scale,
                                   .sums = p->wants_sums ? sums : NULL};
    return lh_linear_cross_entropy(p->tape, &head, hidden);
}

/* Adds a group's two softmaxes, or the frequent words' one (cluster -1). */
static bool add_group(pass *p, const group *g, int cluster) {
    lh_loss_sums first = {0}, second = {0};
    if (g->count == 0) return true;
    const int64_t entry = cluster >= 0 ? entry_of(p->output, cluster) : -1;
    lh_tensor *sum = group_loss(p, p->head, g, entry, &first);
    if (cluster >= 0) {
        const part tail = tail_of(p->tape, p->output, cluster);
        sum = lh_add(p->tape, sum, group_loss(p, tail, g, -1, &second));
    }
    p->loss = p->loss == NULL ? sum : lh_add(p->tape, p->loss, sum);
    p->sums.nats += first.nats + second.nats;
    p->sums.weight += first.weight;
    if (cluster < 0) p->sums.correct += first.correct;
    return p->loss != NULL;
}

static bool add_all(pass *p, const tokens *all) {
    const lh_output *output = p->output;
    p->hidden = flat_hidden(p->tape, output);
    p->head = head_of(p->tape, output);
    bool good = p->hidden != NULL;
    for (int i = -1; i < output->clusters && good; ++i) {
        group g = {0};
        good =
            pick(all, i >= 0 ? output->cutoff[i] : 0, end_of(output, i), &g) && add_group(p, &g, i);
        release(g.token, g.target, g.weight);
    }
    return good;
}

lh_tensor *lh_adaptive_cross_entropy(lh_tape *tape, const lh_output *output, const lh_batch *batch,
                                     double gradient_scale, lh_loss_sums *sums) {
    tokens all = {0};
    pass p = {.tape = tape,
              .output = output,
              .gradient_scale = gradient_scale,
              .wants_sums = sums != NULL};
    const bool good = read_tokens(batch, &all) &&
                      check_targets(&all, lh_output_vocabulary(output)) && add_all(&p, &all);
    release(all.target, NULL, all.weight);
    if (sums != NULL) *sums = p.sums;
    if (!good) return NULL;
    /* Where nothing counts the loss is 0 all the same, and zeros flow back from it. */
    return p.loss != NULL ? p.loss : lh_scale(tape, lh_sum_all(tape, p.hidden), 0.0);
}

/* ---- all words ---- */

/* x [tokens][words] + factor y, a number for each token. No product, which rounds in bf16. */
static lh_tensor *add_column(lh_tape *tape, lh_tensor *x, double factor, lh_tensor *y) {
    static const int64_t flat[] = {-1};
    static const int transposed[] = {1, 0};
    if (x == NULL) return NULL;
    y = lh_repeat(tape, lh_reshape(tape, lh_scale(tape, y, factor), 1, flat), x->shape[1]);
    return lh_add(tape, x, lh_permute(tape, y, transposed));
}

/* Not the logarithm of a softmax, which is 0 where a word is as unlikely as none. */
static lh_tensor *log_softmax(lh_tape *tape, lh_tensor *hidden, part words, double scale) {
    lh_tensor *x = lh_matmul(tape, narrow(tape, hidden, words), words.weight, false, true);
    x = lh_scale(tape, lh_add_row(tape, x, words.bias), scale);
    x = add_column(tape, x, -1.0, lh_maximum(tape, x, 1));
    lh_tensor *sums = lh_sum(tape, lh_unary(tape, LH_UNARY_EXP, x), 1);
    return add_column(tape, x, -1.0, lh_unary(tape, LH_UNARY_LOG, sums));
}

lh_tensor *lh_adaptive_log_probabilities(lh_tape *tape, const lh_output *output) {
    lh_tensor *parts[LH_CLUSTERS + 1] = {NULL};
    lh_tensor *hidden = flat_hidden(tape, output);
    lh_tensor *head = log_softmax(tape, hidden, head_of(tape, output), output->logit_scale);
    if (head == NULL) return NULL;
    parts[0] = lh_slice(tape, head, 1, 0, output->cutoff[0]);
    for (int i = 0; i < output->clusters; ++i) {
        lh_tensor *tail = log_softmax(tape, hidden, tail_of(tape, output, i), output->logit_scale);
        lh_tensor *entry = lh_slice(tape, head, 1, entry_of(output, i), 1);
        parts[i + 1] = add_column(tape, tail, 1.0, entry);
    }
    return lh_concat(tape, 1, parts, output->clusters + 1);
}

/* ---- one head of the model's width ---- */

lh_status lh_adaptive_widen(lh_tape *tape, lh_output *output) {
    lh_tensor *weights[LH_CLUSTERS + 1], *biases[LH_CLUSTERS + 1];
    const int parts = output->clusters + 1;
    if (output->head_projection == NULL) return LH_OK;
    lh_tape_pause_flops(tape); /* all tokens share it: no work of one */
    weights[0] = lh_matmul(tape, output->head_weight, output->head_projection, false, false);
    biases[0] = output->head_bias;
    for (int i = 1; i < parts; ++i) {
        const lh_cluster *own = &output->cluster[i - 1];
        weights[i] = lh_matmul(tape, own->weight, own->projection, false, false);
        biases[i] = own->bias;
    }
    output->cluster_weight =
        lh_matmul(tape, output->cluster_weight, output->head_projection, false, false);
    lh_tape_resume_flops(tape);
    output->head_weight = lh_concat(tape, 0, weights, parts);
    output->head_bias = lh_concat(tape, 0, biases, parts);
    output->head_projection = NULL;
    return output->cluster_weight && output->head_weight && output->head_bias ? LH_OK : lh_failed();
}
