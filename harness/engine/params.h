/* Parameters: declared by name and shape, allocated as one flat block of values and one of
 * gradients with named views. Declaring allocates no tensor, so `describe` counts a large model for
 * free. */
#ifndef LH_ENGINE_PARAMS_H
#define LH_ENGINE_PARAMS_H

#include "harness/engine/options.h"
#include "harness/engine/safetensors.h"
#include "harness/engine/tensor.h"

typedef enum lh_init_kind {
    LH_INIT_CONSTANT,         /* mean everywhere */
    LH_INIT_NORMAL,           /* N(mean, deviation^2) */
    LH_INIT_TRUNCATED_NORMAL, /* normal cut at two sigma, widened so that the deviation is exact */
    LH_INIT_UNIFORM,          /* mean +- deviation */
    LH_INIT_EITHER_SIGN,      /* the same, times 1 or -1 */
    LH_INIT_SINUSOIDS /* row p of a table of positions: sin(p f), cos(p f) in turn, f = 10000^(
                         -c / width) for the even columns c (Vaswani et al. 2017) */
} lh_init_kind;

typedef struct lh_init {
    lh_init_kind kind;
    double mean, deviation;
} lh_init;

typedef struct lh_param {
    char name[96]; /* dotted path, the name in weight files: "layers.9.attention.query" */
    int rank;
    int64_t shape[LH_MAX_RANK];
    lh_init init;
    const double *initial; /* optional [count]: initial values in place of init; borrowed */
    bool decay;            /* takes part in weight decay: matrices yes, biases and gains no */
    bool embedding;        /* left out of the paper's parameter counts */
    bool statistic;        /* set by the model, not learnt: no gradient or decay, never counted */
    int64_t count;
    lh_tensor *value; /* after allocation */
    int group;        /* 0, or the number of those with which it is swapped (swap.h) */
    int64_t rows;     /* of a vector: those of the matrix that it is in published files; 0: none */
} lh_param;

typedef struct lh_params lh_params;

/* An empty list. Gives it; destroy releases every tensor, and NULL is allowed. */
lh_status lh_params_create(lh_params **out);
void lh_params_destroy(lh_params *params);

/* Declares one parameter and returns its index, or -1 after a failure (which sticks: later calls
 * return -1 and lh_params_status reports it). The name is made by printf rules. */
int lh_params_declare(lh_params *params, lh_init init, int rank, const int64_t *shape,
                      const char *name, ...) LH_PRINTF(5, 6);
lh_status lh_params_status(const lh_params *params);
/* The last declared parameter is an embedding table, or takes no weight decay, or is a statistic,
 * which takes none either. */
void lh_params_mark_embedding(lh_params *params);
void lh_params_mark_undecayed(lh_params *params);
void lh_params_mark_statistic(lh_params *params);
/* The last declared parameter, a vector, is a matrix of so many rows in published files. */
void lh_params_set_rows(lh_params *params, int64_t rows);
/* The last declared parameter begins with these values, which must live as long as the list. */
void lh_params_set_initial(lh_params *params, const double *values);
/* Parameters declared from here on make a group of their own, which a region of the tape uses and
 * nothing outside it (swap.h), until the end of it or the next one. */
void lh_params_begin_group(lh_params *params);
void lh_params_end_group(lh_params *params);
bool lh_params_have_groups(const lh_params *params);

/* In the order of declaration; `elements` sums over all of them. */
int lh_params_count(const lh_params *params);
const lh_param *lh_params_at(const lh_params *params, int index);
int lh_params_find(const lh_params *params, const char *name); /* -1 when absent */
int64_t lh_params_elements(const lh_params *params, bool with_embedding);

/* Allocates values and gradients. After that lh_params_get lends the tensors. */
lh_status lh_params_allocate(lh_params *params, lh_pool *pool);
/* Draws initial values: parameter i from (seed, LH_STREAM_INIT, 0, i). */
lh_status lh_params_initialize(lh_params *params, uint64_t seed);
lh_tensor *lh_params_get(const lh_params *params, int index);
/* The element of the flat blocks where parameter `index` begins; of the count: where they end. */
int64_t lh_params_offset(const lh_params *params, int index);
/* Gives a parameter's tensor with a gradient on other flat blocks, both at element `offset`. */
lh_status lh_param_view(const lh_param *param, const lh_tensor *values, const lh_tensor *gradients,
                        int64_t offset, lh_tensor **out);

/* All values and all gradients as one vector each (padding between parameters stays zero). */
lh_tensor *lh_params_values(const lh_params *params);
lh_tensor *lh_params_gradients(const lh_params *params);
/* Forgets the gradients: the next contribution to each parameter sets. */
void lh_params_clear_gradients(lh_params *params);
/* Fills with zeros the gradients of parameters that got no contribution since. */
lh_status lh_params_settle_gradients(lh_params *params);

/* How the values of a parameter [n][m] lie in a published tensor: as they are; [m][n], as PyTorch
 * lays out linear maps; [n][1][m] and [1][n][m], as tables along one of two axes; of a vector, as a
 * matrix (lh_params_set_rows); the last of n first; [m][n] for sinusoids, whose n are a sine and a
 * cosine in turn here, and all sines before all cosines there. */
typedef enum lh_tensor_layout {
    LH_ALIKE,
    LH_TRANSPOSED,
    LH_ALONG_FIRST,
    LH_ALONG_SECOND,
    LH_IN_ROWS,
    LH_REVERSED,
    LH_SINES_FIRST,
} lh_tensor_layout;

/* What tensors are called in weight files that others publish: '#' stands for the number of a
 * layer. Where parameters are parts of one tensor, along its first axis, they are declared, and
 * stand here, one after the other. An array of these ends with published NULL. */
typedef struct lh_tensor_name {
    const char *published;
    const char *own; /* NULL: such a tensor is passed over; "=NAME": so is one that equals that of
                        the parameter, another one is refused */
    lh_tensor_layout layout;
} lh_tensor_name;

/* Weight files: safetensors, F32, F16, BF16 or F64. `names` (optional) says what published files
 * call the tensors; a file of our own names is read all the same. Loading refuses missing, surplus
 * and misshapen tensors by name, and those that hold whole numbers; `partly`: parameters that the
 * file lacks keep their values; `options` (optional): the model's, named where a size differs.
 * Saving writes F32, under published names when `names` is given, and the texts of `about`
 * (optional; ends with key NULL) as the file's metadata. */
lh_status lh_params_save(const lh_params *params, const char *path, const lh_tensor_name *names,
                         const lh_safetensors_text *about);
lh_status lh_params_load(lh_params *params, const char *path, const lh_tensor_name *names,
                         const lh_options *options, bool partly);

#endif
