/* Learned positions along the axes of a box (Ho et al. 2019, as the code of Kitaev et al. 2020 has
 * them): position p = i n_2 + j has row i of the first axis' table and row j of the second's, added
 * or concatenated. */
#include "models/reformer/axial_position.h"

#include <stdlib.h>

#include "models/layers/common.h"

const lh_option lh_axial_positions_options[] = {
    LH_LIST("positions", lh_axial_positions, sizes, LH_INTEGERS(65536), 1, 1e9,
            "longest sequence, or its axes for axial embeddings (128,512); empty: no positions"),
    LH_LIST("position_widths", lh_axial_positions, widths, LH_NO_INTEGERS, 1, 65536,
            "sizes of the axes' vectors, which are concatenated; empty: they are added"),
    {0}};

static int64_t capacity(const lh_axial_positions *positions) {
    int64_t count = 1;
    for (int64_t a = 0; a < positions->axes; ++a)
        count *= positions->size[a];
    return count;
}

static lh_status settle_widths(lh_axial_positions *positions, int64_t width) {
    int64_t sum = 0;
    const int given = lh_list_copy(&positions->widths, positions->width, LH_AXES);
    positions->sums = given == 0;
    for (int64_t a = 0; a < positions->axes && positions->sums; ++a)
        positions->width[a] = width;
    if (positions->sums) return LH_OK;
    for (int64_t a = 0; a < given && a < LH_AXES; ++a)
        sum += positions->width[a];
    if (given == positions->axes && sum == width) return LH_OK;
    return lh_fail(LH_EOPTION,
                   "option 'position_widths' has %d sizes, %lld together: give one for each of the "
                   "%lld axes of 'positions', %lld together",
                   given, (long long)sum, (long long)positions->axes, (long long)width);
}

lh_status lh_axial_positions_settle(lh_axial_positions *positions, int64_t width) {
    const int axes = lh_list_copy(&positions->sizes, positions->size, LH_AXES);
    int64_t count = 0;
    if (axes > LH_AXES || !lh_shape_count(axes, positions->size, INT32_MAX, &count))
        return lh_fail(LH_EOPTION,
                       "option 'positions' has %d sizes: give at most %d, whose product is below "
                       "2^31",
                       axes, LH_AXES);
    positions->axes = axes;
    return settle_widths(positions, width);
}

void lh_axial_positions_declare(lh_axial_positions *positions, lh_declare *declaration) {
    const lh_init waves = {LH_INIT_SINUSOIDS, 0.0, 1.0};
    for (int64_t a = 0; a < positions->axes; ++a) {
        const int64_t shape[] = {positions->size[a], positions->width[a]};
        positions->table[a] =
            lh_declare_param(declaration, positions->axes == 1 ? waves : lh_init_normal(1.0), 2,
                             shape, "positions.%lld.weight", (long long)a);
        lh_declare_embedding(declaration);
    }
}

lh_status lh_axial_positions_check(const lh_axial_positions *positions, int64_t length) {
    if (positions->axes == 0 || length <= capacity(positions)) return LH_OK;
    return lh_fail(LH_ESHAPE, "segment %lld is longer than the %lld 'positions'", (long long)length,
                   (long long)capacity(positions));
}

/* The axis' vectors for positions 0 .. length - 1, which change every `inner` positions. */
static lh_tensor *along_axis(lh_tape *tape, lh_tensor *table, int64_t inner, int64_t size,
                             int64_t length) {
    int32_t *index = lh_tape_scratch(tape, (size_t)length * sizeof *index);
    if (index == NULL) return NULL;
    for (int64_t p = 0; p < length; ++p)
        index[p] = (int32_t)(p / inner % size);
    return lh_gather(tape, table, lh_integers(tape, 1, &length, index));
}

lh_tensor *lh_axial_positions_add(const lh_axial_positions *positions, lh_tape *tape,
                                  lh_tensor *const *param, lh_tensor *x) {
    if (x == NULL || positions->axes == 0) return x;
    const int64_t length = x->shape[1];
    if (positions->axes == 1)
        return lh_add_batch(tape, x, lh_slice(tape, param[positions->table[0]], 0, 0, length));
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *part[LH_AXES], *joined = NULL;
    int64_t inner = capacity(positions);
    for (int64_t a = 0; a < positions->axes; ++a) {
        inner /= positions->size[a];
        part[a] = along_axis(tape, param[positions->table[a]], inner, positions->size[a], length);
        if (positions->sums) joined = a == 0 ? part[0] : lh_add(tape, joined, part[a]);
    }
    if (!positions->sums) joined = lh_concat(tape, 1, part, (int)positions->axes);
    return lh_scope_close(tape, scope, lh_add_batch(tape, x, joined));
}
