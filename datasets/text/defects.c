/* Functions are the documents of a corpus, with an answer beside each. */
#include "datasets/text/defects.h"

#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/generate/generate_defect.h"
#include "datasets/locate.h"
#include "datasets/text/document_store.h"
#include "datasets/text/json_lines.h"
#include "datasets/text/vocabulary.h"
#include "harness/engine/array.h"
#include "harness/engine/file.h"
#include "harness/engine/text.h"

static const char stand_in[] = "devign";
enum { EXTRA_IDS = 100 };

struct lh_defects {
    lh_corpus *corpus; /* the functions */
    uint8_t *defective[LH_SPLITS];
    int64_t capacity[LH_SPLITS], limits[LH_SPLITS];
    int64_t most_tokens;
    int32_t *tokens; /* of the function read last */
    lh_defects_ids ids;
    uint64_t digest;
    char *source;
};

/* ---- adding functions ---- */

/* Bytes of the white space at `s` as Unicode has it, 0 where there is none. */
static size_t space_at(const unsigned char *s) {
    if (s[0] == ' ' || (s[0] >= 0x09 && s[0] <= 0x0d) || (s[0] >= 0x1c && s[0] <= 0x1f)) return 1;
    if (s[0] == 0xc2) return s[1] == 0x85 || s[1] == 0xa0 ? 2 : 0;
    const bool marks =
        s[0] == 0xe2 && s[1] == 0x80 &&
        ((s[2] >= 0x80 && s[2] <= 0x8a) || s[2] == 0xa8 || s[2] == 0xa9 || s[2] == 0xaf);
    const bool others = (s[0] == 0xe1 && s[1] == 0x9a && s[2] == 0x80) ||
                        (s[0] == 0xe2 && s[1] == 0x81 && s[2] == 0x9f) ||
                        (s[0] == 0xe3 && s[1] == 0x80 && s[2] == 0x80);
    return marks || others ? 3 : 0;
}

/* In place; returns the bytes that are left. */
static size_t join_words(char *text) {
    const unsigned char *from = (const unsigned char *)text;
    size_t used = 0;
    while (*from != '\0') {
        const size_t space = space_at(from);
        if (space == 0) text[used++] = (char)*from++;
        if (space > 0 && used > 0 && text[used - 1] != ' ') text[used++] = ' ';
        from += space;
    }
    if (used > 0 && text[used - 1] == ' ') used -= 1;
    text[used] = '\0';
    return used;
}

/* Takes the text, which is not empty. */
static lh_status add(lh_defects *defects, lh_split split, const char *name, char *text,
                     size_t bytes, bool defective) {
    const int64_t index = lh_corpus_documents(defects->corpus, split);
    if (lh_array_reserve(&defects->defective[split], &defects->capacity[split], index + 1, 1) !=
        LH_OK) {
        free(text);
        return LH_EMEMORY;
    }
    defects->defective[split][index] = defective;
    return lh_corpus_add_text(defects->corpus, split, name, text, bytes);
}

static bool is_full(const lh_defects *defects, lh_split split) {
    return defects->limits[split] > 0 &&
           lh_corpus_documents(defects->corpus, split) == defects->limits[split];
}

/* ---- JSON lines ---- */

typedef struct reader {
    lh_defects *defects;
    lh_split split;
} reader;

static lh_status add_line(void *to, const lh_json_line *line) {
    const reader *r = to;
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(line->value, "func");
    const cJSON *target = cJSON_GetObjectItemCaseSensitive(line->value, "target");
    if (is_full(r->defects, r->split)) return LH_OK;
    if (!cJSON_IsString(code))
        return lh_json_line_refuse(line, "no field 'func' with the text of a function");
    if (!cJSON_IsNumber(target) || (target->valuedouble != 0 && target->valuedouble != 1))
        return lh_json_line_refuse(line, "no field 'target' that is 0 (clean) or 1 (defective)");
    char *text = lh_duplicate_text(code->valuestring);
    if (text == NULL) return LH_EMEMORY;
    const size_t bytes = join_words(text);
    if (bytes == 0) {
        free(text);
        return lh_json_line_refuse(line, "field 'func' is empty");
    }
    const char *slash = strrchr(line->path, '/');
    return add(r->defects, r->split, slash != NULL ? slash + 1 : line->path, text, bytes,
               target->valuedouble == 1);
}

static lh_status read_split(lh_defects *defects, lh_split split, const char *folder) {
    static const char *const names[LH_SPLITS][3] = {{"train.jsonl", "train.jsonl.gz", NULL},
                                                    {"valid.jsonl", "valid.jsonl.gz", NULL},
                                                    {"test.jsonl", "test.jsonl.gz", NULL}};
    reader r = {.defects = defects, .split = split};
    char *path = NULL;
    LH_TRY(lh_file_find(folder, names[split], &path));
    if (path == NULL)
        return lh_fail(LH_EIO, "%s: has neither %s nor %s", folder, names[split][0],
                       names[split][1]);
    lh_status status = lh_json_lines_read(path, add_line, &r);
    if (status == LH_OK && lh_corpus_documents(defects->corpus, split) == 0)
        status = lh_fail(LH_EFORMAT, "%s: has no functions", path);
    free(path);
    return status;
}

static lh_status read_folder(lh_defects *defects, const char *name, const char *folder) {
    int64_t functions = 0;
    for (int split = 0; split < LH_SPLITS; ++split) {
        LH_TRY(read_split(defects, (lh_split)split, folder));
        functions += lh_corpus_documents(defects->corpus, (lh_split)split);
    }
    char *what = lh_format("%lld functions", (long long)functions);
    if (what == NULL) return LH_EMEMORY;
    const lh_status status = lh_source_found(&defects->source, name, what, folder);
    free(what);
    return status;
}

/* ---- the generator ---- */

static lh_status generate(lh_defects *defects, const lh_defects_spec *spec) {
    char text[LH_FUNCTION_BYTES];
    for (int split = 0; split < LH_SPLITS; ++split) {
        const uint64_t seed = spec->data_seed * LH_SPLITS + (uint64_t)split;
        for (int64_t i = 0; i < spec->counts[split] && !is_full(defects, (lh_split)split); ++i) {
            const bool defective = lh_generate_function(seed, (uint64_t)i, text);
            char *copy = lh_duplicate_text(text);
            if (copy == NULL) return LH_EMEMORY;
            LH_TRY(add(defects, (lh_split)split, stand_in, copy, join_words(copy), defective));
        }
    }
    return lh_source_generated(&defects->source, stand_in);
}

/* ---- opening ---- */

static lh_status read_functions(lh_defects *defects, const lh_defects_spec *spec) {
    const char *const made[] = {stand_in, NULL};
    char *path = NULL;
    LH_TRY(lh_data_resolve("functions", spec->name, made,
                           "expected is a folder with train.jsonl, valid.jsonl and test.jsonl",
                           &path));
    const lh_status status =
        path != NULL ? read_folder(defects, spec->name, path) : generate(defects, spec);
    free(path);
    return status;
}

/* The token that the vocabulary has for `text`, or `otherwise`: one that stands for whatever is
 * unknown would be both answers. */
static lh_status single_token(const lh_tokenizer *tokenizer, const char *text, int32_t otherwise,
                              int32_t *id) {
    const lh_status before = lh_error_get()->status;
    const size_t bytes = strlen(text);
    int32_t *tokens = NULL;
    int64_t count = 0;
    LH_TRY(lh_tokenizer_encode(tokenizer, text, bytes, &tokens, &count));
    const bool spells = lh_tokenizer_unspelled(tokenizer, text, bytes, tokens, count) == 0;
    *id = count == 1 && spells ? tokens[0] : otherwise;
    free(tokens);
    return lh_error_since(before, LH_OK);
}

static int32_t own_token(const lh_tokenizer *tokenizer, const char *token, int32_t otherwise) {
    const int32_t id = lh_tokenizer_find(tokenizer, token);
    return id >= 0 ? id : otherwise;
}

static lh_status find_ids(const lh_tokenizer *tokenizer, lh_defects_ids *ids) {
    const int64_t vocabulary = lh_tokenizer_vocabulary(tokenizer);
    const int32_t first = (int32_t)vocabulary;
    *ids = (lh_defects_ids){.vocabulary = vocabulary + EXTRA_IDS,
                            .pad = own_token(tokenizer, "<pad>", first),
                            .begin = own_token(tokenizer, "<s>", first + 1),
                            .end = own_token(tokenizer, "</s>", first + 2)};
    LH_TRY(single_token(tokenizer, "false", first + 3, &ids->answer[0]));
    return single_token(tokenizer, "true", first + 4, &ids->answer[1]);
}

static lh_status fill(lh_defects *defects, const lh_defects_spec *spec) {
    memcpy(defects->limits, spec->limits, sizeof defects->limits);
    defects->most_tokens = spec->most_tokens;
    defects->tokens = lh_allocate((size_t)spec->most_tokens * sizeof *defects->tokens);
    if (defects->tokens == NULL) return LH_EMEMORY;
    LH_TRY(lh_corpus_create(NULL, &defects->corpus));
    LH_TRY(read_functions(defects, spec));
    LH_TRY(lh_corpus_open_tokens(defects->corpus, spec->tokens));
    defects->digest = lh_corpus_digest(defects->corpus);
    for (int split = 0; split < LH_SPLITS; ++split)
        defects->digest = lh_digest_mix(defects->digest, defects->defective[split],
                                        (size_t)lh_defects_count(defects, (lh_split)split));
    return find_ids(lh_corpus_tokenizer(defects->corpus), &defects->ids);
}

lh_status lh_defects_open(const lh_defects_spec *spec, lh_defects **out) {
    *out = NULL;
    lh_defects *defects = lh_allocate_zeroed(1, sizeof *defects);
    if (defects == NULL) return LH_EMEMORY;
    const lh_status status = fill(defects, spec);
    if (status != LH_OK) {
        lh_defects_destroy(defects);
        return status;
    }
    *out = defects;
    return LH_OK;
}

void lh_defects_destroy(lh_defects *defects) {
    if (defects == NULL) return;
    for (int split = 0; split < LH_SPLITS; ++split)
        free(defects->defective[split]);
    lh_corpus_destroy(defects->corpus);
    free(defects->tokens);
    free(defects->source);
    free(defects);
}

/* ---- reading ---- */

const lh_defects_ids *lh_defects_ids_of(const lh_defects *defects) {
    return &defects->ids;
}

int64_t lh_defects_count(const lh_defects *defects, lh_split split) {
    return lh_corpus_documents(defects->corpus, split);
}

const char *lh_defects_source(const lh_defects *defects) {
    return defects->source;
}

uint64_t lh_defects_digest(const lh_defects *defects) {
    return defects->digest;
}

lh_status lh_defects_function(lh_defects *defects, lh_split split, int64_t index,
                              lh_function *out) {
    lh_document document;
    LH_TRY(lh_corpus_document(defects->corpus, split, index, &document));
    const int64_t room = defects->most_tokens - 2;
    const int64_t count = document.count < room ? document.count : room;
    defects->tokens[0] = defects->ids.begin;
    memcpy(defects->tokens + 1, document.tokens, (size_t)count * sizeof *defects->tokens);
    defects->tokens[count + 1] = defects->ids.end;
    *out = (lh_function){.tokens = defects->tokens,
                         .count = count + 2,
                         .defective = defects->defective[split][index] != 0};
    return LH_OK;
}
