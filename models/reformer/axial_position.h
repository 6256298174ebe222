/* Positions that are learned, as one table or as one for each axis of a box that the sequence is
 * laid out in, row by row ("axial": Ho et al. 2019; the released code of Kitaev et al. 2020). */
#ifndef LH_REFORMER_AXIAL_POSITION_H
#define LH_REFORMER_AXIAL_POSITION_H

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

enum { LH_AXES = 4 };

typedef struct lh_axial_positions {
    lh_list sizes, widths; /* as the options say them */
    int64_t axes;
    int64_t size[LH_AXES];  /* positions along each axis */
    int64_t width[LH_AXES]; /* of its table's vectors */
    bool sums;              /* the axes' vectors are added instead of concatenated */
    int table[LH_AXES];     /* parameters */
} lh_axial_positions;

/* positions, position_widths. */
extern const lh_option lh_axial_positions_options[];

/* Lays them out for embeddings of `width`. Fails: LH_EOPTION when sizes are not positive or the
 * widths do not make up `width`. */
lh_status lh_axial_positions_settle(lh_axial_positions *positions, int64_t width);

/* One table starts from sines and cosines, those of axes from a standard normal distribution. */
void lh_axial_positions_declare(lh_axial_positions *positions, lh_declare *declaration);

/* Fails with LH_ESHAPE when a segment is longer than there are positions. */
lh_status lh_axial_positions_check(const lh_axial_positions *positions, int64_t length);

/* x [batch][length][width] + the vectors of positions 0, 1 ...; table[a] is parameter a's tensor.
 */
lh_tensor *lh_axial_positions_add(const lh_axial_positions *positions, lh_tape *tape,
                                  lh_tensor *const *param, lh_tensor *x);

#endif
