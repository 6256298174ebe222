/* Writing weight files: header and values, whole or not at all. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/atomic_file.h"
#include "harness/engine/safetensors.h"
#include "harness/engine/utf8.h"

enum { LENGTH_BYTES = 8, ALIGNMENT = 8 };

/* Offsets are JSON numbers: beyond this a double skips whole numbers. */
static const int64_t most_bytes = (int64_t)1 << 53;

/* Elements of a shape; -1 for one that no file can hold. */
static int64_t element_count(const lh_safetensors_source *source) {
    int64_t count = 1;
    if (source->rank < 0 || source->rank > LH_SAFETENSORS_RANK) return -1;
    for (int i = 0; i < source->rank; ++i) {
        const int64_t size = source->shape[i];
        if (size < 0 || (size > 0 && count > most_bytes / 4 / size)) return -1;
        count *= size;
    }
    return count;
}

static bool add_number(cJSON *array, int64_t value) {
    cJSON *number = cJSON_CreateNumber((double)value);
    return number != NULL && cJSON_AddItemToArray(array, number);
}

/* The entry of one tensor; false when memory ends. */
static bool add_entry(cJSON *header, const lh_safetensors_source *source, int64_t begin,
                      int64_t end) {
    cJSON *item = cJSON_AddObjectToObject(header, source->name);
    if (item == NULL || cJSON_AddStringToObject(item, "dtype", "F32") == NULL) return false;
    cJSON *shape = cJSON_AddArrayToObject(item, "shape");
    cJSON *offsets = cJSON_AddArrayToObject(item, "data_offsets");
    bool good = shape != NULL && offsets != NULL;
    for (int i = 0; i < source->rank && good; ++i)
        good = add_number(shape, source->shape[i]);
    return good && add_number(offsets, begin) && add_number(offsets, end);
}

static lh_status add_sources(const char *path, const lh_safetensors_contents *contents,
                             cJSON *header) {
    int64_t begin = 0;
    for (int i = 0; i < contents->source_count; ++i) {
        const lh_safetensors_source *source = &contents->sources[i];
        const int64_t count = element_count(source);
        if (count < 0 || begin > most_bytes - 4 * count) {
            return lh_fail(LH_ESHAPE, "%s: tensor %s: its shape cannot be stored", path,
                           source->name);
        }
        if (!add_entry(header, source, begin, begin + 4 * count)) {
            return lh_fail(LH_EMEMORY, "%s: out of memory for the header", path);
        }
        begin += 4 * count;
    }
    return LH_OK;
}

static lh_status add_metadata(const char *path, const lh_safetensors_contents *contents,
                              cJSON *header) {
    if (contents->metadata_count == 0) return LH_OK;
    cJSON *metadata = cJSON_AddObjectToObject(header, "__metadata__");
    bool good = metadata != NULL;
    for (int i = 0; i < contents->metadata_count && good; ++i) {
        const lh_safetensors_text *text = &contents->metadata[i];
        good = cJSON_AddStringToObject(metadata, text->key, text->value) != NULL;
    }
    return good ? LH_OK : lh_fail(LH_EMEMORY, "%s: out of memory for the header", path);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static lh_status check_names(const char *path, const lh_safetensors_contents *contents) {
    const int count = contents->source_count;
    const char **names = lh_allocate((size_t)count * sizeof *names);
    const char *twice = NULL;
    if (names == NULL) return LH_EMEMORY;
    for (int i = 0; i < count; ++i)
        names[i] = contents->sources[i].name;
    qsort(names, (size_t)count, sizeof *names, compare_names);
    for (int i = 0; i < count && twice == NULL; ++i) {
        const bool repeated = i > 0 && strcmp(names[i - 1], names[i]) == 0;
        if (repeated || strcmp(names[i], "__metadata__") == 0) twice = names[i];
    }
    free(names);
    if (twice == NULL) return LH_OK;
    return lh_fail(LH_EOPTION, "%s: tensor %s: the name is taken", path, twice);
}

/* Gives the header's text, padded with blanks to a multiple of 8 (free()). */
static lh_status make_header(const char *path, const lh_safetensors_contents *contents,
                             char **out) {
    cJSON *header = cJSON_CreateObject();
    if (header == NULL) return lh_fail(LH_EMEMORY, "%s: out of memory for the header", path);
    lh_status status = add_metadata(path, contents, header);
    if (status == LH_OK) status = add_sources(path, contents, header);
    char *text = status == LH_OK ? cJSON_PrintUnformatted(header) : NULL;
    cJSON_Delete(header);
    LH_TRY(status);
    if (text == NULL) return lh_fail(LH_EMEMORY, "%s: out of memory for the header", path);
    const size_t length = strlen(text);
    lh_utf8_repair(text, length); /* paths among the options may be none, JSON is */
    const size_t padded = lh_round_up(length, ALIGNMENT);
    *out = lh_allocate(padded + 1);
    if (*out != NULL) {
        memset(*out, ' ', padded);
        memcpy(*out, text, length);
        (*out)[padded] = '\0';
    }
    cJSON_free(text);
    return *out != NULL ? LH_OK : LH_EMEMORY;
}

static lh_status write_values(lh_atomic_file *file, const lh_safetensors_source *source) {
    enum { CHUNK = 4096 };
    float buffer[CHUNK];
    const int64_t count = element_count(source);
    for (int64_t at = 0; at < count; at += CHUNK) {
        const int64_t length = lh_min(count - at, CHUNK);
        for (int64_t i = 0; i < length; ++i)
            buffer[i] = (float)source->values[at + i];
        LH_TRY(lh_atomic_file_write(file, buffer, (size_t)length * sizeof *buffer));
    }
    return LH_OK;
}

static lh_status write_all(lh_atomic_file *file, const char *header,
                           const lh_safetensors_contents *contents) {
    unsigned char length[LENGTH_BYTES];
    const uint64_t bytes = strlen(header);
    for (int i = 0; i < LENGTH_BYTES; ++i)
        length[i] = (unsigned char)(bytes >> 8 * i & 255);
    LH_TRY(lh_atomic_file_write(file, length, sizeof length));
    LH_TRY(lh_atomic_file_write(file, header, (size_t)bytes));
    for (int i = 0; i < contents->source_count; ++i)
        LH_TRY(write_values(file, &contents->sources[i]));
    return LH_OK;
}

static lh_status write_file(const char *path, const char *header,
                            const lh_safetensors_contents *contents) {
    lh_atomic_file *file = NULL;
    LH_TRY(lh_atomic_file_open(path, &file));
    const lh_status status = write_all(file, header, contents);
    if (status == LH_OK) return lh_atomic_file_commit(file);
    lh_atomic_file_abandon(file);
    return status;
}

lh_status lh_safetensors_write(const char *path, const lh_safetensors_contents *contents) {
    char *header = NULL;
    LH_TRY(check_names(path, contents));
    LH_TRY(make_header(path, contents, &header));
    const lh_status status = write_file(path, header, contents);
    free(header);
    return status;
}
