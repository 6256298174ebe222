/* Images stay in their files, of which one is open at a time, or are generated when they are read.
 */
#include "datasets/images/images.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/generate/generate_image.h"
#include "datasets/locate.h"
#include "harness/engine/array.h"
#include "harness/engine/file.h"
#include "harness/engine/npy.h"
#include "harness/engine/text.h"

enum { CHANNELS = 3 };
static const char stand_in[] = "imagenet64";

typedef struct image_file {
    char *path;
    lh_npy_layout layout;
} image_file;

typedef struct image_files {
    image_file *at;
    int64_t count, capacity, images;
} image_files;

struct lh_images {
    int64_t side, counts[LH_SPLITS];
    image_files files[LH_SPLITS];
    bool generated;
    uint64_t data_seed, digest;
    FILE *open; /* the file read last */
    const image_file *opened;
    uint8_t *planes; /* an image as it lies in a file */
    char *source;
};

static size_t image_bytes(const lh_images *images) {
    return (size_t)(images->side * images->side * CHANNELS);
}

/* ---- opening ---- */

static bool has_images(const lh_npy_layout *layout, int64_t side) {
    const int64_t *shape = layout->shape;
    if (strcmp(layout->kind, "u1") != 0) return false;
    if (layout->rank == 2) return shape[1] == side * side * CHANNELS;
    return layout->rank == 4 && shape[1] == side && shape[2] == side && shape[3] == CHANNELS;
}

static lh_status add_file(lh_images *images, lh_split split, const char *path) {
    image_files *files = &images->files[split];
    lh_npy_layout layout;
    LH_TRY(lh_npy_read_layout(path, &layout));
    if (!has_images(&layout, images->side)) {
        return lh_fail(LH_EFORMAT,
                       "%s: expected unsigned bytes of shape [images][%lld] or "
                       "[images][%lld][%lld][3]; option `side` says how many pixels",
                       path, (long long)image_bytes(images), (long long)images->side,
                       (long long)images->side);
    }
    LH_TRY(lh_array_reserve(&files->at, &files->capacity, files->count + 1, sizeof *files->at));
    image_file *at = &files->at[files->count];
    *at = (image_file){.path = lh_duplicate_text(path), .layout = layout};
    if (at->path == NULL) return LH_EMEMORY;
    files->count += 1;
    files->images += layout.shape[0];
    return LH_OK;
}

/* One entry of a folder; what is no .npy file is passed over. */
static lh_status add_entry(lh_images *images, lh_split split, const char *folder,
                           const char *name) {
    if (!lh_name_ends(name, ".npy")) return LH_OK;
    char *path = lh_format("%s/%s", folder, name);
    if (path == NULL) return LH_EMEMORY;
    const lh_status status = add_file(images, split, path);
    free(path);
    return status;
}

/* All .npy files of a folder by name. */
static lh_status add_folder(lh_images *images, lh_split split, const char *folder) {
    struct dirent **entry = NULL;
    const int count = scandir(folder, &entry, NULL, alphasort);
    if (count < 0) return lh_fail(LH_EIO, "%s: the folder cannot be read", folder);
    lh_status status = LH_OK;
    for (int i = 0; i < count; ++i) {
        if (status == LH_OK) status = add_entry(images, split, folder, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    return status;
}

/* The folder of a split, or that of the validation images where there is none of the test's. */
static lh_status open_split(lh_images *images, lh_split split, const char *folder) {
    static const char *const names[LH_SPLITS][3] = {
        {"train", NULL, NULL}, {"valid", NULL, NULL}, {"test", "valid", NULL}};
    char *path = NULL;
    LH_TRY(lh_file_find(folder, names[split], &path));
    const lh_status status = path != NULL ? add_folder(images, split, path) : LH_OK;
    free(path);
    images->counts[split] = images->files[split].images;
    return status;
}

static lh_status open_folder(lh_images *images, const char *name, const char *folder) {
    int64_t found = 0;
    for (int s = 0; s < LH_SPLITS; ++s) {
        LH_TRY(open_split(images, (lh_split)s, folder));
        found += images->counts[s];
    }
    if (images->counts[LH_TRAIN] == 0)
        return lh_fail(LH_EFORMAT, "%s/train: has no .npy file with images", folder);
    char *what = lh_format("%lld images", (long long)found);
    if (what == NULL) return LH_EMEMORY;
    const lh_status status = lh_source_found(&images->source, name, what, folder);
    free(what);
    return status;
}

static lh_status open_generator(lh_images *images, const lh_images_spec *spec) {
    images->generated = true;
    images->data_seed = spec->data_seed;
    memcpy(images->counts, spec->counts, sizeof images->counts);
    images->digest = lh_digest_generated(LH_GENERATED_IMAGE_VERSION, spec->data_seed);
    images->digest = lh_digest_mix(images->digest, spec->counts, sizeof spec->counts);
    return lh_source_generated(&images->source, stand_in);
}

static lh_status open_source(lh_images *images, const lh_images_spec *spec) {
    const char *const made[] = {stand_in, NULL};
    char *path = NULL;
    LH_TRY(lh_data_resolve("images", spec->name, made,
                           "expected is a folder with train/*.npy; docs/lua.md says how to convert "
                           "the release",
                           &path));
    const lh_status status =
        path != NULL ? open_folder(images, spec->name, path) : open_generator(images, spec);
    free(path);
    return status;
}

static lh_status mix_split(lh_images *images, lh_split split, lh_digests *digests) {
    const image_files *files = &images->files[split];
    int64_t images_before = 0;
    for (int64_t i = 0; i < files->count && images_before < images->counts[split]; ++i) {
        const image_file *file = &files->at[i];
        const uint64_t place[] = {(uint64_t)split, (uint64_t)i, (uint64_t)images->counts[split]};
        images->digest = lh_digest_mix(images->digest, place, sizeof place);
        images->digest = lh_digest_text(images->digest, strrchr(file->path, '/') + 1);
        LH_TRY(lh_digests_file(digests, file->path, &images->digest, NULL));
        images_before += file->layout.shape[0];
    }
    return LH_OK;
}

/* The files that the images in use lie in. */
static lh_status mix_files(lh_images *images) {
    lh_digests *digests = NULL;
    LH_TRY(lh_digests_create(&digests));
    lh_status status = LH_OK;
    for (int s = 0; s < LH_SPLITS && status == LH_OK; ++s)
        status = mix_split(images, (lh_split)s, digests);
    if (status == LH_OK) lh_digests_keep(digests);
    lh_digests_destroy(digests);
    return status;
}

lh_status lh_images_open(const lh_images_spec *spec, lh_images **out) {
    *out = NULL;
    lh_images *images = lh_allocate_zeroed(1, sizeof *images);
    if (images == NULL) return LH_EMEMORY;
    images->side = spec->side;
    images->planes = lh_allocate(image_bytes(images));
    lh_status status = images->planes != NULL ? open_source(images, spec) : LH_EMEMORY;
    for (int s = 0; s < LH_SPLITS; ++s) {
        if (spec->limits[s] > 0 && spec->limits[s] < images->counts[s])
            images->counts[s] = spec->limits[s];
    }
    if (status == LH_OK && !images->generated) status = mix_files(images);
    if (status != LH_OK) {
        lh_images_destroy(images);
        return status;
    }
    *out = images;
    return LH_OK;
}

void lh_images_destroy(lh_images *images) {
    if (images == NULL) return;
    for (int s = 0; s < LH_SPLITS; ++s) {
        for (int64_t i = 0; i < images->files[s].count; ++i)
            free(images->files[s].at[i].path);
        free(images->files[s].at);
    }
    if (images->open != NULL) (void)fclose(images->open);
    free(images->planes);
    free(images->source);
    free(images);
}

/* ---- reading ---- */

static lh_status open_file(lh_images *images, const image_file *file) {
    if (images->opened == file) return LH_OK;
    if (images->open != NULL) (void)fclose(images->open);
    images->opened = NULL;
    images->open = lh_file_open(file->path);
    if (images->open == NULL) return LH_EIO;
    images->opened = file;
    return LH_OK;
}

static lh_status read_file(lh_images *images, const image_file *file, int64_t index,
                           uint8_t *pixels) {
    const size_t bytes = image_bytes(images), plane = bytes / CHANNELS;
    const bool planar = file->layout.rank == 2;
    uint8_t *to = planar ? images->planes : pixels;
    LH_TRY(open_file(images, file));
    const off_t offset = (off_t)(file->layout.offset + index * (int64_t)bytes);
    if (fseeko(images->open, offset, SEEK_SET) != 0 || fread(to, 1, bytes, images->open) != bytes)
        return lh_fail(LH_EIO, "%s: shorter than when it was opened", file->path);
    for (size_t i = 0; planar && i < bytes; ++i)
        pixels[i] = to[i % CHANNELS * plane + i / CHANNELS];
    return LH_OK;
}

lh_status lh_images_read(lh_images *images, lh_split split, int64_t index, uint8_t *pixels) {
    if (index < 0 || index >= images->counts[split])
        return lh_fail(LH_EOPTION, "image %lld of %lld", (long long)index,
                       (long long)images->counts[split]);
    if (images->generated) {
        lh_generate_image(images->data_seed * LH_SPLITS + (uint64_t)split, (uint64_t)index,
                          images->side, pixels);
        return LH_OK;
    }
    const image_file *file = images->files[split].at;
    for (; index >= file->layout.shape[0]; ++file)
        index -= file->layout.shape[0];
    return read_file(images, file, index, pixels);
}

int64_t lh_images_count(const lh_images *images, lh_split split) {
    return images->counts[split];
}

const char *lh_images_source(const lh_images *images) {
    return images->source;
}

uint64_t lh_images_digest(const lh_images *images) {
    return images->digest;
}
