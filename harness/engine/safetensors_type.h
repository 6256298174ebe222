/* The element types of weight files. */
#ifndef LH_ENGINE_SAFETENSORS_TYPE_H
#define LH_ENGINE_SAFETENSORS_TYPE_H

#include "harness/engine/safetensors.h"

/* NULL for a name that is none. */
const lh_safetensors_type *lh_safetensors_type_find(const char *name);

#endif
