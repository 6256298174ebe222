/* Which part of the data: models learn from the first, choices are made by the second, and results
 * are those of the third. */
#ifndef LH_ENGINE_SPLIT_H
#define LH_ENGINE_SPLIT_H

typedef enum lh_split { LH_TRAIN = 0, LH_VALID, LH_TEST, LH_SPLITS } lh_split;

/* By split; NULL ends them. */
extern const char *const lh_split_names[LH_SPLITS + 1];

/* By split, as messages say them: "the validation split". */
extern const char *const lh_split_words[LH_SPLITS];

#endif
