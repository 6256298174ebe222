/* What somebody who mistyped a name may have meant. */
#ifndef LH_ENGINE_NEAREST_NAME_H
#define LH_ENGINE_NEAREST_NAME_H

/* The nearest of `names` (NULL-terminated) to `word` by edit distance; where none is near one that
 * has the word in it, or NULL. Lends `names`. */
const char *lh_nearest_name(const char *word, const char *const *names);

/* What a message about a wrong name goes on with: " (did you mean 'width'?)" where a name is near,
 * up to three where they are equally near ("'bat' or 'cat'"), then "; there are: layers, width",
 * unless they are too many to be read: more than three lines beside the nearest, more than ten
 * without. "" when neither helps. Lends thread-local text until the next call. */
const char *lh_did_you_mean(const char *word, const char *const *names);

#endif
