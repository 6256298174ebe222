/* Whether text is UTF-8 (RFC 3629). */
#ifndef LH_ENGINE_UTF8_H
#define LH_ENGINE_UTF8_H

#include <stddef.h>

/* The offset of the first byte at which no UTF-8 character begins, or `bytes`. Overlong forms,
 * halves of surrogate pairs and what lies beyond U+10FFFF are no characters. */
size_t lh_utf8_length(const char *text, size_t bytes);

/* A question mark in the place of every byte at which no character begins: what people call a
 * folder, or a model of bytes writes, may be no UTF-8. */
void lh_utf8_repair(char *text, size_t bytes);

/* Of text that was cut somewhere: how many bytes at its beginning are the rest of a character that
 * begins before it (0 to 3), and how many at its end are the beginning of one that goes on. */
size_t lh_utf8_rest(const char *text, size_t bytes);
size_t lh_utf8_begun(const char *text, size_t bytes);

#endif
