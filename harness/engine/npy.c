/* .npy files: the header's dictionary read without trust, arrays written whole. */
#include "harness/engine/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/atomic_file.h"
#include "harness/engine/file.h"

enum { PREFIX = 10, HEADER = 512, ALIGNMENT = 64 };
static const char magic[] = "\x93NUMPY\x01";

/* ---- reading ---- */

/* The text after 'key': in the header's dictionary, or NULL. */
static const char *value_of(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (at == NULL) return NULL;
    at = strchr(at + strlen(key), ':');
    return at != NULL ? at + 1 + strspn(at + 1, " ") : NULL;
}

static lh_status parse_shape(const char *path, const char *text, lh_npy_layout *out) {
    if (text == NULL || *text != '(')
        return lh_fail(LH_EFORMAT, "%s: no shape in the header", path);
    out->count = 1;
    for (const char *at = text + 1; *at != ')';) {
        char *end = NULL;
        const long long size = strtoll(at, &end, 10);
        const bool fits = end != at && size >= 0 && out->rank < LH_NPY_RANK &&
                          (size == 0 || out->count <= INT64_MAX / 8 / size);
        if (!fits) return lh_fail(LH_EFORMAT, "%s: unreadable shape in the header", path);
        out->shape[out->rank++] = size;
        out->count *= size;
        at = end + strspn(end, ", ");
        if (*at == '\0') return lh_fail(LH_EFORMAT, "%s: unreadable shape in the header", path);
    }
    return LH_OK;
}

/* `data` is the beginning of a file of `bytes`, and holds PREFIX + HEADER of them where there are
 * so many. */
static lh_status parse_layout(const char *path, const unsigned char *data, size_t bytes,
                              lh_npy_layout *out) {
    char header[HEADER];
    *out = (lh_npy_layout){.rank = 0};
    if (bytes < PREFIX || memcmp(data, magic, 7) != 0) {
        return lh_fail(LH_EFORMAT, "%s: not a .npy file of version 1", path);
    }
    const size_t length = (size_t)data[8] | (size_t)data[9] << 8;
    if (length >= HEADER || PREFIX + length > bytes) {
        return lh_fail(LH_EFORMAT, "%s: header of %zu bytes in a file of %zu", path, length, bytes);
    }
    memcpy(header, data + PREFIX, length);
    header[length] = '\0';
    const char *kind = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
    if (kind == NULL || strlen(kind) < 5 || strchr("<>|", kind[1]) == NULL || kind[4] != '\'') {
        return lh_fail(LH_EFORMAT, "%s: needs reals or integers", path);
    }
    memcpy(out->kind, kind + 2, 2);
    out->big_endian = kind[1] == '>';
    if (order == NULL || strncmp(order, "False", 5) != 0) {
        return lh_fail(LH_EFORMAT, "%s: Fortran order; save it in C order", path);
    }
    out->offset = (int64_t)(PREFIX + length);
    return parse_shape(path, value_of(header, "'shape'"), out);
}

static lh_status check_size(const char *path, const lh_npy_layout *layout, size_t bytes) {
    const size_t size = (size_t)(layout->kind[1] - '0');
    const size_t there = size > 0 ? (bytes - (size_t)layout->offset) / size : 0;
    if (there >= (size_t)layout->count) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s: truncated: %lld elements promised, %zu there", path,
                   (long long)layout->count, there);
}

/* The bits of an element, whichever of its bytes stands first. */
static uint64_t bits_at(const unsigned char *at, int size, bool big_endian) {
    uint64_t bits = 0;
    for (int i = 0; i < size; ++i)
        bits = bits << 8 | at[big_endian ? i : size - 1 - i];
    return bits;
}

/* An integer of a kind, "i" or "u" with its size. */
static int64_t integer_of(uint64_t bits, const char kind[3]) {
    const int size = kind[1] - '0';
    const bool negative = kind[0] == 'i' && (bits >> (8 * size - 1) & 1) != 0;
    if (negative && size < 8) bits |= ~UINT64_C(0) << 8 * size;
    int64_t value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double real_of(uint64_t bits, int size) {
    const uint32_t half = (uint32_t)bits;
    double value;
    float narrow;
    memcpy(&value, &bits, sizeof value);
    memcpy(&narrow, &half, sizeof narrow);
    return size == 8 ? value : (double)narrow;
}

static lh_status convert(const char *path, const lh_npy_layout *layout, const unsigned char *data,
                         lh_npy *out) {
    const int size = layout->kind[1] - '0';
    const bool real_kind = layout->kind[0] == 'f', without_sign = layout->kind[0] == 'u';
    void *values = lh_allocate((size_t)out->count * 8);
    if (values == NULL) return LH_EMEMORY;
    out->reals = real_kind ? values : NULL;
    out->integers = real_kind ? NULL : values;
    for (int64_t i = 0; i < out->count; ++i) {
        const uint64_t bits = bits_at(data + i * size, size, layout->big_endian);
        if (without_sign && bits > INT64_MAX)
            return lh_fail(LH_EFORMAT, "%s: element %lld is %llu, beyond 2^63 - 1", path,
                           (long long)i, (unsigned long long)bits);
        if (real_kind) out->reals[i] = real_of(bits, size);
        if (!real_kind) out->integers[i] = integer_of(bits, layout->kind);
    }
    return LH_OK;
}

static lh_status parse(const char *path, const unsigned char *data, size_t bytes, lh_npy *out) {
    lh_npy_layout layout;
    LH_TRY(parse_layout(path, data, bytes, &layout));
    const char *sizes = layout.kind[0] == 'f' ? "48" : "1248";
    if (strchr("fiu", layout.kind[0]) == NULL || strchr(sizes, layout.kind[1]) == NULL)
        return lh_fail(LH_EFORMAT, "%s: holds %s; needs f4, f8 or integers", path, layout.kind);
    LH_TRY(check_size(path, &layout, bytes));
    out->rank = layout.rank;
    out->count = layout.count;
    memcpy(out->shape, layout.shape, sizeof out->shape);
    return convert(path, &layout, data + layout.offset, out);
}

lh_status lh_npy_read(const char *path, lh_npy *out) {
    void *data = NULL;
    size_t bytes = 0;
    *out = (lh_npy){0};
    LH_TRY(lh_file_read_all(path, &data, &bytes));
    const lh_status status = parse(path, data, bytes, out);
    free(data);
    if (status != LH_OK) lh_npy_clear(out);
    return status;
}

lh_status lh_npy_read_layout(const char *path, lh_npy_layout *out) {
    unsigned char begin[PREFIX + HEADER];
    FILE *file = lh_file_open(path);
    if (file == NULL) return LH_EIO;
    const size_t there = fread(begin, 1, sizeof begin, file);
    const bool sought = fseek(file, 0, SEEK_END) == 0;
    const long bytes = sought ? ftell(file) : -1;
    (void)fclose(file);
    if (bytes < 0) return lh_fail(LH_EIO, "%s: cannot be read", path);
    LH_TRY(parse_layout(path, begin, there, out));
    return check_size(path, out, (size_t)bytes);
}

void lh_npy_clear(lh_npy *array) {
    free(array->integers);
    free(array->reals);
    *array = (lh_npy){0};
}

/* ---- writing ---- */

/* Prefix and dictionary, padded with blanks so that the values begin on a multiple of 64 bytes. */
static size_t make_header(int rank, const int64_t *shape, unsigned char *out) {
    char text[HEADER] = "";
    size_t used = (size_t)snprintf(
        text, sizeof text, "{'descr': '<f%zu', 'fortran_order': False, 'shape': (", sizeof(real));
    for (int i = 0; i < rank; ++i) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%lld,", (long long)shape[i]);
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "), }");
    const size_t total = lh_round_up(PREFIX + used + 1, ALIGNMENT);
    const size_t length = total - PREFIX;
    memcpy(out, magic, 7);
    out[7] = 0;
    out[8] = (unsigned char)(length & 255);
    out[9] = (unsigned char)(length >> 8);
    memset(out + PREFIX, ' ', length);
    memcpy(out + PREFIX, text, used);
    out[total - 1] = '\n';
    return total;
}

lh_status lh_npy_write(const char *path, int rank, const int64_t *shape, const real *values) {
    unsigned char header[PREFIX + HEADER + ALIGNMENT];
    size_t count = 1;
    if (rank < 0 || rank > LH_NPY_RANK) return lh_fail(LH_ESHAPE, "%s: rank %d", path, rank);
    for (int i = 0; i < rank; ++i) {
        if (shape[i] < 0) return lh_fail(LH_ESHAPE, "%s: a negative size", path);
        count *= (size_t)shape[i];
    }
    const size_t length = make_header(rank, shape, header);
    lh_atomic_file *file = NULL;
    LH_TRY(lh_atomic_file_open(path, &file));
    lh_status status = lh_atomic_file_write(file, header, length);
    if (status == LH_OK) status = lh_atomic_file_write(file, values, count * sizeof *values);
    if (status == LH_OK) return lh_atomic_file_commit(file);
    lh_atomic_file_abandon(file);
    return status;
}
