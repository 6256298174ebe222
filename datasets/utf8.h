/* Whether text is UTF-8 (RFC 3629); for the datasets' own files. */
#ifndef LH_DATASETS_UTF8_H
#define LH_DATASETS_UTF8_H

#include <stddef.h>

/* The offset of the first byte at which no UTF-8 character begins, or `bytes`. Overlong forms,
 * halves of surrogate pairs and what lies beyond U+10FFFF are no characters. */
size_t lh_utf8_length(const char *text, size_t bytes);

#endif
