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

/* Some published files put all tensors under "transformer.". */
static const char *bare_name(const lh_tensor_name *names, const char *name) {
    static const char prefix[] = "transformer.";
    const bool prefixed = names != NULL && strncmp(name, prefix, sizeof prefix - 1) == 0;
    return prefixed ? name + sizeof prefix - 1 : name;
}

/* What stands of a tensor of a file in the list: the first of its parts, or NULL; and its number.
 */
static const lh_tensor_name *find_published(const lh_tensor_name *names, const char *name,
                                            const char **number, int *digits) {
    const char *bare = bare_name(names, name);
    for (; names != NULL && names->published != NULL; ++names) {
        if (matches(names->published, name, number, digits) ||
            matches(names->published, bare, number, digits))
            return names;
    }
    return NULL;
}

static bool is_twin(const lh_tensor_name *name) {
    return name->own != NULL && name->own[0] == '=';
}

/* Whether the tensor of `name` goes on with the next of the list. */
static bool has_more_parts(const lh_tensor_name *name) {
    return name[1].published != NULL && strcmp(name[0].published, name[1].published) == 0;
}

/* Returns how the published tensor lies. */
static lh_tensor_layout published_name(const lh_tensor_name *names, const char *name,
                                       char out[NAME_BYTES]) {
    const char *number = "";
    int digits = 0;
    (void)snprintf(out, NAME_BYTES, "%s", name);
    for (; names != NULL && names->published != NULL; ++names) {
        if (names->own == NULL || !matches(names->own, name, &number, &digits)) continue;
        fill_in(names->published, number, digits, out);
        return names->layout;
    }
    return LH_ALIKE;
}

/* The parameter that a tensor of a file must equal; false: none. */
static bool twin_of(const lh_tensor_name *names, const char *name, char out[NAME_BYTES]) {
    const char *number = "";
    int digits = 0;
    const lh_tensor_name *found = find_published(names, name, &number, &digits);
    if (found == NULL || !is_twin(found)) return false;
    fill_in(found->own + 1, number, digits, out);
    return true;
}

/* The shape of a parameter in a file where it lies so; returns its rank. */
static int published_shape(const lh_param *param, lh_tensor_layout layout,
                           int64_t shape[LH_MAX_RANK]) {
    const int64_t n = param->shape[0], m = param->shape[1];
    memcpy(shape, param->shape, sizeof param->shape);
    if (layout == LH_ALIKE || layout == LH_REVERSED) return param->rank;
    if (layout == LH_TRANSPOSED || layout == LH_SINES_FIRST) {
        shape[0] = m, shape[1] = n;
        return 2;
    }
    if (layout == LH_IN_ROWS) {
        shape[0] = param->rows, shape[1] = n / param->rows;
        return 2;
    }
    shape[0] = layout == LH_ALONG_FIRST ? n : 1;
    shape[1] = layout == LH_ALONG_FIRST ? 1 : n;
    shape[2] = m;
    return 3;
}

/* Which of a parameter's rows is number `i` there. */
static int64_t row_at(lh_tensor_layout layout, int64_t rows, int64_t i) {
    const int64_t sines = (rows + 1) / 2;
    if (layout == LH_REVERSED) return rows - 1 - i;
    if (layout != LH_SINES_FIRST) return i;
    return i < sines ? 2 * i : 2 * (i - sines) + 1;
}

static bool is_rearranged(lh_tensor_layout layout) {
    return layout == LH_TRANSPOSED || layout == LH_REVERSED || layout == LH_SINES_FIRST;
}

/* Values of a parameter, which lie in a file with this layout: from here to there, or back. */
static void rearrange(const lh_param *param, lh_tensor_layout layout, bool to_file, const real *x,
                      real *y) {
    const int64_t rows = param->shape[0], columns = param->count / rows;
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t row = row_at(layout, rows, i);
        for (int64_t j = 0; j < columns; ++j) {
            const int64_t here = row * columns + j,
                          there = layout == LH_REVERSED ? i * columns + j : j * rows + i;
            y[to_file ? there : here] = x[to_file ? here : there];
        }
    }
}

/* ---- saving ---- */

/* What saving holds. */
typedef struct writing {
    real *values;
    lh_safetensors_source *sources;
    int64_t (*shapes)[LH_MAX_RANK];
    char (*names)[NAME_BYTES];
} writing;

/* The values at `to`, as they lie in the file. */
static lh_status read_values(const lh_param *param, lh_tensor_layout layout, real *to) {
    if (!is_rearranged(layout)) return lh_tensor_read(param->value, to, param->count);
    real *host = lh_allocate((size_t)param->count * sizeof *host);
    if (host == NULL) return LH_EMEMORY;
    const lh_status status = lh_tensor_read(param->value, host, param->count);
    if (status == LH_OK) rearrange(param, layout, true, host, to);
    free(host);
    return status;
}

/* One more tensor, or a part more of the last one; returns how many there are. */
static int add_source(const writing *w, int count, int rank, const real *values) {
    const bool is_part = count > 0 && strcmp(w->names[count - 1], w->names[count]) == 0;
    if (is_part) {
        w->shapes[count - 1][0] += w->shapes[count][0];
        return count;
    }
    w->sources[count] = (lh_safetensors_source){
        .name = w->names[count], .rank = rank, .shape = w->shapes[count], .values = values};
    return count + 1;
}

static lh_status write_sources(const lh_params *params, const char *path,
                               const lh_tensor_name *names, const lh_safetensors_text *about,
                               const writing *w) {
    int64_t at = 0;
    int count = 0;
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        const lh_tensor_layout layout = published_name(names, param->name, w->names[count]);
        const int rank = published_shape(param, layout, w->shapes[count]);
        LH_TRY(read_values(param, layout, w->values + at));
        count = add_source(w, count, rank, w->values + at);
        at += param->count;
    }
    lh_safetensors_contents contents = {
        .sources = w->sources, .source_count = count, .metadata = about};
    while (about != NULL && about[contents.metadata_count].key != NULL)
        contents.metadata_count += 1;
    return lh_safetensors_write(path, &contents);
}

lh_status lh_params_save(const lh_params *params, const char *path, const lh_tensor_name *names,
                         const lh_safetensors_text *about) {
    const size_t count = (size_t)lh_params_count(params);
    writing w = {
        .values = lh_allocate((size_t)lh_tensor_count(lh_params_values(params)) * sizeof *w.values),
        .sources = lh_allocate(count * sizeof *w.sources),
        .shapes = lh_allocate(count * sizeof *w.shapes),
        .names = lh_allocate(count * sizeof *w.names),
    };
    const bool complete =
        w.values != NULL && w.sources != NULL && w.shapes != NULL && w.names != NULL;
    const lh_status status = complete ? write_sources(params, path, names, about, &w) : LH_EMEMORY;
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
    lh_tensor_layout layout;
    int64_t first; /* the parameter's elements in it begin at this one */
} source;

static bool holds_floats(const lh_safetensors_entry *entry) {
    static const char *const types[] = {"F32", "F16", "BF16", "F64"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        if (strcmp(entry->type->name, types[i]) == 0) return true;
    }
    return false;
}

/* What loading reads from and into. */
typedef struct reading {
    lh_params *params;
    const char *path;
    const lh_tensor_name *names;
    const lh_options *options; /* or NULL */
    const lh_safetensors *file;
    source *sources; /* the file's tensor for each parameter */
} reading;

enum { HINT_BYTES = 128, SHAPE_BYTES = 96 };

/* Whether `size` is some times the option's value: 3 width of joined projections, say. */
static bool is_multiple_of_width(const lh_option *row, const lh_value *value, int64_t size) {
    return strcmp(row->name, "width") == 0 && value->integer > 0 && size % value->integer == 0;
}

/* "; here width=128" of the options with the value `size`, and of the width that it is a multiple
 * of; "" where there are none. */
static void hint_at_size(const lh_options *options, int64_t size, char out[HINT_BYTES]) {
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; options != NULL && i < lh_options_count(options); ++i) {
        const lh_option *row = lh_options_row(options, i);
        const lh_value *value = lh_options_value(options, i);
        if (row->type != LH_OPTION_INTEGER ||
            (value->integer != size && !is_multiple_of_width(row, value, size)))
            continue;
        const int more =
            snprintf(out + used, HINT_BYTES - used, "%s%s=%lld", used == 0 ? "; here " : ", ",
                     row->name, (long long)value->integer);
        if (more < 0 || (size_t)more >= HINT_BYTES - used) break;
        used += (size_t)more;
    }
}

static void write_shape(int rank, const int64_t *shape, char out[SHAPE_BYTES]) {
    size_t used = (size_t)snprintf(out, SHAPE_BYTES, "%s", rank == 0 ? "[]" : "");
    for (int i = 0; i < rank && used < SHAPE_BYTES - 24; ++i)
        used += (size_t)snprintf(out + used, SHAPE_BYTES - used, "[%lld]", (long long)shape[i]);
}

static lh_status check_shape(const reading *r, const lh_safetensors_entry *entry, int rank,
                             const int64_t *shape) {
    char hint[HINT_BYTES] = "", ours[SHAPE_BYTES], theirs[SHAPE_BYTES];
    if (rank == entry->rank && memcmp(shape, entry->shape, (size_t)rank * sizeof *shape) == 0)
        return LH_OK;
    for (int i = 0; i < rank && rank == entry->rank && hint[0] == '\0'; ++i) {
        if (shape[i] != entry->shape[i]) hint_at_size(r->options, shape[i], hint);
    }
    write_shape(rank, shape, ours);
    write_shape(entry->rank, entry->shape, theirs);
    return lh_fail(LH_EFORMAT, "%s: tensor %s: the model has %s, the file %s%s", r->path,
                   entry->name, ours, theirs, hint);
}

/* A tensor that no parameter is for: of a layer that the model lacks, most often. */
static lh_status refuse_name(const reading *r, const lh_safetensors_entry *entry) {
    const int layers = r->options != NULL ? lh_options_find(r->options, "layers") : -1;
    if (layers < 0 || entry->name[strcspn(entry->name, "0123456789")] == '\0')
        return lh_fail(LH_EFORMAT, "%s: tensor %s is none of the model's", r->path, entry->name);
    return lh_fail(LH_EFORMAT, "%s: tensor %s is none of the model's; here layers=%lld", r->path,
                   entry->name, (long long)lh_options_value(r->options, layers)->integer);
}

/* The shape of the parts of a tensor so far. */
typedef struct parts {
    int rank;
    int64_t shape[LH_MAX_RANK], elements;
} parts;

/* The next part of the tensor is the parameter of this name. */
static lh_status take_part(const reading *r, const lh_safetensors_entry *entry, const char *name,
                           lh_tensor_layout layout, parts *so_far) {
    const int index = lh_params_find(r->params, name);
    if (index < 0) return refuse_name(r, entry);
    if (r->sources[index].entry != NULL)
        return lh_fail(LH_EFORMAT, "%s: tensors %s and %s are both %s", r->path,
                       r->sources[index].entry->name, entry->name, name);
    const int64_t before = so_far->elements > 0 ? so_far->shape[0] : 0;
    r->sources[index] = (source){entry, layout, so_far->elements};
    so_far->rank = published_shape(lh_params_at(r->params, index), layout, so_far->shape);
    so_far->shape[0] += before;
    so_far->elements += lh_params_at(r->params, index)->count;
    return LH_OK;
}

static lh_status find_source(const reading *r, const lh_safetensors_entry *entry) {
    const char *number = "";
    int digits = 0;
    parts all = {0};
    const lh_tensor_name *part = find_published(r->names, entry->name, &number, &digits);
    if (part != NULL && (part->own == NULL || is_twin(part))) return LH_OK;
    if (part == NULL) LH_TRY(take_part(r, entry, entry->name, LH_ALIKE, &all));
    for (bool more = part != NULL; more; ++part) {
        char name[NAME_BYTES];
        fill_in(part->own, number, digits, name);
        LH_TRY(take_part(r, entry, name, part->layout, &all));
        more = has_more_parts(part);
    }
    if (!holds_floats(entry))
        return lh_fail(LH_EFORMAT, "%s: tensor %s holds %s, weights are F32, F16, BF16 or F64",
                       r->path, entry->name, entry->type->name);
    return check_shape(r, entry, all.rank, all.shape);
}

static lh_status find_sources(const reading *r, bool partly) {
    for (int i = 0; i < lh_safetensors_count(r->file); ++i)
        LH_TRY(find_source(r, lh_safetensors_at(r->file, i)));
    for (int i = 0; i < lh_params_count(r->params) && !partly; ++i) {
        char name[NAME_BYTES];
        if (r->sources[i].entry != NULL) continue;
        (void)published_name(r->names, lh_params_at(r->params, i)->name, name);
        return lh_fail(LH_EFORMAT, "%s: lacks tensor %s", r->path, name);
    }
    return LH_OK;
}

/* Training that went wrong, or a damaged file: every number made of such weights would be one. */
static lh_status check_finite(const char *path, const lh_safetensors_entry *entry,
                              const real *values) {
    for (int64_t i = 0; i < entry->count; ++i) {
        if (!isfinite(values[i]))
            return lh_fail(LH_EFORMAT, "%s: tensor %s: element %lld is %g", path, entry->name,
                           (long long)i, (double)values[i]);
    }
    return LH_OK;
}

static lh_status load_value(const lh_param *param, const char *path, const source *from) {
    const bool rearranged = is_rearranged(from->layout);
    real *host = lh_allocate((size_t)from->entry->count * sizeof(real)),
         *turned = rearranged ? lh_allocate((size_t)param->count * sizeof(real)) : NULL;
    lh_status status = host != NULL && (turned != NULL || !rearranged) ? LH_OK : LH_EMEMORY;
    if (status == LH_OK) {
        lh_safetensors_convert(from->entry, host);
        status = check_finite(path, from->entry, host);
    }
    if (status == LH_OK) {
        if (rearranged) rearrange(param, from->layout, false, host + from->first, turned);
        status =
            lh_tensor_write(param->value, rearranged ? turned : host + from->first, param->count);
    }
    free(host);
    free(turned);
    return status;
}

/* A head of its own where the model's is the embedding, say. Both lie alike in the file, and
 * neither is a part of a tensor. */
static lh_status check_twin(const reading *r, const lh_safetensors_entry *entry, const char *name) {
    const int index = lh_params_find(r->params, name);
    const lh_safetensors_entry *twin = index >= 0 ? r->sources[index].entry : NULL;
    if (twin == NULL || !holds_floats(entry)) return LH_OK;
    bool same = entry->count == twin->count;
    const size_t bytes = (size_t)twin->count * sizeof(real);
    real *a = same ? lh_allocate(bytes) : NULL, *b = same ? lh_allocate(bytes) : NULL;
    const bool room = !same || (a != NULL && b != NULL);
    if (same && room) {
        lh_safetensors_convert(entry, a);
        lh_safetensors_convert(twin, b);
        for (int64_t i = 0; same && i < twin->count; ++i)
            same = a[i] == b[i];
    }
    free(a);
    free(b);
    if (!room) return LH_EMEMORY;
    if (same) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s: tensor %s differs from %s; the model has one for both", r->path,
                   entry->name, twin->name);
}

static lh_status check_twins(const reading *r) {
    for (int i = 0; i < lh_safetensors_count(r->file); ++i) {
        const lh_safetensors_entry *entry = lh_safetensors_at(r->file, i);
        char name[NAME_BYTES];
        if (twin_of(r->names, entry->name, name)) LH_TRY(check_twin(r, entry, name));
    }
    return LH_OK;
}

static lh_status load_all(const reading *r, bool partly) {
    LH_TRY(find_sources(r, partly));
    LH_TRY(check_twins(r));
    for (int i = 0; i < lh_params_count(r->params); ++i) {
        if (r->sources[i].entry != NULL)
            LH_TRY(load_value(lh_params_at(r->params, i), r->path, &r->sources[i]));
    }
    return LH_OK;
}

lh_status lh_params_load(lh_params *params, const char *path, const lh_tensor_name *names,
                         const lh_options *options, bool partly) {
    lh_safetensors *file = NULL;
    LH_TRY(lh_safetensors_open(path, &file));
    const reading r = {.params = params,
                       .path = path,
                       .names = names,
                       .options = options,
                       .file = file,
                       .sources =
                           lh_allocate_zeroed((size_t)lh_params_count(params) + 1, sizeof(source))};
    const lh_status status = r.sources != NULL ? load_all(&r, partly) : LH_EMEMORY;
    free(r.sources);
    lh_safetensors_close(file);
    return status;
}
