/* "sentencepiece:train:SIZE": a vocabulary trained once on a corpus' train split and kept in the
 * cache folder under the corpus' digest. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "datasets/corpus.h"
#include "datasets/tokenizer.h"
#include "harness/engine/atomic_file.h"

static const char prefix[] = "sentencepiece:train:";

/* Enough text for a vocabulary; the rest of a large corpus is not read. */
static const size_t most_bytes = (size_t)64 << 20;

bool lh_tokens_are_trained(const char *tokens) {
    return strncmp(tokens, prefix, sizeof prefix - 1) == 0;
}

#ifdef LH_HAVE_SENTENCEPIECE

static lh_status write_texts(lh_corpus *corpus, lh_atomic_file *file) {
    size_t written = 0;
    for (int64_t i = 0; i < lh_corpus_documents(corpus, LH_TRAIN) && written < most_bytes; ++i) {
        const char *text = NULL;
        size_t bytes = 0;
        LH_TRY(lh_corpus_text(corpus, LH_TRAIN, i, &text, &bytes));
        LH_TRY(lh_atomic_file_write(file, text, bytes));
        LH_TRY(lh_atomic_file_write(file, "\n", 1));
        written += bytes;
    }
    return LH_OK;
}

static lh_status write_text_file(lh_corpus *corpus, const char *path) {
    lh_atomic_file *file = NULL;
    LH_TRY(lh_atomic_file_open(path, &file));
    const lh_status status = write_texts(corpus, file);
    if (status == LH_OK) return lh_atomic_file_commit(file);
    lh_atomic_file_abandon(file);
    return status;
}

static lh_status make_folder(const char *path) {
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return LH_OK;
    return lh_fail(LH_EIO, "%s: cannot be made", path);
}

/* Trains into <base>.new.model and renames it, so that a model is there whole or not at all. */
static lh_status train(lh_corpus *corpus, const char *base, int64_t pieces, const char *model) {
    char text[LH_PATH_BYTES], fresh[LH_PATH_BYTES], made[LH_PATH_BYTES + 16];
    (void)snprintf(text, sizeof text, "%.4000s.txt", base);
    (void)snprintf(fresh, sizeof fresh, "%.4000s.new", base);
    (void)snprintf(made, sizeof made, "%s.model", fresh);
    LH_TRY(write_text_file(corpus, text));
    const lh_status status = lh_sentencepiece_train(text, fresh, pieces);
    (void)remove(text);
    (void)snprintf(text, sizeof text, "%.4000s.new.vocab", base);
    (void)remove(text);
    LH_TRY(status);
    return rename(made, model) == 0 ? LH_OK : lh_fail(LH_EIO, "%s: cannot be written", model);
}

lh_status lh_trained_tokens_open(lh_corpus *corpus, const char *tokens, lh_tokenizer **out) {
    char cache[LH_PATH_BYTES], base[LH_PATH_BYTES], model[LH_PATH_BYTES];
    char name[LH_PATH_BYTES + 16];
    struct stat state;
    const long long pieces = strtoll(tokens + sizeof prefix - 1, NULL, 10);
    if (pieces < 16 || pieces > 1000000) {
        return lh_fail(LH_EOPTION, "%s: a vocabulary has 16 to 1000000 pieces", tokens);
    }
    lh_cache_folder(cache);
    if (cache[0] == '\0') return lh_fail(LH_EIO, "no cache folder: set HOME or XDG_CACHE_HOME");
    LH_TRY(make_folder(cache));
    (void)snprintf(base, sizeof base, "%.3900s/trained-%016llx-%lld", cache,
                   (unsigned long long)lh_corpus_digest(corpus), pieces);
    (void)snprintf(model, sizeof model, "%.4000s.model", base);
    if (stat(model, &state) != 0) LH_TRY(train(corpus, base, pieces, model));
    (void)snprintf(name, sizeof name, "sentencepiece:%s", model);
    return lh_tokenizer_open(name, out);
}

#else

lh_status lh_trained_tokens_open(lh_corpus *corpus, const char *tokens, lh_tokenizer **out) {
    (void)corpus;
    return lh_tokenizer_open(tokens, out);
}

#endif
