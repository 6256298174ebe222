/* Images as data whose items stand by themselves, one sequence of bytes each. */
#ifndef LH_DATASETS_IMAGES_H
#define LH_DATASETS_IMAGES_H

#include "harness/engine/error.h"
#include "harness/engine/split.h"

/* Square images of three channels. Pixels stand row by row, the channels of a pixel side by side:
 * side * side * 3 bytes. */
typedef struct lh_images lh_images;

typedef struct lh_images_spec {
    const char *name;          /* of a data folder, or a folder with a slash in its path */
    int64_t side;              /* pixels */
    int64_t counts[LH_SPLITS]; /* how many the embedded generator makes */
    int64_t limits[LH_SPLITS]; /* how many to use; 0: all */
    uint64_t data_seed;        /* of the generator */
} lh_images_spec;

/* Opens <folder>/train, valid and test with .npy files of unsigned bytes: [images][3 side side]
 * with one channel after the other, as the downsampled ImageNet is released, or
 * [images][side][side][3]. Without test/ the images of valid/ are the test split: the release
 * labels no others. Where the name "imagenet64" is in no data folder the generator serves. Gives;
 * destroy it. Fails: LH_EIO naming where it looked and how to get the data; LH_EFORMAT naming the
 * file. */
lh_status lh_images_open(const lh_images_spec *spec, lh_images **out);
void lh_images_destroy(lh_images *images);
int64_t lh_images_count(const lh_images *images, lh_split split);
lh_status lh_images_read(lh_images *images, lh_split split, int64_t index, uint8_t *pixels);
/* "imagenet64 (300 images in the data folder)": for the CSV column `data`. */
const char *lh_images_source(const lh_images *images);
uint64_t lh_images_digest(const lh_images *images);

#endif
