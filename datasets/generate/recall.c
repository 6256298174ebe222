/* Pairs, slots by a power law, queries. */
#include "datasets/generate/recall.h"

#include <stdlib.h>
#include <string.h>

#include "harness/engine/array.h"
#include "harness/engine/draw.h"

static lh_status check_rules(const lh_recall *rules) {
    const long long vocabulary = rules->vocabulary, pairs = rules->pairs, length = rules->length;
    if (length % 2 != 0 || length < 4 * pairs)
        return lh_fail(LH_EOPTION,
                       "recall: %lld pairs and as many queries take an even length of %lld tokens "
                       "or more, not %lld",
                       pairs, 4 * pairs, length);
    if (pairs > vocabulary / 2 - 1)
        return lh_fail(LH_EOPTION, "recall: a vocabulary of %lld has %lld keys, not %lld",
                       vocabulary, vocabulary / 2 - 1, pairs);
    return LH_OK;
}

lh_status lh_recall_open(const lh_recall *rules, lh_recall_writer *out) {
    *out = (lh_recall_writer){.rules = *rules, .slots = rules->length / 2 - rules->pairs};
    LH_TRY(check_rules(rules));
    out->taken = lh_allocate((size_t)rules->vocabulary);
    out->weight = lh_allocate((size_t)out->slots * sizeof *out->weight);
    if (out->taken == NULL || out->weight == NULL) return LH_EMEMORY;
    for (int64_t j = 0; j < out->slots; ++j)
        out->weight[j] = pow((double)(j + 1), rules->power - 1.0);
    return LH_OK;
}

void lh_recall_clear(lh_recall_writer *writer) {
    free(writer->taken);
    free(writer->weight);
    *writer = (lh_recall_writer){0};
}

/* One of `count` tokens from `first` on that the sequence does not have yet. */
static int32_t draw_new(lh_recall_writer *writer, lh_draws *draws, int64_t first, int64_t count) {
    int64_t token = first + lh_draw(draws, count);
    while (writer->taken[token])
        token = first + lh_draw(draws, count);
    writer->taken[token] = 1;
    return (int32_t)token;
}

static void write_pairs(lh_recall_writer *writer, lh_draws *draws, int32_t *tokens) {
    const int64_t half = writer->rules.vocabulary / 2;
    memset(writer->taken, 0, (size_t)writer->rules.vocabulary);
    for (int64_t i = 0; i < writer->rules.pairs; ++i) {
        tokens[2 * i] = draw_new(writer, draws, 1, half - 1);
        tokens[2 * i + 1] = draw_new(writer, draws, half, writer->rules.vocabulary - half);
    }
}

/* A free slot; `slot` are the first tokens of slots, 0 where they are free. */
static int64_t draw_slot(const lh_recall_writer *writer, lh_draws *draws, const int32_t *slot) {
    double left = 0.0;
    int64_t last = 0;
    for (int64_t j = 0; j < writer->slots; ++j)
        left += slot[2 * j] == 0 ? writer->weight[j] : 0.0;
    left *= lh_random_open_unit(lh_random_word(draws->key, draws->drawn++));
    for (int64_t j = 0; j < writer->slots && left > 0.0; ++j) {
        if (slot[2 * j] != 0) continue;
        left -= writer->weight[j];
        last = j;
    }
    return last;
}

static void write_queries(lh_recall_writer *writer, lh_draws *draws, lh_episode *out) {
    const int64_t begin = 2 * writer->rules.pairs;
    for (int64_t i = 0; i < writer->rules.pairs; ++i) {
        const int64_t at = begin + 2 * draw_slot(writer, draws, out->tokens + begin);
        out->tokens[at] = out->tokens[2 * i];
        out->labels[at] = out->tokens[2 * i + 1];
    }
}

void lh_recall_write(lh_recall_writer *writer, lh_random_key key, lh_episode *out) {
    lh_draws draws = {.key = key};
    out->length = writer->rules.length;
    for (int64_t t = 0; t < out->length; ++t) {
        out->tokens[t] = 0;
        out->labels[t] = LH_UNLABELLED;
    }
    write_pairs(writer, &draws, out->tokens);
    write_queries(writer, &draws, out);
    for (int64_t t = 2 * writer->rules.pairs; writer->rules.fills && t < out->length; ++t) {
        if (out->labels[t] == LH_UNLABELLED)
            out->tokens[t] = (int32_t)lh_draw(&draws, writer->rules.vocabulary);
    }
}
