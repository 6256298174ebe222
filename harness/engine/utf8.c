/* UTF-8 by the table of well-formed byte sequences. */
#include "harness/engine/utf8.h"

#include <stdbool.h>

/* Bytes of the character that `lead` begins, 0 for none; *low and *high bound its second byte
 * (RFC 3629, section 4). */
static size_t character_bytes(unsigned char lead, unsigned char *low, unsigned char *high) {
    *low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    *high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (lead < 0x80) return 1;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

static bool continues(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t lh_utf8_length(const char *text, size_t bytes) {
    const unsigned char *at = (const unsigned char *)text;
    for (size_t i = 0; i < bytes;) {
        unsigned char low, high;
        const size_t length = character_bytes(at[i], &low, &high);
        if (length == 0 || length > bytes - i) return i;
        if (length > 1 && (at[i + 1] < low || at[i + 1] > high)) return i;
        for (size_t k = 2; k < length; ++k)
            if (!continues(text[i + k])) return i;
        i += length;
    }
    return bytes;
}

void lh_utf8_repair(char *text, size_t bytes) {
    size_t good = 0;
    while ((good += lh_utf8_length(text + good, bytes - good)) < bytes)
        text[good] = '?';
}

size_t lh_utf8_rest(const char *text, size_t bytes) {
    size_t rest = 0;
    while (rest < 3 && rest < bytes && continues(text[rest]))
        ++rest;
    return rest;
}

size_t lh_utf8_begun(const char *text, size_t bytes) {
    unsigned char low, high;
    for (size_t begun = 1; begun <= 3 && begun <= bytes; ++begun) {
        const char lead = text[bytes - begun];
        if (continues(lead)) continue;
        return character_bytes((unsigned char)lead, &low, &high) > begun ? begun : 0;
    }
    return 0;
}
