/* What a run's identity says of its data: digests of their content, with XXH3. The one place where
 * readers take them from. */
#ifndef LH_DATASETS_DIGEST_H
#define LH_DATASETS_DIGEST_H

#include "harness/engine/error.h"

/* A digest of all that `digest` stands for, then of these bytes. Begin with 0; where bytes end is
 * part of it: "ab", "c" and "a", "bc" differ. */
uint64_t lh_digest_mix(uint64_t digest, const void *data, size_t bytes);
uint64_t lh_digest_text(uint64_t digest, const char *text);

/* Of what a generator makes item by item, where there is no content to read: its version, the
 * LH_..._VERSION beside it, and the seed. Whoever changes what a generator makes of a seed raises
 * its version, so that runs on the old and on the new data are never taken for the same;
 * tests/datasets/test_generators.c has a digest of each one's output and fails until then. */
uint64_t lh_digest_generated(uint64_t version, uint64_t seed);

/* Mixes a file's content into *digest. Fails: LH_EIO. */
lh_status lh_digest_file(const char *path, uint64_t *digest);

/* What lh_digest_file mixes in for a file of this content. */
uint64_t lh_digest_content(uint64_t digest, const void *data, size_t bytes);

/* The same for many files, each of which is read once: digests are kept in the file `digests` of
 * the cache folder, by path, device, inode, size and times of the last change of content and of
 * inode to the nanosecond. The system sets the latter, so that content that was exchanged under its
 * old size and time (cp -p, touch -r) is read again. A file that changed within the last second is
 * not kept: it may change once more within the clock's grain. */
typedef struct lh_digests lh_digests;

/* Reads what is kept; a file that is missing, damaged or of another version counts as empty. Gives;
 * destroy it. */
lh_status lh_digests_create(lh_digests **out);
/* has_nul (NULL: nobody asks): whether the content has a NUL byte, which no text has. */
lh_status lh_digests_file(lh_digests *digests, const char *path, uint64_t *digest, bool *has_nul);

/* Adds what is new to the kept digests, those that other processes added meanwhile among them; the
 * file is replaced as a whole. Where it cannot be written the files are read again next time. */
void lh_digests_keep(lh_digests *digests);
void lh_digests_destroy(lh_digests *digests); /* NULL is allowed */

#endif
