/* Reading weight files: the file is mapped, its header checked, its tensors found by name. */
#include "harness/engine/safetensors.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/file.h"
#include "harness/engine/json.h"

enum { LENGTH_BYTES = 8 };

/* A header larger than this is no weight file of ours or anybody's. */
static const uint64_t most_header = 100u << 20;

struct lh_safetensors {
    char *path;
    const unsigned char *map;
    size_t bytes;
    cJSON *header;
    lh_safetensors_entry *entry;
    int count;
};

/* ---- entries ---- */

/* A whole number in [0, most]; false for anything else JSON can hold. */
static bool whole_number(const cJSON *item, double most, int64_t *out) {
    if (!cJSON_IsNumber(item)) return false;
    const double value = item->valuedouble;
    if (!(value >= 0 && value <= most) || value != (double)(int64_t)value) return false;
    *out = (int64_t)value;
    return true;
}

static bool read_shape(const cJSON *shape, double most, lh_safetensors_entry *entry) {
    const cJSON *item = NULL;
    entry->count = 1;
    if (!cJSON_IsArray(shape)) return false;
    cJSON_ArrayForEach(item, shape) {
        int64_t size = 0;
        if (entry->rank == LH_SAFETENSORS_RANK || !whole_number(item, most, &size)) return false;
        if (size > 0 && (double)entry->count > most / (double)size) return false;
        entry->shape[entry->rank++] = size;
        entry->count *= size;
    }
    return true;
}

static bool read_offsets(const cJSON *offsets, double most, int64_t *begin, int64_t *end) {
    return cJSON_IsArray(offsets) && cJSON_GetArraySize(offsets) == 2 &&
           whole_number(cJSON_GetArrayItem(offsets, 0), most, begin) &&
           whole_number(cJSON_GetArrayItem(offsets, 1), most, end);
}

static lh_status read_entry(lh_safetensors *file, const cJSON *item, size_t data_begin,
                            lh_safetensors_entry *entry) {
    const double space = (double)(file->bytes - data_begin);
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(item, "dtype");
    int64_t begin = 0, end = 0;
    entry->name = item->string;
    entry->type = cJSON_IsString(type) ? lh_safetensors_type_find(type->valuestring) : NULL;
    if (entry->type == NULL) {
        return lh_fail(LH_EFORMAT, "%s: tensor %s: unknown dtype", file->path, entry->name);
    }
    if (!read_shape(cJSON_GetObjectItemCaseSensitive(item, "shape"), space, entry)) {
        return lh_fail(LH_EFORMAT, "%s: tensor %s: unreadable shape, or larger than the file",
                       file->path, entry->name);
    }
    if (!read_offsets(cJSON_GetObjectItemCaseSensitive(item, "data_offsets"), space, &begin,
                      &end) ||
        end - begin != entry->count * (int64_t)entry->type->bytes) {
        return lh_fail(LH_EFORMAT, "%s: tensor %s: its offsets do not fit its shape and the file",
                       file->path, entry->name);
    }
    entry->data = file->map + data_begin + begin;
    return LH_OK;
}

static size_t entry_bytes(const lh_safetensors_entry *entry) {
    return (size_t)entry->count * entry->type->bytes;
}

static int compare_places(const void *a, const void *b) {
    const lh_safetensors_entry *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return (x->count > 0) - (y->count > 0); /* an empty tensor may stand where another begins */
}

static int compare_names(const void *a, const void *b) {
    const lh_safetensors_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* No byte belongs to two tensors. */
static lh_status check_places(lh_safetensors *file) {
    qsort(file->entry, (size_t)file->count, sizeof *file->entry, compare_places);
    for (int i = 1; i < file->count; ++i) {
        const lh_safetensors_entry *before = &file->entry[i - 1], *entry = &file->entry[i];
        if (before->data + entry_bytes(before) > entry->data) {
            return lh_fail(LH_EFORMAT, "%s: tensors %s and %s overlap", file->path, before->name,
                           entry->name);
        }
    }
    return LH_OK;
}

static lh_status check_names(lh_safetensors *file) {
    qsort(file->entry, (size_t)file->count, sizeof *file->entry, compare_names);
    for (int i = 1; i < file->count; ++i) {
        if (compare_names(&file->entry[i - 1], &file->entry[i]) == 0) {
            return lh_fail(LH_EFORMAT, "%s: tensor %s stands twice", file->path,
                           file->entry[i].name);
        }
    }
    return LH_OK;
}

/* ---- header ---- */

static lh_status check_metadata(const lh_safetensors *file, const cJSON *metadata) {
    const cJSON *item = NULL;
    bool good = cJSON_IsObject(metadata);
    cJSON_ArrayForEach(item, metadata) {
        good = good && cJSON_IsString(item);
    }
    return good ? LH_OK : lh_fail(LH_EFORMAT, "%s: metadata other than texts", file->path);
}

static lh_status read_entries(lh_safetensors *file, size_t data_begin) {
    const cJSON *item = NULL;
    file->entry = lh_allocate_zeroed((size_t)cJSON_GetArraySize(file->header), sizeof *file->entry);
    if (file->entry == NULL) return LH_EMEMORY;
    cJSON_ArrayForEach(item, file->header) {
        if (strcmp(item->string, "__metadata__") == 0) {
            LH_TRY(check_metadata(file, item));
            continue;
        }
        LH_TRY(read_entry(file, item, data_begin, &file->entry[file->count]));
        file->count += 1;
    }
    LH_TRY(check_places(file));
    return check_names(file);
}

/* torch.save writes a ZIP archive, before version 1.6 a pickle. */
static bool is_torch_file(const lh_safetensors *file) {
    return (file->bytes > 4 && memcmp(file->map, "PK\3\4", 4) == 0) ||
           (file->bytes > 2 && memcmp(file->map, "\x80\x02", 2) == 0);
}

/* What the bytes that stand for a length are in any other file is no length to tell; a length may
 * begin as a pickle does: 640. */
static bool begins_as_safetensors(const lh_safetensors *file) {
    return file->bytes > LENGTH_BYTES && file->map[LENGTH_BYTES] == '{';
}

static lh_status refuse_other_file(const lh_safetensors *file) {
    if (is_torch_file(file))
        return lh_fail(LH_EFORMAT,
                       "%s: a PyTorch checkpoint, which could run code; write it as safetensors "
                       "once: python3 -c \"import sys, torch, safetensors.torch as s; "
                       "s.save_file({k: v.clone() for k, v in torch.load(sys.argv[1], 'cpu', "
                       "weights_only=True).items()}, 'model.safetensors')\" FILE",
                       file->path);
    return lh_fail(LH_EFORMAT,
                   "%s: no safetensors file: one begins with the length of its header, in %d "
                   "bytes, and the header, a JSON object",
                   file->path, LENGTH_BYTES);
}

static lh_status parse_header(lh_safetensors *file, size_t bytes) {
    lh_json_defect defect;
    file->header = lh_json_parse((const char *)file->map + LENGTH_BYTES, bytes, &defect);
    if (file->header != NULL) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s: the header is no JSON object: %s at its byte %zu", file->path,
                   defect.what, defect.offset + 1);
}

static lh_status parse(lh_safetensors *file) {
    uint64_t length = 0;
    if (!begins_as_safetensors(file)) return refuse_other_file(file);
    for (int i = LENGTH_BYTES - 1; i >= 0; --i)
        length = length << 8 | file->map[i];
    if (length > most_header || length > file->bytes - LENGTH_BYTES) {
        return lh_fail(LH_EFORMAT, "%s: cut off or broken: header of %llu bytes in a file of %zu",
                       file->path, (unsigned long long)length, file->bytes);
    }
    LH_TRY(parse_header(file, (size_t)length));
    return read_entries(file, LENGTH_BYTES + (size_t)length);
}

/* ---- file ---- */

static lh_status map_file(lh_safetensors *file) {
    const void *map = NULL;
    LH_TRY(lh_file_map(file->path, &map, &file->bytes));
    if (map == NULL) return lh_fail(LH_EFORMAT, "%s: the file is empty", file->path);
    file->map = map;
    return LH_OK;
}

lh_status lh_safetensors_open(const char *path, lh_safetensors **out) {
    lh_safetensors *file = lh_allocate_zeroed(1, sizeof *file);
    if (file == NULL) return LH_EMEMORY;
    file->path = lh_duplicate_text(path);
    lh_status status = file->path != NULL ? map_file(file) : LH_EMEMORY;
    if (status == LH_OK) status = parse(file);
    if (status != LH_OK) {
        lh_safetensors_close(file);
        return status;
    }
    *out = file;
    return LH_OK;
}

void lh_safetensors_close(lh_safetensors *file) {
    if (file == NULL) return;
    lh_file_unmap(file->map, file->bytes);
    cJSON_Delete(file->header);
    free(file->entry);
    free(file->path);
    free(file);
}

int lh_safetensors_count(const lh_safetensors *file) {
    return file->count;
}

const lh_safetensors_entry *lh_safetensors_at(const lh_safetensors *file, int index) {
    return &file->entry[index];
}

const char *lh_safetensors_metadata(const lh_safetensors *file, const char *key) {
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(file->header, "__metadata__");
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(metadata, key));
}

void lh_safetensors_convert(const lh_safetensors_entry *entry, real *out) {
    entry->type->convert(entry->data, entry->count, out);
}
