/* Any bytes as a model's weight file (first byte odd: one that may lack some): refused with a
 * message, or every parameter is finite and, of a whole file, has a value of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/params.h"
#include "tests/fuzz/scratch.h"

enum { ELEMENTS = 6 };

typedef struct model {
    lh_device *device;
    lh_pool *pool;
    lh_params *params;
} model;

static const lh_tensor_name names[] = {{"h.#.w", "layers.#.matrix", LH_TRANSPOSED},
                                       {"b", "bias", LH_ALIKE},
                                       {"ignored", NULL, LH_ALIKE},
                                       {NULL, NULL, LH_ALIKE}};

static const model *open_model(void) {
    static const int64_t matrix[] = {2, 3}, vector[] = {3};
    static model m;
    if (m.params != NULL) return &m;
    if (lh_device_open("cpu", &m.device) != LH_OK || lh_pool_create(m.device, &m.pool) != LH_OK ||
        lh_params_create(&m.params) != LH_OK)
        abort();
    const lh_init zero = {.kind = LH_INIT_CONSTANT};
    (void)lh_params_declare(m.params, zero, 2, matrix, "layers.%d.matrix", 0);
    (void)lh_params_declare(m.params, zero, 2, matrix, "layers.%d.matrix", 12);
    (void)lh_params_declare(m.params, zero, 1, vector, "bias");
    if (lh_params_allocate(m.params, m.pool) != LH_OK) abort();
    return &m;
}

static void check_finite(const lh_params *params) {
    for (int i = 0; i < lh_params_count(params); ++i) {
        real values[ELEMENTS];
        const lh_param *param = lh_params_at(params, i);
        if (lh_tensor_read(param->value, values, param->count) != LH_OK) abort();
        for (int64_t k = 0; k < param->count; ++k)
            if (!isfinite(values[k])) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const model *m = open_model();
    const char *path = scratch_write("model.safetensors", data + 1, size - 1);
    if (lh_params_initialize(m->params, 1) != LH_OK) abort();
    const bool partly = data[0] % 2 == 1;
    if (lh_params_load(m->params, path, data[0] % 4 < 2 ? names : NULL, NULL, partly) != LH_OK &&
        strstr(lh_error_get()->message, path) == NULL)
        abort();
    check_finite(m->params);
    lh_error_clear();
    return 0;
}
