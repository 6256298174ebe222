/* Parameters to and from weight files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/params.h"
#include "harness/engine/safetensors.h"

/* ---- names ---- */

enum { NAME_BYTES = 128 };

/* Whether `name` is `pattern` with digits in the place of '#', which are then at *number. */
static bool matches(const char *pattern, const char *name, const char **number, int *digits) {
    *digits = 0;
    while (*pattern != '\0' && *pattern != '#' && *pattern == *name)
        ++pattern, ++name;
    if (*pattern == '#') {
        *number = name;
        *digits = (int)strspn(name, "0123456789");
        if (*digits == 0) return false;
        return strcmp(pattern + 1, name + *digits) == 0;
    }
    return *pattern == '\0' && *name == '\0';
}

/* `to` with the number in the place of its '#'. */
static void fill_in(const char *to, const char *number, int digits, char out[NAME_BYTES]) {
    const int before = (int)strcspn(to, "#");
    const char *after = to[before] == '#' ? to + before + 1 : "";
    (void)snprintf(out, NAME_BYTES, "%.*s%.*s%s", before, to, digits, number, after);
}

/* The name that a tensor of a file has here; false when it is passed over. Some files put all
 * tensors under "transformer.". */
static bool own_name(const lh_tensor_name *names, const char *name, char out[NAME_BYTES],
                     bool *transposed) {
    static const char prefix[] = "transformer.";
    const char *bare = name, *number = "";
    int digits = 0;
    *transposed = false;
    if (names != NULL && strncmp(name, prefix, sizeof prefix - 1) == 0) bare += sizeof prefix - 1;
    for (; names != NULL && names->published != NULL; ++names) {
        if (!matches(names->published, bare, &number, &digits)) continue;
        if (names->own == NULL) return false;
        fill_in(names->own, number, digits, out);
        *transposed = names->transposed;
        return true;
    }
    (void)snprintf(out, NAME_BYTES, "%s", name);
    return true;
}

/* Returns whether the published tensor is transposed. */
static bool published_name(const lh_tensor_name *names, const char *name, char out[NAME_BYTES]) {
    const char *number = "";
    int digits = 0;
    (void)snprintf(out, NAME_BYTES, "%s", name);
    for (; names != NULL && names->published != NULL; ++names) {
        if (names->own == NULL || !matches(names->own, name, &number, &digits)) continue;
        fill_in(names->published, number, digits, out);
        return names->transposed;
    }
    return false;
}

/* y [columns][rows] = x [rows][columns] transposed. */
static void transpose(int64_t rows, int64_t columns, const real *x, real *y) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            y[j * rows + i] = x[i * columns + j];
}

/* ---- saving ---- */

/* What saving holds. */
typedef struct writing {
    real *values;
    lh_safetensors_source *sources;
    int64_t (*shapes)[LH_MAX_RANK];
    char (*names)[NAME_BYTES];
} writing;

/* The values of a matrix at `to`, transposed. */
static lh_status read_transposed(const lh_param *param, real *to, int64_t shape[LH_MAX_RANK]) {
    const int64_t rows = param->shape[0], columns = param->shape[1];
    real *host = lh_allocate((size_t)param->count * sizeof *host);
    if (host == NULL) return LH_EMEMORY;
    const lh_status status = lh_tensor_read(param->value, host, param->count);
    if (status == LH_OK) transpose(rows, columns, host, to);
    free(host);
    shape[0] = columns;
    shape[1] = rows;
    return status;
}

static lh_status write_sources(const lh_params *params, const char *path,
                               const lh_tensor_name *names, const writing *w) {
    const int count = lh_params_count(params);
    int64_t at = 0;
    for (int i = 0; i < count; ++i) {
        const lh_param *param = lh_params_at(params, i);
        memcpy(w->shapes[i], param->shape, sizeof param->shape);
        if (published_name(names, param->name, w->names[i])) {
            LH_TRY(read_transposed(param, w->values + at, w->shapes[i]));
        } else {
            LH_TRY(lh_tensor_read(param->value, w->values + at, param->count));
        }
        w->sources[i] = (lh_safetensors_source){.name = w->names[i],
                                                .rank = param->rank,
                                                .shape = w->shapes[i],
                                                .values = w->values + at};
        at += param->count;
    }
    const lh_safetensors_contents contents = {.sources = w->sources, .source_count = count};
    return lh_safetensors_write(path, &contents);
}

lh_status lh_params_save(const lh_params *params, const char *path, const lh_tensor_name *names) {
    const size_t count = (size_t)lh_params_count(params);
    writing w = {
        .values = lh_allocate((size_t)lh_tensor_count(lh_params_values(params)) * sizeof *w.values),
        .sources = lh_allocate(count * sizeof *w.sources),
        .shapes = lh_allocate(count * sizeof *w.shapes),
        .names = lh_allocate(count * sizeof *w.names),
    };
    const bool complete =
        w.values != NULL && w.sources != NULL && w.shapes != NULL && w.names != NULL;
    const lh_status status = complete ? write_sources(params, path, names, &w) : LH_EMEMORY;
    free(w.values);
    free(w.sources);
    free(w.shapes);
    free(w.names);
    return status;
}

/* ---- loading ---- */

/* A tensor of a weight file that belongs to a parameter. */
typedef struct source {
    const lh_safetensors_entry *entry; /* NULL: the file has none */
    bool transposed;
} source;

static bool same_shape(const lh_param *param, const source *from) {
    const lh_safetensors_entry *entry = from->entry;
    if (param->rank != entry->rank) return false;
    for (int i = 0; i < param->rank; ++i) {
        const int axis = from->transposed ? param->rank - 1 - i : i;
        if (param->shape[i] != entry->shape[axis]) return false;
    }
    return true;
}

static bool holds_floats(const lh_safetensors_entry *entry) {
    static const char *const types[] = {"F32", "F16", "BF16", "F64"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        if (strcmp(entry->type->name, types[i]) == 0) return true;
    }
    return false;
}

/* sources[i]: the file's tensor for parameter i. */
static lh_status find_source(const lh_params *params, const lh_safetensors_entry *entry,
                             const char *path, const lh_tensor_name *names, source *sources) {
    char name[NAME_BYTES];
    source found = {.entry = entry};
    if (!own_name(names, entry->name, name, &found.transposed)) return LH_OK;
    const int index = lh_params_find(params, name);
    if (index < 0)
        return lh_fail(LH_EFORMAT, "%s: tensor %s is none of the model's", path, entry->name);
    const lh_param *param = lh_params_at(params, index);
    if (sources[index].entry != NULL)
        return lh_fail(LH_EFORMAT, "%s: tensors %s and %s are both %s", path,
                       sources[index].entry->name, entry->name, name);
    if (!holds_floats(entry))
        return lh_fail(LH_EFORMAT, "%s: tensor %s holds %s, weights are F32, F16, BF16 or F64",
                       path, entry->name, entry->type->name);
    if (!same_shape(param, &found))
        return lh_fail(LH_EFORMAT, "%s: tensor %s: the model has %s%s, the file another shape",
                       path, entry->name, lh_shape_text(param->value),
                       found.transposed ? " transposed" : "");
    sources[index] = found;
    return LH_OK;
}

static lh_status find_sources(const lh_params *params, const lh_safetensors *file, const char *path,
                              const lh_tensor_name *names, bool partly, source *sources) {
    for (int i = 0; i < lh_safetensors_count(file); ++i)
        LH_TRY(find_source(params, lh_safetensors_at(file, i), path, names, sources));
    for (int i = 0; i < lh_params_count(params) && !partly; ++i) {
        char name[NAME_BYTES];
        if (sources[i].entry != NULL) continue;
        (void)published_name(names, lh_params_at(params, i)->name, name);
        return lh_fail(LH_EFORMAT, "%s: lacks tensor %s", path, name);
    }
    return LH_OK;
}

/* Training that went wrong, or a damaged file: every number made of such weights would be one. */
static lh_status check_finite(const char *path, const source *from, const real *values,
                              int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        if (!isfinite(values[i]))
            return lh_fail(LH_EFORMAT, "%s: tensor %s: element %lld is %g", path, from->entry->name,
                           (long long)i, (double)values[i]);
    }
    return LH_OK;
}

static lh_status load_value(const lh_param *param, const char *path, const source *from) {
    const size_t bytes = (size_t)param->count * sizeof(real);
    real *host = lh_allocate(bytes), *turned = from->transposed ? lh_allocate(bytes) : NULL;
    lh_status status = host != NULL && (turned != NULL || !from->transposed) ? LH_OK : LH_EMEMORY;
    if (status == LH_OK) {
        lh_safetensors_convert(from->entry, host);
        status = check_finite(path, from, host, param->count);
    }
    if (status == LH_OK) {
        if (turned != NULL) transpose(param->shape[1], param->shape[0], host, turned);
        status = lh_tensor_write(param->value, turned != NULL ? turned : host, param->count);
    }
    free(host);
    free(turned);
    return status;
}

lh_status lh_params_load(lh_params *params, const char *path, const lh_tensor_name *names,
                         bool partly) {
    const int count = lh_params_count(params);
    lh_safetensors *file = NULL;
    LH_TRY(lh_safetensors_open(path, &file));
    source *sources = lh_allocate_zeroed((size_t)count + 1, sizeof *sources);
    lh_status status =
        sources != NULL ? find_sources(params, file, path, names, partly, sources) : LH_EMEMORY;
    for (int i = 0; i < count && status == LH_OK; ++i) {
        if (sources[i].entry != NULL)
            status = load_value(lh_params_at(params, i), path, &sources[i]);
    }
    free(sources);
    lh_safetensors_close(file);
    return status;
}
