/* The element types of weight files. */
#ifndef LH_ENGINE_SAFETENSORS_TYPE_H
#define LH_ENGINE_SAFETENSORS_TYPE_H

#include "harness/engine/error.h"

/* How a file stores elements. */
typedef struct lh_safetensors_type {
    const char *name; /* "F32", "BF16" ... as in the file */
    size_t bytes;     /* per element */
    void (*convert)(const unsigned char *data, int64_t count, real *out);
} lh_safetensors_type;

/* NULL for a name that is none. */
const lh_safetensors_type *lh_safetensors_type_find(const char *name);

#endif
