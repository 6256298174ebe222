/* Training by the SentencePiece library, in a build that has it. */
#ifndef LH_DATASETS_SENTENCEPIECE_H
#define LH_DATASETS_SENTENCEPIECE_H

#include "harness/engine/error.h"

/* Trains a unigram model of `pieces` on a text file and writes <prefix>.model and <prefix>.vocab.
 */
lh_status lh_sentencepiece_train(const char *text_file, const char *prefix, int64_t pieces);

#endif
