/* The table of the models in models.def. */
#include "harness/engine/plugin.h"

#define LH_MODEL(name) extern const lh_model_class lh_model_##name;
#include "models/models.def"
#undef LH_MODEL

#define LH_MODEL(name) &lh_model_##name,
const lh_model_class *const lh_model_table[] = {
#include "models/models.def"
    NULL,
};
#undef LH_MODEL
