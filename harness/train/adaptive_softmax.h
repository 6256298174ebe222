/* The adaptive softmax (Grave et al. 2017) of an lh_output with clusters: the head predicts the
 * frequent words and the clusters, a tail the words of its cluster. log p of a word in cluster i is
 * log p(cluster i) + log p(word | cluster i). */
#ifndef LH_TRAIN_ADAPTIVE_SOFTMAX_H
#define LH_TRAIN_ADAPTIVE_SOFTMAX_H

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

/* The cross-entropy as lh_loss_forward gives it, times gradient_scale. Reads the targets to the
 * host, so that each tail sees its own tokens only. In `sums` a word of a tail counts as not
 * predicted right: which of all words is the likeliest is not computed. */
lh_tensor *lh_adaptive_cross_entropy(lh_tape *tape, const lh_output *output, const lh_batch *batch,
                                     double gradient_scale, lh_loss_sums *sums);

/* log p of every word: [rows * length][vocabulary]. */
lh_tensor *lh_adaptive_log_probabilities(lh_tape *tape, const lh_output *output);

/* How many words the output predicts, with or without clusters. */
int64_t lh_output_vocabulary(const lh_output *output);

/* The same output with head_weight [vocabulary][width], where clusters have words of their own
 * width, which makes a matrix of that size. */
lh_status lh_adaptive_widen(lh_tape *tape, lh_output *output);

#endif
