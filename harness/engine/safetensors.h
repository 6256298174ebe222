/* Weight files in the safetensors format: an 8-byte length, a JSON header, then the tensors' bytes.
 * Nothing in the file is trusted: every length, offset and product is checked against the file's
 * size before use. */
#ifndef LH_ENGINE_SAFETENSORS_H
#define LH_ENGINE_SAFETENSORS_H

#include "harness/engine/error.h"

enum { LH_SAFETENSORS_RANK = 8 };

typedef enum lh_safetensors_type {
    LH_SAFETENSORS_F64,
    LH_SAFETENSORS_F32,
    LH_SAFETENSORS_F16,
    LH_SAFETENSORS_BF16,
    LH_SAFETENSORS_I64,
    LH_SAFETENSORS_I32
} lh_safetensors_type;

typedef struct lh_safetensors_entry {
    const char *name; /* lives as long as the file */
    lh_safetensors_type type;
    int rank;
    int64_t shape[LH_SAFETENSORS_RANK];
    int64_t count;
    const unsigned char *data; /* memory-mapped */
} lh_safetensors_entry;

typedef struct lh_safetensors lh_safetensors;

/* Maps the file and parses its header. Gives; close it. Fails: LH_EIO, LH_EFORMAT naming file and
 * tensor. */
lh_status lh_safetensors_open(const char *path, lh_safetensors **out);
void lh_safetensors_close(lh_safetensors *file);

/* The tensors in the order of the file; find gives NULL when there is none of that name. Lend. */
int lh_safetensors_count(const lh_safetensors *file);
const lh_safetensors_entry *lh_safetensors_at(const lh_safetensors *file, int index);
const lh_safetensors_entry *lh_safetensors_find(const lh_safetensors *file, const char *name);

/* Converts all elements. `out` has entry->count of them. */
void lh_safetensors_convert(const lh_safetensors_entry *entry, real *out);

/* One tensor to write, as F32. */
typedef struct lh_safetensors_source {
    const char *name;
    int rank;
    const int64_t *shape;
    const real *values;
} lh_safetensors_source;

/* Whole or not at all. */
lh_status lh_safetensors_write(const char *path, const lh_safetensors_source *sources, int count);

#endif
