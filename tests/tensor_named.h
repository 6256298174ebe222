/* A tensor of a weight file by its name, which no part of the program asks for: it reads them in
 * order. */
#ifndef LH_TESTS_TENSOR_NAMED_H
#define LH_TESTS_TENSOR_NAMED_H

#include <string.h>

#include "harness/engine/safetensors.h"

/* NULL when there is none of that name. */
static inline const lh_safetensors_entry *tensor_named(const lh_safetensors *file,
                                                       const char *name) {
    for (int i = 0; i < lh_safetensors_count(file); ++i) {
        const lh_safetensors_entry *entry = lh_safetensors_at(file, i);
        if (strcmp(entry->name, name) == 0) return entry;
    }
    return NULL;
}

#endif
