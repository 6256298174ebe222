#include "models/models.h"

const lh_model_class *const lh_model_table[] = {
    &lh_model_xl, &lh_model_slide, &lh_model_brt, &lh_model_memorizing, NULL,
};
