/* Arrays in NumPy's .npy format, version 1.0, in C order: f4, f8 and integers of 1, 2, 4 or 8
 * bytes, with a sign or without, as a whole; where the elements of any type lie, for
 * those who read a large file in parts. */
#ifndef LH_ENGINE_NPY_H
#define LH_ENGINE_NPY_H

#include "harness/engine/error.h"

enum { LH_NPY_RANK = 8 };

/* What a header says. */
typedef struct lh_npy_layout {
    char kind[3];    /* "u1", "f4" ... */
    bool big_endian; /* of elements of several bytes */
    int rank;
    int64_t shape[LH_NPY_RANK];
    int64_t count;  /* of elements */
    int64_t offset; /* of the first element in the file, in bytes */
} lh_npy_layout;

/* Reads a file's header alone. Fails: LH_EIO; LH_EFORMAT naming the file and what is wrong, fewer
 * elements than the header promises included. */
lh_status lh_npy_read_layout(const char *path, lh_npy_layout *out);

/* What a file held: integers or reals, the other pointer is NULL. */
typedef struct lh_npy {
    int rank;
    int64_t shape[LH_NPY_RANK];
    int64_t count;
    int64_t *integers;
    double *reals;
} lh_npy;

/* Gives the arrays; lh_npy_clear releases them. Fails: LH_EIO; LH_EFORMAT naming the file and what
 * is wrong. */
lh_status lh_npy_read(const char *path, lh_npy *out);
void lh_npy_clear(lh_npy *array);

/* Writes values as f4 (f8 in the double build), whole or not at all. */
lh_status lh_npy_write(const char *path, int rank, const int64_t *shape, const real *values);

#endif
