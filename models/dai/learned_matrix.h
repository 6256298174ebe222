/* Learnable matrices in place of the recurrence encoding ones: FL-XL, the baseline of Huang et al.
 * 2023, section 4.4. Shape and mask are not published; here each of the first heads has one of
 * [segment][memory + segment], causal, mixed in by a gate as in eq. 4. A Toeplitz matrix (section
 * 3, "more discussions") has one number for each lag. */
#ifndef LH_DAI_LEARNED_MATRIX_H
#define LH_DAI_LEARNED_MATRIX_H

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

typedef struct lh_learned_matrix {
    int64_t encoded, segment, memory;
    bool toeplitz;
    int matrix; /* [encoded][segment][memory + segment]; Toeplitz: [lags from 1 on][encoded] */
    int mu;     /* [1] */
    double first_mu;
} lh_learned_matrix;

/* Declares <prefix>.matrix and .mu of a layer whose sizes are set. `encoded` 0: nothing. The layer
 * lies in the model's instance. */
void lh_learned_matrix_declare(lh_learned_matrix *layer, double gate, lh_declare *declaration,
                               const char *prefix);

/* (1 - g) attended + g matrix v for the first heads. v [batch][memory + length][heads][head_width],
 * attended [batch][length][heads][head_width]; a shorter segment uses the matrix's first rows. */
lh_tensor *lh_learned_matrix_mix(const lh_learned_matrix *layer, const lh_pass *pass, lh_tensor *v,
                                 lh_tensor *attended);

#endif
