#include "harness/engine/safetensors.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/engine/atomic_file.h"

enum { LENGTH_BYTES = 8, ALIGNMENT = 8 };

/* A header larger than this is no weight file of ours or anybody's. */
static const uint64_t most_header = 100u << 20;

struct lh_safetensors {
    char *path;
    unsigned char *map;
    size_t bytes;
    cJSON *header;
    lh_safetensors_entry *entry;
    int count;
};

typedef struct type_row {
    const char *name;
    lh_safetensors_type type;
    size_t bytes;
} type_row;

static const type_row types[] = {{"F64", LH_SAFETENSORS_F64, 8}, {"F32", LH_SAFETENSORS_F32, 4},
                                 {"F16", LH_SAFETENSORS_F16, 2}, {"BF16", LH_SAFETENSORS_BF16, 2},
                                 {"I64", LH_SAFETENSORS_I64, 8}, {"I32", LH_SAFETENSORS_I32, 4}};

/* ---- opening ---- */

static const type_row *find_type(const cJSON *text) {
    for (size_t i = 0; cJSON_IsString(text) && i < sizeof types / sizeof types[0]; ++i) {
        if (strcmp(types[i].name, text->valuestring) == 0) return &types[i];
    }
    return NULL;
}

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

static lh_status read_entry(lh_safetensors *file, const cJSON *item, size_t data_begin,
                            lh_safetensors_entry *entry) {
    const double space = (double)(file->bytes - data_begin);
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    const type_row *type = find_type(cJSON_GetObjectItemCaseSensitive(item, "dtype"));
    int64_t begin = 0, end = 0;
    entry->name = item->string;
    if (type == NULL) {
        return lh_fail(LH_EFORMAT, "%s: tensor %s: unknown dtype", file->path, entry->name);
    }
    entry->type = type->type;
    if (!read_shape(cJSON_GetObjectItemCaseSensitive(item, "shape"), space, entry)) {
        return lh_fail(LH_EFORMAT, "%s: tensor %s: unreadable shape, or larger than the file",
                       file->path, entry->name);
    }
    const bool placed = cJSON_GetArraySize(offsets) == 2 &&
                        whole_number(cJSON_GetArrayItem(offsets, 0), space, &begin) &&
                        whole_number(cJSON_GetArrayItem(offsets, 1), space, &end) &&
                        end - begin == entry->count * (int64_t)type->bytes;
    if (!placed) {
        return lh_fail(LH_EFORMAT, "%s: tensor %s: its offsets do not fit its shape and the file",
                       file->path, entry->name);
    }
    entry->data = file->map + data_begin + begin;
    return LH_OK;
}

static lh_status read_entries(lh_safetensors *file, size_t data_begin) {
    const cJSON *item = NULL;
    const int most = cJSON_GetArraySize(file->header);
    file->entry = lh_allocate_zeroed((size_t)most + 1, sizeof *file->entry);
    if (file->entry == NULL) return LH_EMEMORY;
    cJSON_ArrayForEach(item, file->header) {
        if (strcmp(item->string, "__metadata__") == 0) continue;
        if (lh_safetensors_find(file, item->string) != NULL) {
            return lh_fail(LH_EFORMAT, "%s: tensor %s stands twice", file->path, item->string);
        }
        LH_TRY(read_entry(file, item, data_begin, &file->entry[file->count]));
        file->count += 1;
    }
    return LH_OK;
}

static lh_status parse(lh_safetensors *file) {
    uint64_t length = 0;
    if (file->bytes < LENGTH_BYTES) {
        return lh_fail(LH_EFORMAT, "%s: too short for a safetensors file", file->path);
    }
    for (int i = LENGTH_BYTES - 1; i >= 0; --i)
        length = length << 8 | file->map[i];
    if (length > most_header || length > file->bytes - LENGTH_BYTES) {
        return lh_fail(LH_EFORMAT, "%s: header of %llu bytes in a file of %zu", file->path,
                       (unsigned long long)length, file->bytes);
    }
    file->header = cJSON_ParseWithLength((const char *)file->map + LENGTH_BYTES, (size_t)length);
    if (!cJSON_IsObject(file->header)) {
        return lh_fail(LH_EFORMAT, "%s: the header is no JSON object", file->path);
    }
    return read_entries(file, LENGTH_BYTES + (size_t)length);
}

static lh_status map_file(lh_safetensors *file) {
    struct stat status;
    const int descriptor = lh_fault() ? -1 : open(file->path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        if (descriptor >= 0) (void)close(descriptor);
        return lh_fail(LH_EIO, "%s: cannot be opened", file->path);
    }
    file->bytes = (size_t)status.st_size;
    void *map = file->bytes > 0 ? mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, descriptor, 0)
                                : MAP_FAILED;
    (void)close(descriptor);
    if (map == MAP_FAILED) return lh_fail(LH_EIO, "%s: empty, or cannot be mapped", file->path);
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
    if (file->map != NULL) (void)munmap(file->map, file->bytes);
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

const lh_safetensors_entry *lh_safetensors_find(const lh_safetensors *file, const char *name) {
    for (int i = 0; i < file->count; ++i) {
        if (strcmp(file->entry[i].name, name) == 0) return &file->entry[i];
    }
    return NULL;
}

/* ---- converting ---- */

static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE half: 5 bits of exponent, 10 of fraction. */
static float from_half(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, fraction = half & 0x3ffu;
    const uint32_t exponent = half >> 10 & 0x1fu;
    if (exponent == 0) {
        const float small = (float)fraction * 5.9604644775390625e-8f; /* 2^-24 */
        return sign != 0 ? -small : small;
    }
    const uint32_t rebased = exponent == 31 ? 255u : exponent + 112u;
    return from_bits(sign | rebased << 23 | fraction << 13);
}

static double element(const lh_safetensors_entry *entry, int64_t index) {
    double f64;
    float f32;
    uint16_t half;
    int64_t i64;
    int32_t i32;
    switch (entry->type) {
    case LH_SAFETENSORS_F64:
        memcpy(&f64, entry->data + 8 * index, 8);
        return f64;
    case LH_SAFETENSORS_F32:
        memcpy(&f32, entry->data + 4 * index, 4);
        return (double)f32;
    case LH_SAFETENSORS_F16:
        memcpy(&half, entry->data + 2 * index, 2);
        return (double)from_half(half);
    case LH_SAFETENSORS_BF16:
        memcpy(&half, entry->data + 2 * index, 2);
        return (double)from_bits((uint32_t)half << 16);
    case LH_SAFETENSORS_I64:
        memcpy(&i64, entry->data + 8 * index, 8);
        return (double)i64;
    case LH_SAFETENSORS_I32:
        memcpy(&i32, entry->data + 4 * index, 4);
        return (double)i32;
    }
    return 0;
}

void lh_safetensors_convert(const lh_safetensors_entry *entry, real *out) {
    for (int64_t i = 0; i < entry->count; ++i)
        out[i] = (real)element(entry, i);
}

/* ---- writing ---- */

static int64_t element_count(const lh_safetensors_source *source) {
    int64_t count = 1;
    for (int i = 0; i < source->rank; ++i)
        count *= source->shape[i];
    return count;
}

static bool add_source(cJSON *header, const lh_safetensors_source *source, int64_t *offset) {
    cJSON *item = cJSON_AddObjectToObject(header, source->name);
    cJSON *shape = NULL, *offsets = NULL;
    if (item == NULL || cJSON_AddStringToObject(item, "dtype", "F32") == NULL) return false;
    shape = cJSON_AddArrayToObject(item, "shape");
    offsets = cJSON_AddArrayToObject(item, "data_offsets");
    if (shape == NULL || offsets == NULL) return false;
    for (int i = 0; i < source->rank; ++i) {
        cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)source->shape[i]));
    }
    cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)*offset));
    *offset += 4 * element_count(source);
    cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)*offset));
    return true;
}

/* The header's text, padded with blanks to a multiple of 8. Gives (free()). */
static char *make_header(const lh_safetensors_source *sources, int count) {
    int64_t offset = 0;
    cJSON *header = cJSON_CreateObject();
    bool good = header != NULL;
    for (int i = 0; i < count && good; ++i)
        good = add_source(header, &sources[i], &offset);
    char *text = good ? cJSON_PrintUnformatted(header) : NULL;
    cJSON_Delete(header);
    if (text == NULL) return NULL;
    const size_t length = strlen(text);
    const size_t padded = (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *out = lh_allocate(padded + 1);
    if (out != NULL) (void)snprintf(out, padded + 1, "%-*s", (int)padded, text);
    cJSON_free(text);
    return out;
}

static lh_status write_values(lh_atomic_file *file, const lh_safetensors_source *source) {
    enum { CHUNK = 4096 };
    float buffer[CHUNK];
    const int64_t count = element_count(source);
    for (int64_t at = 0; at < count; at += CHUNK) {
        const int64_t length = count - at < CHUNK ? count - at : CHUNK;
        for (int64_t i = 0; i < length; ++i)
            buffer[i] = (float)source->values[at + i];
        LH_TRY(lh_atomic_file_write(file, buffer, (size_t)length * sizeof *buffer));
    }
    return LH_OK;
}

static lh_status write_all(lh_atomic_file *file, const char *header,
                           const lh_safetensors_source *sources, int count) {
    unsigned char length[LENGTH_BYTES];
    const size_t bytes = strlen(header);
    for (int i = 0; i < LENGTH_BYTES; ++i)
        length[i] = (unsigned char)(bytes >> 8 * i & 255);
    LH_TRY(lh_atomic_file_write(file, length, sizeof length));
    LH_TRY(lh_atomic_file_write(file, header, bytes));
    for (int i = 0; i < count; ++i)
        LH_TRY(write_values(file, &sources[i]));
    return LH_OK;
}

lh_status lh_safetensors_write(const char *path, const lh_safetensors_source *sources, int count) {
    lh_atomic_file *file = NULL;
    char *header = make_header(sources, count);
    if (header == NULL) return lh_fail(LH_EMEMORY, "%s: out of memory for the header", path);
    lh_status status = lh_atomic_file_open(path, &file);
    if (status == LH_OK) {
        status = write_all(file, header, sources, count);
        if (status == LH_OK) {
            status = lh_atomic_file_commit(file);
        } else {
            lh_atomic_file_abandon(file);
        }
    }
    free(header);
    return status;
}
