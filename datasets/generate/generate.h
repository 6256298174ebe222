/* The machinery behind the embedded generators: templates filled with facts that each document
 * draws for itself.
 *
 * A document has a few entities (people, theorems, functions), each with invented names and
 * attributes that never change; templates keep mentioning them. What an attribute is can be learnt
 * only from earlier in the document, and the choice of entity mixes near and far mentions, so that
 * longer memory truly pays. Beside that every document has favourite words: a skewed draw that a
 * running average of the past predicts.
 *
 * Template text: "%a" is attribute a of the current entity, "^a" of another one, "#a" a favourite
 * word of list a, and "~" an escape for the next character. Everything else stands for itself. */
#ifndef LH_DATASETS_GENERATE_H
#define LH_DATASETS_GENERATE_H

#include "harness/engine/error.h"

typedef enum lh_text_kind { LH_TEXT_BOOKS, LH_TEXT_LATEX, LH_TEXT_CODE } lh_text_kind;

/* Writes document `index` of `seed`: about `target_bytes` of ASCII whose later parts depend on much
 * earlier ones. Deterministic. Gives *text (free()). */
lh_status lh_generate_document(lh_text_kind kind, uint64_t seed, uint64_t index,
                               size_t target_bytes, char **text, size_t *bytes);

/* ---- for the kinds ---- */

enum { LH_STORY_ENTITIES = 6, LH_STORY_ATTRIBUTES = 26, LH_STORY_WORD = 24 };

/* How attribute `letter` of each entity is made. */
typedef struct lh_story_attribute {
    char letter;
    const char *const *words; /* one of these, never twice in a document; NULL: an invented name */
    bool capital;             /* of an invented name */
    const char *prefix;       /* stands in front: "thm:" */
} lh_story_attribute;

typedef struct lh_story_list {
    char letter;
    const char *const *words;
} lh_story_list;

/* One kind of text. Arrays end with a NULL or zero entry. */
typedef struct lh_story_kind {
    const lh_story_attribute *attributes;
    const lh_story_list *lists;
    const char *const *opening; /* each once for every entity, at the start */
    const char *const *body;    /* again and again */
    int line_width;             /* blanks become line ends beyond it; 0: never */
} lh_story_kind;

extern const lh_story_kind lh_story_books;
extern const lh_story_kind lh_story_latex;
extern const lh_story_kind lh_story_code;

#endif
