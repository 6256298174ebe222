/* Parameters to and from weight files. */
#include <stdlib.h>

#include "harness/engine/params.h"
#include "harness/engine/safetensors.h"

static lh_status write_sources(const lh_params *params, const char *path, real *host,
                               lh_safetensors_source *sources) {
    const int count = lh_params_count(params);
    int64_t at = 0;
    for (int i = 0; i < count; ++i) {
        const lh_param *param = lh_params_at(params, i);
        LH_TRY(lh_tensor_read(param->value, host + at, param->count));
        sources[i] = (lh_safetensors_source){
            .name = param->name, .rank = param->rank, .shape = param->shape, .values = host + at};
        at += param->count;
    }
    const lh_safetensors_contents contents = {.sources = sources, .source_count = count};
    return lh_safetensors_write(path, &contents);
}

lh_status lh_params_save(const lh_params *params, const char *path) {
    const size_t elements = (size_t)lh_params_elements(params, true);
    real *host = lh_allocate(elements * sizeof *host);
    lh_safetensors_source *sources = lh_allocate((size_t)lh_params_count(params) * sizeof *sources);
    const lh_status status =
        host != NULL && sources != NULL ? write_sources(params, path, host, sources) : LH_EMEMORY;
    free(host);
    free(sources);
    return status;
}

static bool same_shape(const lh_param *param, const lh_safetensors_entry *entry) {
    if (param->rank != entry->rank) return false;
    for (int i = 0; i < param->rank; ++i) {
        if (param->shape[i] != entry->shape[i]) return false;
    }
    return true;
}

static lh_status check_names(const lh_params *params, const lh_safetensors *file, const char *path,
                             bool partly) {
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        const lh_safetensors_entry *entry = lh_safetensors_find(file, param->name);
        if (entry == NULL && partly) continue;
        if (entry == NULL) return lh_fail(LH_EFORMAT, "%s: lacks tensor %s", path, param->name);
        if (!same_shape(param, entry)) {
            return lh_fail(LH_EFORMAT, "%s: tensor %s: the model has %s, the file another shape",
                           path, param->name, lh_shape_text(param->value));
        }
    }
    for (int i = 0; i < lh_safetensors_count(file); ++i) {
        const char *name = lh_safetensors_at(file, i)->name;
        if (lh_params_find(params, name) < 0) {
            return lh_fail(LH_EFORMAT, "%s: tensor %s is none of the model's", path, name);
        }
    }
    return LH_OK;
}

static lh_status load_values(lh_params *params, const lh_safetensors *file) {
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        const lh_safetensors_entry *entry = lh_safetensors_find(file, param->name);
        if (entry == NULL) continue;
        real *host = lh_allocate((size_t)param->count * sizeof *host);
        if (host == NULL) return LH_EMEMORY;
        lh_safetensors_convert(entry, host);
        const lh_status status = lh_tensor_write(param->value, host, param->count);
        free(host);
        LH_TRY(status);
    }
    return LH_OK;
}

lh_status lh_params_load(lh_params *params, const char *path, bool partly) {
    lh_safetensors *file = NULL;
    LH_TRY(lh_safetensors_open(path, &file));
    lh_status status = check_names(params, file, path, partly);
    if (status == LH_OK) status = load_values(params, file);
    lh_safetensors_close(file);
    return status;
}
