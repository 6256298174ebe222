/* The pattern of pieces through PCRE2, and the printable character of each byte. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "datasets/tokens/bpe.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* ---- pieces ---- */

/* \s of other engines is Unicode's White_Space; that of PCRE2 has one character more. */
#define BLANK                                                                                      \
    "\\x09-\\x0D\\x20\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}"        \
    "\\x{205F}\\x{3000}"

static const char expression[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" BLANK
                                 "\\p{L}\\p{N}]+|[" BLANK "]+(?![^" BLANK "])|[" BLANK "]+";

struct lh_bpe_pattern {
    pcre2_code *code;
    pcre2_match_data *match;
};

static lh_status compile(lh_bpe_pattern *pattern) {
    int error = 0;
    size_t offset = 0;
    pattern->code =
        pcre2_compile((PCRE2_SPTR)expression, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &offset, NULL);
    if (pattern->code == NULL)
        return lh_fail(LH_EINTERNAL, "the BPE pattern fails at %lld", (long long)offset);
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* without a JIT it is slower */
    pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    return pattern->match != NULL ? LH_OK : LH_EMEMORY;
}

lh_status lh_bpe_pattern_open(lh_bpe_pattern **out) {
    lh_bpe_pattern *pattern = lh_allocate_zeroed(1, sizeof *pattern);
    if (pattern == NULL) return LH_EMEMORY;
    const lh_status status = compile(pattern);
    if (status != LH_OK) {
        lh_bpe_pattern_close(pattern);
        return status;
    }
    *out = pattern;
    return LH_OK;
}

void lh_bpe_pattern_close(lh_bpe_pattern *pattern) {
    if (pattern == NULL) return;
    pcre2_match_data_free(pattern->match);
    pcre2_code_free(pattern->code);
    free(pattern);
}

/* What lies between two matches is no UTF-8. */
lh_status lh_bpe_each_piece(const lh_bpe_pattern *pattern, const char *text, size_t bytes,
                            lh_bpe_visit *visit, void *to) {
    for (size_t at = 0; at < bytes;) {
        const int found =
            pcre2_match(pattern->code, (PCRE2_SPTR)text, bytes, at, 0, pattern->match, NULL);
        if (found < 0 && found != PCRE2_ERROR_NOMATCH)
            return lh_fail(LH_EINTERNAL, "BPE: PCRE2 error %d at byte %lld of a document", found,
                           (long long)at);
        const size_t *place = pcre2_get_ovector_pointer(pattern->match);
        const size_t begin = found > 0 ? place[0] : bytes, end = found > 0 ? place[1] : bytes;
        if (begin > at) LH_TRY(visit(to, text + at, begin - at));
        if (end > begin) LH_TRY(visit(to, text + begin, end - begin));
        at = end;
    }
    return LH_OK;
}

/* ---- bytes as printable characters ---- */

void lh_bpe_characters(uint32_t character[LH_BPE_BYTES]) {
    uint32_t next = 256;
    for (uint32_t b = 0; b < LH_BPE_BYTES; ++b) {
        const bool prints = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        character[b] = prints ? b : next++;
    }
}

/* ---- tokens ---- */

static bool is_token(const void *tokens, int32_t id, const void *wanted) {
    const lh_bpe_token *t = (const lh_bpe_token *)tokens + id;
    const lh_bpe_span *s = wanted;
    return t->length == s->length && memcmp(t->bytes, s->bytes, (size_t)s->length) == 0;
}

int32_t lh_bpe_find(const lh_hash *ids, const lh_bpe_token *tokens, lh_bpe_span wanted) {
    const uint64_t key = lh_hash_text(wanted.bytes, (size_t)wanted.length);
    return lh_hash_find_item(ids, key, is_token, tokens, &wanted);
}
