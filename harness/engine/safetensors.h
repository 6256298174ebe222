/* Weight files in the safetensors format: an 8-byte length, a JSON header, then the tensors' bytes.
 * Nothing in the file is trusted: every length, offset and product is checked against the file's
 * size before use. */
#ifndef LH_ENGINE_SAFETENSORS_H
#define LH_ENGINE_SAFETENSORS_H

#include "harness/engine/error.h"
#include "harness/engine/safetensors_type.h"

enum { LH_SAFETENSORS_RANK = 8 };

typedef struct lh_safetensors_entry {
    const char *name; /* lives as long as the file */
    const lh_safetensors_type *type;
    int rank;
    int64_t shape[LH_SAFETENSORS_RANK];
    int64_t count;
    const unsigned char *data; /* memory-mapped; any alignment */
} lh_safetensors_entry;

typedef struct lh_safetensors lh_safetensors;

/* Maps the file and parses its header. Gives; close it. Fails: LH_EIO; LH_EFORMAT naming file and
 * tensor. A file that another program cuts short while it is open ends this one (SIGBUS). */
lh_status lh_safetensors_open(const char *path, lh_safetensors **out);
void lh_safetensors_close(lh_safetensors *file);

/* The tensors in the order of their names. */
int lh_safetensors_count(const lh_safetensors *file);
const lh_safetensors_entry *lh_safetensors_at(const lh_safetensors *file, int index);

/* One text of the file's metadata, NULL when absent. Lends, as long as the file. */
const char *lh_safetensors_metadata(const lh_safetensors *file, const char *key);

/* Converts all elements, rounding to nearest. `out` has entry->count of them. */
void lh_safetensors_convert(const lh_safetensors_entry *entry, real *out);

/* One tensor to write, as F32. */
typedef struct lh_safetensors_source {
    const char *name;
    int rank;
    const int64_t *shape;
    const real *values;
} lh_safetensors_source;

typedef struct lh_safetensors_text {
    const char *key, *value;
} lh_safetensors_text;

typedef struct lh_safetensors_contents {
    const lh_safetensors_source *sources;
    int source_count;
    const lh_safetensors_text *metadata;
    int metadata_count;
} lh_safetensors_contents;

/* Whole or not at all. Fails: LH_EIO, LH_EMEMORY; LH_ESHAPE for a rank or size that the format or
 * the reader would refuse, LH_EOPTION for a name that stands twice. */
lh_status lh_safetensors_write(const char *path, const lh_safetensors_contents *contents);

#endif
