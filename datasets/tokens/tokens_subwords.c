/* Tensor2Tensor's subwords (SubwordTextEncoder): the vocabulary of Vaswani et al. 2017 and of what
 * followed it on WMT14. Text is cut where letters and digits meet other characters; a single blank
 * between words is left out and comes back. What is left is escaped, ends with "_", and is read as
 * the longest subwords from left to right.
 *
 * A vocabulary is a file with a subword in quotes on every line, in the order of their ids; the
 * first two are padding and the end. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/locate.h"
#include "datasets/tokens/tokenizer_class.h"
#include "harness/engine/array.h"
#include "harness/engine/file.h"
#include "harness/engine/hash.h"
#include "harness/engine/text.h"
#include "harness/engine/utf8.h"

enum { END = 1, SPECIAL = 2, CODE_POINTS = 0x110000, NOTHING = LH_HASH_NONE, FIRST_IDS = 64 };

typedef struct subword {
    const char *text; /* into `file` */
    int32_t length;
} subword;

typedef struct subwords {
    char *file;
    subword *at; /* [count], by id */
    int32_t count, longest;
    lh_hash ids;
    uint8_t *alphabet; /* a bit for each code point */
    pcre2_code *runs;  /* of letters and digits (group 1), or of anything else */
    pcre2_match_data *match;
} subwords;

/* ---- characters ---- */

/* The character at the beginning of valid UTF-8; *size is its bytes. */
static uint32_t decode_character(const char *at, size_t *size) {
    const unsigned char *c = (const unsigned char *)at;
    *size = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    if (*size == 1) return c[0];
    uint32_t code = c[0] & (0xffu >> (*size + 1));
    for (size_t i = 1; i < *size; ++i)
        code = code << 6 | (c[i] & 0x3fu);
    return code;
}

static size_t encode_character(uint32_t code, char out[4]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; --i, code >>= 6)
        out[i] = (char)(0x80u | (code & 0x3fu));
    out[0] = (char)(lead[size] | code);
    return size;
}

/* The run of one kind at `at`; whether it is of letters and digits. */
static bool find_run(const subwords *s, const char *data, size_t bytes, size_t at, size_t *length) {
    const int groups = pcre2_match(s->runs, (PCRE2_SPTR)data, bytes, at,
                                   PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, s->match, NULL);
    const PCRE2_SIZE *where = pcre2_get_ovector_pointer(s->match);
    *length = groups > 0 ? where[1] - where[0] : bytes - at;
    return groups == 2;
}

/* ---- the vocabulary ---- */

static void add_alphabet(subwords *s, const char *data, size_t bytes) {
    for (size_t at = 0, size = 0; at < bytes; at += size) {
        const uint32_t code = decode_character(data + at, &size);
        s->alphabet[code / 8] |= (uint8_t)(1u << code % 8);
    }
}

static bool is_subword(const void *all, int32_t id, const void *wanted) {
    const subword *one = (const subword *)all + id, *other = wanted;
    return one->length == other->length && memcmp(one->text, other->text, (size_t)one->length) == 0;
}

/* NOTHING when there is none. */
static int32_t find_id(const subwords *s, const char *data, int32_t length) {
    const subword wanted = {data, length};
    const uint64_t key = lh_hash_text(data, (size_t)length);
    return lh_hash_find_item(&s->ids, key, is_subword, s->at, &wanted);
}

/* Cuts the file into lines without their quotes. */
static lh_status read_lines(subwords *s, const char *path, size_t bytes) {
    int32_t lines = 0;
    for (size_t i = 0; i < bytes; ++i)
        lines += s->file[i] == '\n';
    s->at = lh_allocate_zeroed((size_t)lines + 1, sizeof *s->at);
    if (s->at == NULL) return LH_EMEMORY;
    for (char *line = s->file; line < s->file + bytes;) {
        char *end = memchr(line, '\n', (size_t)(s->file + bytes - line));
        char *stop = end != NULL ? end : s->file + bytes;
        const bool quoted = stop - line >= 3 && stop[-1] == line[0] && strchr("'\"", line[0]);
        if (!quoted)
            return lh_fail(LH_EFORMAT, "%s:%d: expected a subword in quotes", path, s->count + 1);
        s->at[s->count++] = (subword){.text = line + 1, .length = (int32_t)(stop - line - 2)};
        line = stop + 1;
    }
    if (s->count > SPECIAL) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s: no subwords behind padding and end", path);
}

static lh_status index_subwords(subwords *s) {
    static const char escapes[] = "\\_u;0123456789";
    s->alphabet = lh_allocate_zeroed(CODE_POINTS / 8, 1);
    if (s->alphabet == NULL) return LH_EMEMORY;
    for (int32_t id = s->count - 1; id >= 0; --id) { /* of equal subwords the last one counts */
        const subword *one = &s->at[id];
        LH_TRY(lh_hash_add(&s->ids, lh_hash_text(one->text, (size_t)one->length), id));
        s->longest = one->length > s->longest ? one->length : s->longest;
        add_alphabet(s, one->text, (size_t)one->length);
    }
    add_alphabet(s, escapes, sizeof escapes - 1);
    return LH_OK;
}

static lh_status compile_runs(subwords *s) {
    static const char pattern[] = "([\\p{L}\\p{N}]+)|[^\\p{L}\\p{N}]+";
    int error = 0;
    PCRE2_SIZE at = 0;
    s->runs =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &at, NULL);
    if (s->runs == NULL) return lh_fail(LH_EINTERNAL, "subwords: the pattern does not compile");
    s->match = pcre2_match_data_create_from_pattern(s->runs, NULL);
    return s->match != NULL ? LH_OK : LH_EMEMORY;
}

static void close_subwords(void *instance) {
    subwords *s = instance;
    if (s == NULL) return;
    pcre2_match_data_free(s->match);
    pcre2_code_free(s->runs);
    free(s->alphabet);
    lh_hash_clear(&s->ids);
    free(s->at);
    free(s->file);
    free(s);
}

static lh_status read_vocabulary(subwords *s, const char *path) {
    void *data = NULL;
    size_t bytes = 0;
    LH_TRY(lh_file_read_all(path, &data, &bytes));
    s->file = data;
    const size_t good = lh_utf8_length(s->file, bytes);
    if (good < bytes) return lh_fail(LH_EFORMAT, "%s: not UTF-8 at byte %zu", path, good);
    LH_TRY(read_lines(s, path, bytes));
    LH_TRY(index_subwords(s));
    return compile_runs(s);
}

/* "ende-32k" is a file of the data folders, "x/y.subwords" a path. Gives. */
static lh_status find_vocabulary(const char *argument, char **path) {
    static const char ending[] = ".subwords";
    if (strlen(argument) >= sizeof ending && lh_name_ends(argument, ending)) {
        *path = lh_duplicate_text(argument);
        return *path != NULL ? LH_OK : LH_EMEMORY;
    }
    char *name = lh_format("sentencepiece/%s.subwords", argument);
    if (name == NULL) return LH_EMEMORY;
    const lh_status status = lh_data_find(name, path);
    free(name);
    if (status != LH_OK || *path != NULL) return status;
    return lh_fail(
        LH_EIO,
        "no subwords '%s': expected a file that ends in .subwords, or %s.subwords in the "
        "folder sentencepiece of the data folders",
        argument, argument);
}

static lh_status open_file(const char *path, uint64_t *digest, void **instance) {
    LH_TRY(lh_digest_file(path, digest));
    subwords *s = lh_allocate_zeroed(1, sizeof *s);
    if (s == NULL) return LH_EMEMORY;
    const lh_status status = read_vocabulary(s, path);
    if (status != LH_OK) {
        close_subwords(s);
        return status;
    }
    *instance = s;
    return LH_OK;
}

static lh_status open_subwords(const char *argument, uint64_t *digest, void **instance) {
    char *path = NULL;
    LH_TRY(find_vocabulary(argument, &path));
    const lh_status status = open_file(path, digest, instance);
    free(path);
    return status;
}

static int64_t vocabulary(const void *instance) {
    return ((const subwords *)instance)->count;
}

static int32_t end(const void *instance) {
    (void)instance;
    return END;
}

/* ---- encoding ---- */

/* Ids that grow. */
typedef struct ids {
    int32_t *at;
    int64_t count, capacity;
} ids;

static lh_status add_id(ids *to, int32_t id) {
    LH_TRY(lh_array_reserve(&to->at, &to->capacity, to->count + 1, sizeof *to->at));
    to->at[to->count++] = id;
    return LH_OK;
}

/* Characters outside the alphabet become numbers; the escape characters stand for themselves. */
static lh_status escape(const subwords *s, const char *run, size_t bytes, lh_text *out) {
    out->bytes = 0;
    for (size_t at = 0, size = 0; at < bytes; at += size) {
        const uint32_t code = decode_character(run + at, &size);
        const bool known = (s->alphabet[code / 8] >> code % 8 & 1) != 0 && code != '\n';
        char number[16];
        const int length = snprintf(number, sizeof number, "\\%u;", (unsigned)code);
        if (code == '\\' || code == '_') {
            LH_TRY(lh_text_add(out, code == '_' ? "\\u" : "\\\\", 2));
        } else if (known) {
            LH_TRY(lh_text_add(out, run + at, size));
        } else {
            LH_TRY(lh_text_add(out, number, (size_t)length));
        }
    }
    return lh_text_add(out, "_", 1);
}

static lh_status add_longest(const subwords *s, const lh_text *escaped, ids *out) {
    for (size_t at = 0; at < escaped->bytes;) {
        const size_t left = escaped->bytes - at;
        int32_t length = left < (size_t)s->longest ? (int32_t)left : s->longest, id = NOTHING;
        for (; length > 0 && id == NOTHING; length -= id == NOTHING)
            id = find_id(s, escaped->data + at, length);
        if (id == NOTHING)
            return lh_fail(LH_EFORMAT, "the subwords have none for '%.8s'", escaped->data + at);
        LH_TRY(add_id(out, id));
        at += (size_t)length;
    }
    return LH_OK;
}

static lh_status encode_runs(const subwords *s, const char *data, size_t bytes, lh_text *escaped,
                             ids *out) {
    for (size_t at = 0, length = 0; at < bytes; at += length) {
        (void)find_run(s, data, bytes, at, &length);
        const bool blank = length == 1 && data[at] == ' ' && at > 0 && at + 1 < bytes;
        if (blank) continue;
        LH_TRY(escape(s, data + at, length, escaped));
        LH_TRY(add_longest(s, escaped, out));
    }
    return LH_OK;
}

static lh_status encode(const void *instance, const char *data, size_t bytes, int32_t **tokens,
                        int64_t *count) {
    const size_t good = lh_utf8_length(data, bytes);
    if (good < bytes)
        return lh_fail(LH_EFORMAT, "not UTF-8 at byte %zu; use tokens = \"bytes\" for such data",
                       good);
    lh_text escaped = {0};
    ids out = {.at = lh_allocate(FIRST_IDS * sizeof *out.at), .capacity = FIRST_IDS};
    if (out.at == NULL) return LH_EMEMORY;
    const lh_status status = encode_runs(instance, data, bytes, &escaped, &out);
    free(escaped.data);
    if (status != LH_OK) {
        free(out.at);
        return status;
    }
    *tokens = out.at;
    *count = out.count;
    return LH_OK;
}

/* ---- decoding ---- */

/* One escape at the beginning of `at`, 0 when there is none; what it stands for. */
static size_t read_escape(const char *at, const char *stop, char out[4], size_t *bytes) {
    if (stop - at < 2 || at[0] != '\\') return 0;
    *bytes = 1;
    out[0] = at[1] == 'u' ? '_' : '\\';
    if (at[1] == 'u' || at[1] == '\\') return 2;
    uint32_t code = 0;
    const char *digit = at + 1;
    for (; digit < stop && *digit >= '0' && *digit <= '9'; ++digit)
        code = code < CODE_POINTS ? 10 * code + (uint32_t)(*digit - '0') : code;
    if (digit == at + 1 || digit == stop || *digit != ';') return 0;
    const bool exists = code < CODE_POINTS && (code < 0xd800 || code > 0xdfff);
    *bytes = encode_character(exists ? code : 0x3013, out); /* as released */
    return (size_t)(digit + 1 - at);
}

static lh_status unescape(const char *from, const char *stop, lh_text *out) {
    while (from < stop) {
        char character[4];
        size_t bytes = 0;
        const size_t read = read_escape(from, stop, character, &bytes);
        LH_TRY(read > 0 ? lh_text_add(out, character, bytes) : lh_text_add(out, from, 1));
        from += read > 0 ? read : 1;
    }
    return LH_OK;
}

/* A blank stands between runs that both begin with a letter or digit. */
static lh_status join_runs(const subwords *s, const lh_text *joined, lh_text *out) {
    bool letters = false;
    for (size_t at = 0, next = 0; at < joined->bytes; at = next + 1) {
        const char *mark = memchr(joined->data + at, '_', joined->bytes - at);
        next = mark != NULL ? (size_t)(mark - joined->data) : joined->bytes;
        const size_t begin = out->bytes;
        size_t length = 0;
        LH_TRY(lh_text_add(out, " ", 1));
        LH_TRY(unescape(joined->data + at, joined->data + next, out));
        if (out->bytes == begin + 1) {
            out->bytes = begin;
            continue;
        }
        const bool before = letters && begin > 0;
        letters = find_run(s, out->data, out->bytes, begin + 1, &length);
        if (before && letters) continue;
        memmove(out->data + begin, out->data + begin + 1, out->bytes - begin);
        out->bytes -= 1;
    }
    return LH_OK;
}

static lh_status decode(const void *instance, const int32_t *tokens, int64_t count, char **data,
                        size_t *bytes) {
    const subwords *s = instance;
    lh_text joined = {0}, out = {0};
    lh_status status = lh_text_add(&out, "", 0);
    for (int64_t i = 0; i < count && status == LH_OK; ++i) {
        if (tokens[i] < SPECIAL) continue;
        status = lh_text_add(&joined, s->at[tokens[i]].text, (size_t)s->at[tokens[i]].length);
    }
    if (status == LH_OK) status = join_runs(s, &joined, &out);
    free(joined.data);
    if (status != LH_OK) {
        free(out.data);
        return status;
    }
    *data = out.data;
    *bytes = out.bytes;
    return LH_OK;
}

const lh_tokenizer_class lh_tokens_subwords = {.prefix = "subwords:",
                                               .characters = true,
                                               .open = open_subwords,
                                               .close = close_subwords,
                                               .end = end,
                                               .vocabulary = vocabulary,
                                               .encode = encode,
                                               .decode = decode};
