/* Parameters to and from weight files. */
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
static bool own_name(const lh_tensor_name *names, const char *name, char out[NAME_BYTES]) {
    static const char prefix[] = "transformer.";
    const char *bare = name, *number = "";
    int digits = 0;
    if (names != NULL && strncmp(name, prefix, sizeof prefix - 1) == 0) bare += sizeof prefix - 1;
    for (; names != NULL && names->published != NULL; ++names) {
        if (!matches(names->published, bare, &number, &digits)) continue;
        if (names->own == NULL) return false;
        fill_in(names->own, number, digits, out);
        return true;
    }
    (void)snprintf(out, NAME_BYTES, "%s", name);
    return true;
}

static void published_name(const lh_tensor_name *names, const char *name, char out[NAME_BYTES]) {
    const char *number = "";
    int digits = 0;
    (void)snprintf(out, NAME_BYTES, "%s", name);
    for (; names != NULL && names->published != NULL; ++names) {
        if (names->own == NULL || !matches(names->own, name, &number, &digits)) continue;
        fill_in(names->published, number, digits, out);
        return;
    }
}

/* ---- saving ---- */

/* What saving holds. */
typedef struct writing {
    real *values;
    lh_safetensors_source *sources;
    char (*names)[NAME_BYTES];
} writing;

static lh_status write_sources(const lh_params *params, const char *path,
                               const lh_tensor_name *names, const writing *w) {
    const int count = lh_params_count(params);
    int64_t at = 0;
    for (int i = 0; i < count; ++i) {
        const lh_param *param = lh_params_at(params, i);
        LH_TRY(lh_tensor_read(param->value, w->values + at, param->count));
        published_name(names, param->name, w->names[i]);
        w->sources[i] = (lh_safetensors_source){.name = w->names[i],
                                                .rank = param->rank,
                                                .shape = param->shape,
                                                .values = w->values + at};
        at += param->count;
    }
    const lh_safetensors_contents contents = {.sources = w->sources, .source_count = count};
    return lh_safetensors_write(path, &contents);
}

lh_status lh_params_save(const lh_params *params, const char *path, const lh_tensor_name *names) {
    const size_t count = (size_t)lh_params_count(params);
    writing w = {
        .values = lh_allocate((size_t)lh_params_elements(params, true) * sizeof *w.values),
        .sources = lh_allocate(count * sizeof *w.sources),
        .names = lh_allocate(count * sizeof *w.names),
    };
    const bool complete = w.values != NULL && w.sources != NULL && w.names != NULL;
    const lh_status status = complete ? write_sources(params, path, names, &w) : LH_EMEMORY;
    free(w.values);
    free(w.sources);
    free(w.names);
    return status;
}

/* ---- loading ---- */

static bool same_shape(const lh_param *param, const lh_safetensors_entry *entry) {
    if (param->rank != entry->rank) return false;
    for (int i = 0; i < param->rank; ++i) {
        if (param->shape[i] != entry->shape[i]) return false;
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

/* entries[i]: the file's tensor for parameter i, or NULL. */
static lh_status find_entry(const lh_params *params, const lh_safetensors_entry *entry,
                            const char *path, const lh_tensor_name *names,
                            const lh_safetensors_entry **entries) {
    char name[NAME_BYTES];
    if (!own_name(names, entry->name, name)) return LH_OK;
    const int index = lh_params_find(params, name);
    if (index < 0)
        return lh_fail(LH_EFORMAT, "%s: tensor %s is none of the model's", path, entry->name);
    const lh_param *param = lh_params_at(params, index);
    if (entries[index] != NULL)
        return lh_fail(LH_EFORMAT, "%s: tensors %s and %s are both %s", path, entries[index]->name,
                       entry->name, name);
    if (!holds_floats(entry))
        return lh_fail(LH_EFORMAT, "%s: tensor %s holds %s, weights are F32, F16, BF16 or F64",
                       path, entry->name, entry->type->name);
    if (!same_shape(param, entry))
        return lh_fail(LH_EFORMAT, "%s: tensor %s: the model has %s, the file another shape", path,
                       entry->name, lh_shape_text(param->value));
    entries[index] = entry;
    return LH_OK;
}

static lh_status find_entries(const lh_params *params, const lh_safetensors *file, const char *path,
                              const lh_tensor_name *names, bool partly,
                              const lh_safetensors_entry **entries) {
    for (int i = 0; i < lh_safetensors_count(file); ++i)
        LH_TRY(find_entry(params, lh_safetensors_at(file, i), path, names, entries));
    for (int i = 0; i < lh_params_count(params) && !partly; ++i) {
        char name[NAME_BYTES];
        if (entries[i] != NULL) continue;
        published_name(names, lh_params_at(params, i)->name, name);
        return lh_fail(LH_EFORMAT, "%s: lacks tensor %s", path, name);
    }
    return LH_OK;
}

static lh_status load_values(lh_params *params, const lh_safetensors_entry *const *entries) {
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        if (entries[i] == NULL) continue;
        real *host = lh_allocate((size_t)param->count * sizeof *host);
        if (host == NULL) return LH_EMEMORY;
        lh_safetensors_convert(entries[i], host);
        const lh_status status = lh_tensor_write(param->value, host, param->count);
        free(host);
        LH_TRY(status);
    }
    return LH_OK;
}

lh_status lh_params_load(lh_params *params, const char *path, const lh_tensor_name *names,
                         bool partly) {
    lh_safetensors *file = NULL;
    LH_TRY(lh_safetensors_open(path, &file));
    const lh_safetensors_entry **entries =
        lh_allocate_zeroed((size_t)lh_params_count(params) + 1, sizeof *entries);
    lh_status status =
        entries != NULL ? find_entries(params, file, path, names, partly, entries) : LH_EMEMORY;
    if (status == LH_OK) status = load_values(params, entries);
    free(entries);
    lh_safetensors_close(file);
    return status;
}
