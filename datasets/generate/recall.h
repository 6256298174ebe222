/* Multi-query associative recall (Arora et al. 2023, "Zoology", section 3 and its released
 * generator): pairs of a key and a value, then the keys again, whose values are to be told. */
#ifndef LH_DATASETS_RECALL_H
#define LH_DATASETS_RECALL_H

#include "datasets/generate/episode.h"
#include "harness/engine/error.h"
#include "kernels/random.h"

/* See lh_digest_generated. */
enum { LH_RECALL_VERSION = 1 };

/* Keys are 1 .. vocabulary / 2 - 1, values the tokens from there on, 0 stands between queries. A
 * sequence is `pairs` keys, each followed by its value, no key and no value twice, and then slots
 * of two tokens. Each key comes again as the first token of a slot, labelled with its value;
 * nothing else has a label. One key after the other takes a slot among those left: slot j, counted
 * from 1 behind the pairs, with a chance in proportion to j^(power - 1), so that gaps follow a
 * power law, and are uniform at power 1. */
typedef struct lh_recall {
    int64_t vocabulary, pairs, length;
    double power;
    bool fills; /* uniform tokens of the whole vocabulary in place of the 0s */
} lh_recall;

/* Rules with the room in which sequences of them are drawn. */
typedef struct lh_recall_writer {
    lh_recall rules;
    uint8_t *taken; /* [vocabulary] keys and values of the sequence */
    double *weight; /* [slots] */
    int64_t slots;
} lh_recall_writer;

/* Fills *out; clear it, even after a failure. Fails: LH_EOPTION for rules without a sequence. */
lh_status lh_recall_open(const lh_recall *rules, lh_recall_writer *out);
void lh_recall_clear(lh_recall_writer *writer);

/* `out` has room for a sequence. The same key gives the same sequence. */
void lh_recall_write(lh_recall_writer *writer, lh_random_key key, lh_episode *out);

#endif
