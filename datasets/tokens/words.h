/* Word vocabularies: what the frequent words of a text are, kept as a file with a word a line.
 *
 * Words are runs of characters that are no blanks, case kept; every line end is the word <eos>,
 * which has id 0, and a word that is not there is <unk> (Transformer-XL's vocabulary of
 * WikiText-103, whose 267,735 words are all that its training text has). */
#ifndef LH_DATASETS_WORDS_H
#define LH_DATASETS_WORDS_H

#include "harness/engine/error.h"

typedef struct lh_words lh_words;

/* An empty list that knows <eos>. Gives; destroy it. */
lh_status lh_words_create(lh_words **out);
void lh_words_destroy(lh_words *words);

/* Counts the words of a text. `words` is an lh_words. */
lh_status lh_words_count(void *words, const char *text, size_t bytes);

/* Writes <eos> and the most frequent words, of equal ones the first seen, at most `size` lines.
 * <unk> is among them, as the last one when the text has none. */
lh_status lh_words_write(const lh_words *words, int64_t size, const char *path);

/* Reads what was written. Fails: LH_EFORMAT with file and line where a word is empty or stands
 * twice, or when <eos> is not the first or <unk> is missing. */
lh_status lh_words_read(const char *path, lh_words **out);

int64_t lh_words_size(const lh_words *words);
/* The id of a word, -1 when it is not there; the word of an id, lent. */
int32_t lh_words_find(const lh_words *words, const char *text, size_t bytes);
const char *lh_words_text(const lh_words *words, int32_t id, size_t *bytes);

/* Calls visit(to, word, bytes) for the words of a text in order, <eos> for each line end; ends with
 * the first failure. */
typedef lh_status lh_words_visit(void *to, const char *word, size_t bytes);
lh_status lh_words_each(const char *text, size_t bytes, lh_words_visit *visit, void *to);

#endif
