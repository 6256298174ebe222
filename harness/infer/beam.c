/* The search itself, with the open and the finished sequences of each beam in sorted lists. */
#include "harness/infer/beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sequence that may win: row `row` of the step, continued by `token`. */
typedef struct candidate {
    double log_probability;
    int64_t row;
    int32_t token;
} candidate;

typedef struct finished {
    double score;
    int64_t count;
} finished;

typedef struct search {
    const lh_beam_spec *spec;
    int64_t rows, most;       /* most: candidates kept of a sequence, twice the beam */
    int32_t *prefix, *next;   /* [rows][longest], of which `length` are used */
    double *log_probability;  /* [rows]: -infinity: the row is not in use */
    double *next_probability; /* [rows] */
    int64_t *parent;          /* [rows] */
    real *logits;             /* [rows][vocabulary] */
    candidate *best;          /* [most] */
    int32_t *ended;           /* [rows][longest]: finished sequences */
    finished *done;           /* [rows]: those of a sequence from the best down */
    int64_t *done_count;      /* [sequences] */
    bool *closed;             /* [sequences] */
    int32_t *packed;          /* [rows][length]: what a step reads */
    lh_beam_result *results;  /* [sequences] of the caller's */
} search;

static int64_t limit_of(const lh_beam_spec *spec, int64_t sequence) {
    return spec->limits != NULL ? spec->limits[sequence] : spec->longest;
}

/* log P / ((5 + length) / 6)^alpha. */
static double score_of(const lh_beam_spec *spec, double log_probability, int64_t length) {
    return log_probability / pow((5.0 + (double)length) / 6.0, spec->length_penalty);
}

/* ---- life ---- */

static lh_status check_spec(const lh_beam_spec *spec) {
    if (spec->sequences < 1 || spec->beam < 1 || spec->longest < 1)
        return lh_fail(LH_EOPTION, "beam search: %lld sequences, beam %lld, %lld tokens",
                       (long long)spec->sequences, (long long)spec->beam, (long long)spec->longest);
    if (spec->end < 0 || spec->end >= spec->vocabulary)
        return lh_fail(LH_EOPTION, "beam search: end %d is outside the vocabulary of %lld",
                       (int)spec->end, (long long)spec->vocabulary);
    for (int64_t q = 0; q < spec->sequences; ++q) {
        const int64_t limit = limit_of(spec, q);
        if (limit < 1 || limit > spec->longest)
            return lh_fail(LH_EOPTION, "beam search: sequence %lld of %lld tokens, at most %lld",
                           (long long)q, (long long)limit, (long long)spec->longest);
    }
    return LH_OK;
}

static lh_status open_search(search *s) {
    const lh_beam_spec *spec = s->spec;
    s->rows = spec->sequences * spec->beam;
    s->most = 2 * spec->beam;
    const size_t rows = (size_t)s->rows, tokens = rows * (size_t)spec->longest;
    s->prefix = lh_allocate_zeroed(tokens, sizeof *s->prefix);
    s->next = lh_allocate_zeroed(tokens, sizeof *s->next);
    s->packed = lh_allocate_zeroed(tokens, sizeof *s->packed);
    s->ended = lh_allocate_zeroed(tokens, sizeof *s->ended);
    s->log_probability = lh_allocate_zeroed(rows, sizeof *s->log_probability);
    s->next_probability = lh_allocate_zeroed(rows, sizeof *s->next_probability);
    s->parent = lh_allocate_zeroed(rows, sizeof *s->parent);
    s->logits = lh_allocate(rows * (size_t)spec->vocabulary * sizeof *s->logits);
    s->best = lh_allocate_zeroed((size_t)s->most, sizeof *s->best);
    s->done = lh_allocate_zeroed(rows, sizeof *s->done);
    s->done_count = lh_allocate_zeroed((size_t)spec->sequences, sizeof *s->done_count);
    s->closed = lh_allocate_zeroed((size_t)spec->sequences, sizeof *s->closed);
    const bool complete = s->prefix && s->next && s->packed && s->ended && s->log_probability &&
                          s->next_probability && s->parent && s->logits && s->best && s->done &&
                          s->done_count && s->closed;
    return complete ? LH_OK : LH_EMEMORY;
}

static void close_search(search *s) {
    free(s->prefix);
    free(s->next);
    free(s->packed);
    free(s->ended);
    free(s->log_probability);
    free(s->next_probability);
    free(s->parent);
    free(s->logits);
    free(s->best);
    free(s->done);
    free(s->done_count);
    free(s->closed);
}

/* ---- candidates ---- */

static double log_sum_exp(const real *x, int64_t count) {
    double highest = -HUGE_VAL, sum = 0.0;
    for (int64_t i = 0; i < count; ++i)
        highest = (double)x[i] > highest ? (double)x[i] : highest;
    for (int64_t i = 0; i < count; ++i)
        sum += exp((double)x[i] - highest);
    return highest + log(sum);
}

/* Keeps the `most` best, from the best down; returns how many there are now. An equal one stays
 * behind those that came before. */
static int64_t insert(search *s, int64_t count, candidate made) {
    int64_t at = count < s->most ? count : s->most - 1;
    if (count == s->most && !(made.log_probability > s->best[at].log_probability)) return count;
    for (; at > 0 && made.log_probability > s->best[at - 1].log_probability; --at)
        s->best[at] = s->best[at - 1];
    s->best[at] = made;
    return count < s->most ? count + 1 : count;
}

/* The best continuations of the rows of one sequence. */
static int64_t find_candidates(search *s, int64_t sequence) {
    const lh_beam_spec *spec = s->spec;
    int64_t count = 0;
    for (int64_t b = 0; b < spec->beam; ++b) {
        const int64_t row = sequence * spec->beam + b;
        const real *logits = s->logits + row * spec->vocabulary;
        if (isinf(s->log_probability[row])) continue;
        const double before = s->log_probability[row] - log_sum_exp(logits, spec->vocabulary);
        for (int64_t v = 0; v < spec->vocabulary; ++v) {
            const double probability = before + (double)logits[v];
            if (!isinf(probability))
                count = insert(s, count, (candidate){probability, row, (int32_t)v});
        }
    }
    return count;
}

/* ---- finished sequences ---- */

/* Puts the prefix of a row, `length` tokens, among the `beam` best finished ones. */
static void finish(search *s, int64_t sequence, int64_t row, double score, int64_t length) {
    const int64_t beam = s->spec->beam, longest = s->spec->longest, first = sequence * beam;
    finished *done = s->done + first;
    int64_t *count = &s->done_count[sequence];
    int64_t at = *count < beam ? *count : beam - 1;
    if (*count == beam && !(score > done[at].score)) return;
    for (; at > 0 && score > done[at - 1].score; --at) {
        done[at] = done[at - 1];
        memcpy(s->ended + (first + at) * longest, s->ended + (first + at - 1) * longest,
               (size_t)longest * sizeof *s->ended);
    }
    done[at] = (finished){.score = score, .count = length};
    memcpy(s->ended + (first + at) * longest, s->prefix + row * longest,
           (size_t)length * sizeof *s->ended);
    if (*count < beam) *count += 1;
}

/* Whether the open sequences, of `length` tokens, are at their limit or none can overtake the worst
 * of enough finished ones: its log-probability only falls, and a longer one is divided by more. */
static bool is_decided(const search *s, int64_t sequence, int64_t length) {
    const lh_beam_spec *spec = s->spec;
    const int64_t limit = limit_of(spec, sequence);
    const double open = s->log_probability[sequence * spec->beam];
    if (isinf(open) || length == limit) return true;
    if (s->done_count[sequence] < spec->beam) return false;
    const finished *worst = &s->done[sequence * spec->beam + spec->beam - 1];
    return worst->score >= score_of(spec, open, limit);
}

/* The best finished sequence, or else the best open one. */
static void give_result(const search *s, int64_t sequence, int64_t length) {
    lh_beam_result *out = &s->results[sequence];
    const int64_t first = sequence * s->spec->beam;
    const bool ended = s->done_count[sequence] > 0;
    const int32_t *tokens = (ended ? s->ended : s->prefix) + first * s->spec->longest;
    out->ended = ended;
    out->count = ended ? s->done[first].count : length;
    out->score =
        ended ? s->done[first].score : score_of(s->spec, s->log_probability[first], length);
    memcpy(out->tokens, tokens, (size_t)out->count * sizeof *out->tokens);
}

/* Shares the candidates of a sequence out: the end finishes, the others are the rows to come. */
static void advance(search *s, int64_t sequence, int64_t length) {
    const lh_beam_spec *spec = s->spec;
    const int64_t first = sequence * spec->beam, count = find_candidates(s, sequence);
    int64_t open = 0;
    for (int64_t i = 0; i < count; ++i) {
        const candidate *c = &s->best[i];
        if (c->token == spec->end) {
            finish(s, sequence, c->row, score_of(spec, c->log_probability, length + 1), length);
        } else if (open < spec->beam) {
            const int64_t row = first + open++;
            memcpy(s->next + row * spec->longest, s->prefix + c->row * spec->longest,
                   (size_t)length * sizeof *s->next);
            s->next[row * spec->longest + length] = c->token;
            s->next_probability[row] = c->log_probability;
            s->parent[row] = c->row;
        }
    }
    for (; open < spec->beam; ++open)
        s->next_probability[first + open] = -HUGE_VAL;
}

/* Rows of a closed sequence go on beside the others, each with itself. */
static void pad(search *s, int64_t sequence, int64_t length) {
    const lh_beam_spec *spec = s->spec;
    for (int64_t b = 0; b < spec->beam; ++b) {
        const int64_t row = sequence * spec->beam + b;
        memcpy(s->next + row * spec->longest, s->prefix + row * spec->longest,
               (size_t)length * sizeof *s->next);
        s->next[row * spec->longest + length] = 0;
        s->parent[row] = row;
    }
}

/* ---- the search ---- */

static lh_status run_step(search *s, lh_beam_step step, void *context, int64_t length) {
    const int64_t longest = s->spec->longest;
    for (int64_t r = 0; r < s->rows; ++r)
        memcpy(s->packed + r * length, s->prefix + r * longest, (size_t)length * sizeof *s->packed);
    LH_TRY(step(context, s->packed, length, s->parent, s->logits));
    for (int64_t q = 0; q < s->spec->sequences; ++q) {
        if (s->closed[q])
            pad(s, q, length);
        else
            advance(s, q, length);
    }
    int32_t *tokens = s->prefix;
    double *probabilities = s->log_probability;
    s->prefix = s->next;
    s->next = tokens;
    s->log_probability = s->next_probability;
    s->next_probability = probabilities;
    return LH_OK;
}

/* Of a beam of equal rows the first alone is in use. */
static void begin(search *s) {
    for (int64_t r = 0; r < s->rows; ++r) {
        s->log_probability[r] = r % s->spec->beam == 0 ? 0.0 : -HUGE_VAL;
        s->parent[r] = r;
    }
}

static bool all_closed(const search *s) {
    bool all = true;
    for (int64_t q = 0; q < s->spec->sequences; ++q)
        all = all && s->closed[q];
    return all;
}

static void close_decided(search *s, int64_t length) {
    for (int64_t q = 0; q < s->spec->sequences; ++q) {
        if (s->closed[q] || !is_decided(s, q, length)) continue;
        give_result(s, q, length);
        s->closed[q] = true;
    }
}

static lh_status run(search *s, lh_beam_step step, void *context) {
    begin(s);
    for (int64_t length = 0; !all_closed(s); ++length) {
        LH_TRY(run_step(s, step, context, length));
        close_decided(s, length + 1);
    }
    return LH_OK;
}

lh_status lh_beam_search(const lh_beam_spec *spec, lh_beam_step step, void *context,
                         lh_beam_result *results) {
    LH_TRY(check_spec(spec));
    search s = {.spec = spec, .results = results};
    lh_status status = open_search(&s);
    if (status == LH_OK) status = run(&s, step, context);
    close_search(&s);
    return status;
}
