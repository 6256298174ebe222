/* Generator, folder, file of JSON lines or public corpus: the name and what lies there decide. */
#include "datasets/text/corpus_read.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "datasets/locate.h"
#include "datasets/text/corpus_class.h"
#include "datasets/text/corpus_folder.h"
#include "datasets/text/corpus_generated.h"
#include "datasets/text/corpus_lines.h"
#include "datasets/text/corpus_stream.h"
#include "datasets/text/json_lines.h"
#include "harness/engine/file.h"
#include "harness/engine/text.h"

static lh_status read_generated(lh_corpus *corpus, const char *kind,
                                const lh_corpus_config *config) {
    char *source = NULL;
    LH_TRY(lh_source_generated(&source, kind));
    lh_corpus_set_source(corpus, source);
    return lh_corpus_read_generated(corpus, kind, config);
}

/* A folder or a file that was found at `path`. */
static lh_status read_path(lh_corpus *corpus, const char *path, bool stream,
                           const lh_corpus_config *config) {
    const char *field = config->field[0] != '\0' ? config->field : "text";
    if (stream) return lh_corpus_read_stream(corpus, config->name, path);
    if (lh_is_folder(path)) return lh_corpus_read_folder(corpus, field, path);
    const char *name = strrchr(path, '/') + 1;
    if (!lh_json_lines_is(path)) return lh_corpus_read_only(corpus, name, path);
    return lh_corpus_read_lines(corpus, field, -1, name, path);
}

static lh_status name_found(lh_corpus *corpus, const char *name, const char *path) {
    int64_t documents = 0;
    for (int s = 0; s < LH_SPLITS; ++s)
        documents += lh_corpus_documents(corpus, (lh_split)s);
    const char *noted = lh_corpus_noted_file(corpus);
    char *what = lh_format("%lld documents", (long long)documents), *source = NULL;
    if (what == NULL) return LH_EMEMORY;
    const lh_status status = lh_source_found(&source, name, what, noted != NULL ? noted : path);
    free(what);
    lh_corpus_set_source(corpus, source);
    return status;
}

static lh_status read_found(lh_corpus *corpus, const char *path, bool given,
                            const lh_corpus_config *config) {
    const bool stream = !given && lh_corpus_is_stream(config->name);
    LH_TRY(read_path(corpus, path, stream, config));
    return name_found(corpus, config->name, path);
}

static lh_status refuse_path(const char *path) {
    char folder[PATH_MAX];
    const bool is_whole = path[0] == '/' || getcwd(folder, sizeof folder) == NULL;
    if (strncmp(path, "./", 2) == 0) path += 2;
    return lh_fail(LH_EIO,
                   "there is no file or folder %s%s%s (a path is one from the working folder)",
                   is_whole ? "" : folder, is_whole ? "" : "/", path);
}

static lh_status refuse(const char *name) {
    if (strchr(name, '/') != NULL) return refuse_path(name);
    char *rest =
        lh_format("`longhaul data fetch %s` downloads it if `longhaul data list` has it; of "
                  "your own text `longhaul data import FOLDER --name %s` makes it, and a "
                  "path has a slash in it, ./%s",
                  name, name, name);
    if (rest == NULL) return LH_EMEMORY;
    const lh_status status = lh_data_refuse("data", name, lh_corpus_generators, rest);
    free(rest);
    return status;
}

static lh_status read_documents(lh_corpus *corpus, const lh_corpus_config *config) {
    static const char generate[] = "generate:";
    static const char plugin[] = "plugin:";
    const char *name = config->name;
    if (strncmp(name, plugin, sizeof plugin - 1) == 0)
        return lh_corpus_read_brought(corpus, name + sizeof plugin - 1, config);
    if (strncmp(name, generate, sizeof generate - 1) == 0)
        return read_generated(corpus, name + sizeof generate - 1, config);
    if (strchr(name, '/') != NULL && (lh_json_lines_is(name) || lh_file_exists(name)))
        return read_found(corpus, name, true, config);
    char *path = NULL;
    LH_TRY(lh_data_find(name, &path));
    if (path == NULL && lh_corpus_has_generator(name)) return read_generated(corpus, name, config);
    if (path == NULL) return refuse(name);
    const lh_status status = read_found(corpus, path, false, config);
    free(path);
    return status;
}

lh_status lh_corpus_fill(lh_corpus *corpus, const lh_corpus_config *config) {
    LH_TRY(read_documents(corpus, config));
    lh_corpus_keep_digests(corpus);
    if (lh_corpus_documents(corpus, LH_TRAIN) > 0) return LH_OK;
    return lh_fail(LH_EFORMAT,
                   "data '%s' has no training documents (%lld to validate, %lld to test)",
                   config->name, (long long)lh_corpus_documents(corpus, LH_VALID),
                   (long long)lh_corpus_documents(corpus, LH_TEST));
}

lh_status lh_corpus_read(const lh_corpus_config *config, lh_corpus **out) {
    lh_corpus *corpus = NULL;
    *out = NULL;
    LH_TRY(lh_corpus_create(config, &corpus));
    const lh_status status = lh_corpus_fill(corpus, config);
    if (status == LH_OK) *out = corpus;
    if (status != LH_OK) lh_corpus_destroy(corpus);
    return status;
}
