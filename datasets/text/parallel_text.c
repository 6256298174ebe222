/* Both sides of a split are two texts, with a table of where their lines and tokens lie. */
#include "datasets/text/parallel_text.h"

#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/generate/generate_pairs.h"
#include "datasets/locate.h"
#include "datasets/text/document_store.h"
#include "datasets/text/vocabulary.h"
#include "datasets/tokens/trained_tokens.h"
#include "datasets/unpack.h"
#include "harness/engine/array.h"
#include "harness/engine/file.h"
#include "harness/engine/text.h"
#include "harness/engine/utf8.h"

const lh_option lh_parallel_config_options[] = {
    LH_TEXT("name", lh_parallel_config, name, "wmt14-en-de",
            "a data folder, or one with a slash in its path, with train, valid and test in both "
            "languages"),
    LH_TEXT("source", lh_parallel_config, source, "en", "ending of the files to translate from"),
    LH_TEXT("target", lh_parallel_config, target, "de", "ending of the files to translate into"),
    LH_TEXT("tokens", lh_parallel_config, tokens, "sentencepiece:train:32000",
            "one tokenizer for both languages: bytes, subwords:NAME, sentencepiece:NAME, "
            "sentencepiece:train:SIZE"),
    LH_INTEGER("pairs", lh_parallel_config, pairs, 20000, 1, 1e9,
               "generator: sentence pairs to train on"),
    LH_INTEGER(
        "evaluate_pairs", lh_parallel_config, evaluate_pairs, 0, 0, 1e9,
        "first pairs of the validation and of the test split to use; 0: all, generator: 500"),
    LH_INTEGER("max_tokens", lh_parallel_config, max_tokens, 256, 2, 1e6,
               "training pairs with a longer side are left out"),
    LH_INTEGER("data_seed", lh_parallel_config, data_seed, 1, 0, 1e15,
               "generator: seed of the pairs"),
    {0}};

static const char stand_in[] = "wmt14-en-de";
enum { GENERATED_HELD_OUT = 500, SIDES = 2 };

/* Where a line of one side lies: in its text, and in the tokens. */
typedef struct line {
    size_t begin, bytes;
    int64_t first, count;
} line;

typedef struct side {
    lh_text text;
    line *line; /* of the split's pairs */
    int64_t line_capacity;
    int32_t *tokens;
    int64_t token_count, token_capacity;
} side;

typedef struct split_pairs {
    side side[SIDES];
    int64_t count;
} split_pairs;

struct lh_parallel {
    split_pairs split[LH_SPLITS];
    lh_tokenizer *tokenizer;
    uint64_t digest;
    int64_t left_out; /* pairs with an empty line */
    char *source;
};

/* ---- lines ---- */

static lh_status add_pair(split_pairs *pairs, const line added[SIDES]) {
    for (int i = 0; i < SIDES; ++i) {
        side *to = &pairs->side[i];
        LH_TRY(lh_array_reserve(&to->line, &to->line_capacity, pairs->count + 1, sizeof(line)));
        to->line[pairs->count] = added[i];
    }
    pairs->count += 1;
    return LH_OK;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* The line at `begin`, without its end and the blanks before it; *next is where the next begins. */
static line read_line(const lh_text *from, size_t begin, size_t *next) {
    const char *end = memchr(from->data + begin, '\n', from->bytes - begin);
    size_t stop = end != NULL ? (size_t)(end - from->data) : from->bytes;
    *next = end != NULL ? stop + 1 : stop;
    while (stop > begin && is_blank(from->data[stop - 1]))
        stop -= 1;
    return (line){.begin = begin, .bytes = stop - begin};
}

static lh_status check_line(const char *path, long long number, const lh_text *from,
                            const line *l) {
    const size_t good = lh_utf8_length(from->data + l->begin, l->bytes);
    if (good < l->bytes)
        return lh_fail(LH_EFORMAT, "%s:%lld: not UTF-8 at byte %zu of the line", path, number,
                       good + 1);
    return LH_OK;
}

static long long count_lines(const lh_text *from) {
    long long count = 0;
    for (size_t at = 0; at < from->bytes; ++count)
        (void)read_line(from, at, &at);
    return count;
}

/* Pairs the lines of both texts; limit 0: all. */
static lh_status pair_lines(lh_parallel *parallel, split_pairs *pairs, char *const path[SIDES],
                            int64_t limit) {
    const lh_text *from[SIDES] = {&pairs->side[0].text, &pairs->side[1].text};
    const long long lines[SIDES] = {count_lines(from[0]), count_lines(from[1])};
    size_t at[SIDES] = {0, 0};
    if (lines[0] != lines[1])
        return lh_fail(LH_EFORMAT,
                       "%s has %lld lines and %s has %lld: line n of one must be the translation "
                       "of line n of the other",
                       path[0], lines[0], path[1], lines[1]);
    for (long long n = 1; n <= lines[0] && (limit == 0 || pairs->count < limit); ++n) {
        line read[SIDES];
        for (int i = 0; i < SIDES; ++i) {
            read[i] = read_line(from[i], at[i], &at[i]);
            LH_TRY(check_line(path[i], n, from[i], &read[i]));
        }
        const bool empty = read[0].bytes == 0 || read[1].bytes == 0;
        parallel->left_out += empty;
        if (!empty) LH_TRY(add_pair(pairs, read));
    }
    return LH_OK;
}

/* ---- reading files ---- */

/* <folder>/<split>.<ending>, or the same with .gz. Gives *path, also after a failure. */
static lh_status read_file(const char *folder, const char *split, const char *ending, char **path,
                           lh_text *out) {
    char *packed = lh_format("%s.%s.gz", split, ending), *plain = lh_format("%s.%s", split, ending);
    const char *const names[] = {plain, packed, NULL};
    lh_status status = packed != NULL && plain != NULL ? LH_OK : LH_EMEMORY;
    if (status == LH_OK) status = lh_file_find(folder, names, path);
    if (status == LH_OK && *path == NULL)
        status = lh_fail(LH_EIO, "%s: has no file %s.%s, compressed or not", folder, split, ending);
    if (status == LH_OK) status = lh_file_unpack(*path, out);
    free(packed);
    free(plain);
    return status;
}

static lh_status read_split(lh_parallel *parallel, lh_split split, const char *folder,
                            const lh_parallel_config *config) {
    static const char *const names[LH_SPLITS] = {"train", "valid", "test"};
    const char *const ending[SIDES] = {config->source, config->target};
    const int64_t limit = split == LH_TRAIN ? 0 : config->evaluate_pairs;
    split_pairs *pairs = &parallel->split[split];
    char *path[SIDES] = {NULL, NULL};
    lh_status status = LH_OK;
    for (int i = 0; i < SIDES && status == LH_OK; ++i)
        status = read_file(folder, names[split], ending[i], &path[i], &pairs->side[i].text);
    if (status == LH_OK) status = pair_lines(parallel, pairs, path, limit);
    if (status == LH_OK && pairs->count == 0)
        status = lh_fail(LH_EFORMAT, "%s: has no sentences", path[0]);
    for (int i = 0; i < SIDES; ++i)
        free(path[i]);
    return status;
}

static lh_status read_folder(lh_parallel *parallel, const char *folder,
                             const lh_parallel_config *config) {
    for (int s = 0; s < LH_SPLITS; ++s)
        LH_TRY(read_split(parallel, (lh_split)s, folder, config));
    char *pairs =
        lh_format("%lld training pairs read, %lld of all splits left out for an empty line,",
                  (long long)parallel->split[LH_TRAIN].count, (long long)parallel->left_out);
    if (pairs == NULL) return LH_EMEMORY;
    const lh_status status = lh_source_found(&parallel->source, config->name, pairs, folder);
    free(pairs);
    return status;
}

/* ---- the generator ---- */

static lh_status generate_split(split_pairs *pairs, uint64_t seed, int64_t count) {
    for (int i = 0; i < SIDES; ++i) {
        LH_TRY(lh_text_reserve(&pairs->side[i].text, (size_t)count * LH_PAIR_BYTES));
    }
    for (int64_t n = 0; n < count; ++n) {
        line made[SIDES];
        char *at[SIDES];
        for (int i = 0; i < SIDES; ++i)
            at[i] = pairs->side[i].text.data + pairs->side[i].text.bytes;
        lh_generate_pair(seed, (uint64_t)n, at[0], at[1]);
        for (int i = 0; i < SIDES; ++i) {
            lh_text *whole = &pairs->side[i].text;
            made[i] = (line){.begin = whole->bytes, .bytes = strlen(at[i])};
            whole->bytes += made[i].bytes + 1;
            whole->data[whole->bytes - 1] = '\n';
        }
        LH_TRY(add_pair(pairs, made));
    }
    return LH_OK;
}

static lh_status generate(lh_parallel *parallel, const lh_parallel_config *config) {
    const uint64_t seed = (uint64_t)config->data_seed * LH_SPLITS;
    const int64_t wanted = config->evaluate_pairs;
    const int64_t held_out = wanted > 0 ? wanted : GENERATED_HELD_OUT;
    for (int s = 0; s < LH_SPLITS; ++s) {
        const int64_t count = s == LH_TRAIN ? config->pairs : held_out;
        LH_TRY(generate_split(&parallel->split[s], seed + (uint64_t)s, count));
    }
    return lh_source_generated(&parallel->source, stand_in);
}

/* ---- tokens ---- */

static lh_status add_tokens(side *to, line *l, const int32_t *tokens, int64_t count, int32_t end) {
    LH_TRY(lh_array_reserve(&to->tokens, &to->token_capacity, to->token_count + count + 1,
                            sizeof *to->tokens));
    l->first = to->token_count;
    l->count = count + 1;
    memcpy(to->tokens + l->first, tokens, (size_t)count * sizeof *tokens);
    to->tokens[l->first + count] = end;
    to->token_count += count + 1;
    return LH_OK;
}

static lh_status encode_side(const lh_parallel *parallel, side *s, int64_t lines) {
    const int32_t end = lh_tokenizer_end(parallel->tokenizer);
    for (int64_t n = 0; n < lines; ++n) {
        int32_t *tokens = NULL;
        int64_t count = 0;
        line *l = &s->line[n];
        LH_TRY(lh_tokenizer_encode(parallel->tokenizer, s->text.data + l->begin, l->bytes, &tokens,
                                   &count));
        const lh_status status = add_tokens(s, l, tokens, count, end);
        free(tokens);
        LH_TRY(status);
    }
    return LH_OK;
}

/* Training pairs without the long ones. */
static void drop_long_pairs(split_pairs *pairs, int64_t most) {
    int64_t kept = 0;
    for (int64_t n = 0; n < pairs->count; ++n) {
        if (pairs->side[0].line[n].count > most || pairs->side[1].line[n].count > most) continue;
        for (int i = 0; i < SIDES; ++i)
            pairs->side[i].line[kept] = pairs->side[i].line[n];
        kept += 1;
    }
    pairs->count = kept;
}

/* The training texts of both languages as documents, some thousand bytes of each in turn, so that
 * the vocabulary's share of them is the same however much of it is read. */
static lh_status fill_corpus(const lh_parallel *parallel, lh_corpus *corpus) {
    enum { PIECE = 65536 };
    const side *sides = parallel->split[LH_TRAIN].side;
    size_t at[SIDES] = {0, 0};
    while (at[0] < sides[0].text.bytes || at[1] < sides[1].text.bytes) {
        for (int i = 0; i < SIDES; ++i) {
            const lh_text *from = &sides[i].text;
            size_t end = at[i];
            while (end < from->bytes && (end < at[i] + PIECE || from->data[end - 1] != '\n'))
                end += 1;
            char *piece = lh_allocate(end - at[i] + 1);
            if (piece == NULL) return LH_EMEMORY;
            memcpy(piece, from->data + at[i], end - at[i]);
            LH_TRY(lh_corpus_add_text(corpus, LH_TRAIN, "side", piece, end - at[i]));
            at[i] = end;
        }
    }
    return LH_OK;
}

static lh_status open_trained(lh_parallel *parallel, const char *tokens) {
    lh_corpus *corpus = NULL;
    LH_TRY(lh_corpus_create(NULL, &corpus));
    lh_status status = fill_corpus(parallel, corpus);
    if (status == LH_OK) status = lh_vocabulary_open(corpus, tokens, NULL, &parallel->tokenizer);
    lh_corpus_destroy(corpus);
    return status;
}

static lh_status open_tokens(lh_parallel *parallel, const char *tokens) {
    if (lh_tokens_are_trained(tokens)) {
        LH_TRY(open_trained(parallel, tokens));
    } else {
        LH_TRY(lh_tokenizer_open(tokens, &parallel->tokenizer));
    }
    if (lh_tokenizer_end(parallel->tokenizer) > 0) return LH_OK;
    return lh_fail(LH_EOPTION,
                   "tokens '%s': the vocabulary has no end and no padding; take bytes, "
                   "subwords or a sentencepiece vocabulary with pad_id 0",
                   tokens);
}

/* Sentences and tokens: BLEU is measured on the former, which a vocabulary may not tell apart. */
static void mix_side(lh_parallel *parallel, const side *s, int64_t lines) {
    uint64_t digest = lh_digest_mix(parallel->digest, &lines, sizeof lines);
    for (int64_t n = 0; n < lines; ++n)
        digest = lh_digest_mix(digest, s->text.data + s->line[n].begin, s->line[n].bytes);
    parallel->digest = lh_digest_mix(digest, s->tokens, (size_t)s->token_count * sizeof *s->tokens);
}

static lh_status encode(lh_parallel *parallel, const lh_parallel_config *config) {
    const char *tokens = config->tokens;
    LH_TRY(open_tokens(parallel, tokens));
    for (int s = 0; s < LH_SPLITS; ++s) {
        split_pairs *pairs = &parallel->split[s];
        for (int i = 0; i < SIDES; ++i) {
            LH_TRY(encode_side(parallel, &pairs->side[i], pairs->count));
            mix_side(parallel, &pairs->side[i], pairs->count);
        }
    }
    drop_long_pairs(&parallel->split[LH_TRAIN], config->max_tokens);
    if (parallel->split[LH_TRAIN].count > 0) return LH_OK;
    return lh_fail(LH_EOPTION, "every training pair is longer than max_tokens");
}

/* ---- life ---- */

static lh_status read_pairs(lh_parallel *parallel, const lh_parallel_config *config) {
    const char *const made[] = {stand_in, NULL};
    char *path = NULL;
    LH_TRY(lh_data_resolve("parallel text", config->name, made, "expected is a folder", &path));
    const lh_status status =
        path != NULL ? read_folder(parallel, path, config) : generate(parallel, config);
    free(path);
    return status;
}

lh_status lh_parallel_open(const lh_parallel_config *config, lh_parallel **out) {
    *out = NULL;
    lh_parallel *parallel = lh_allocate_zeroed(1, sizeof *parallel);
    if (parallel == NULL) return LH_EMEMORY;
    lh_status status = read_pairs(parallel, config);
    if (status == LH_OK) status = encode(parallel, config);
    if (status != LH_OK) {
        lh_parallel_destroy(parallel);
        return status;
    }
    *out = parallel;
    return LH_OK;
}

void lh_parallel_destroy(lh_parallel *parallel) {
    if (parallel == NULL) return;
    for (int s = 0; s < LH_SPLITS; ++s) {
        for (int i = 0; i < SIDES; ++i) {
            side *one = &parallel->split[s].side[i];
            free(one->text.data);
            free(one->line);
            free(one->tokens);
        }
    }
    lh_tokenizer_destroy(parallel->tokenizer);
    free(parallel->source);
    free(parallel);
}

/* ---- what others may know ---- */

int64_t lh_parallel_pairs(const lh_parallel *parallel, lh_split split) {
    return parallel->split[split].count;
}

lh_pair lh_parallel_pair(const lh_parallel *parallel, lh_split split, int64_t index) {
    const side *source = &parallel->split[split].side[0], *target = source + 1;
    const line *from = &source->line[index], *to = &target->line[index];
    return (lh_pair){.source = source->tokens + from->first,
                     .target = target->tokens + to->first,
                     .source_count = from->count,
                     .target_count = to->count,
                     .text = target->text.data + to->begin,
                     .text_bytes = (int64_t)to->bytes};
}

const lh_tokenizer *lh_parallel_tokenizer(const lh_parallel *parallel) {
    return parallel->tokenizer;
}

const char *lh_parallel_source(const lh_parallel *parallel) {
    return parallel->source;
}

uint64_t lh_parallel_digest(const lh_parallel *parallel) {
    return parallel->digest;
}
