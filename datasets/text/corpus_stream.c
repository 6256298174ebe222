/* Corpora that are one long file: enwik8 and text8 (the first 90 %, then 5 % and 5 %, as is the
 * custom for the whole files), and WikiText-103 (a file per split). The files may be compressed
 * with gzip. */
#include "datasets/text/corpus_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/unpack.h"
#include "harness/engine/file.h"

/* Documents of enwik8 are whole pages joined up to at least this size; text8 has no marks and is
 * cut. */
static const size_t page_bytes = 32768, piece_bytes = 65536;

/* ---- reading ---- */

/* The first of folder/<name> over the names that exists. */
static lh_status read_first(lh_corpus *corpus, const char *folder, const char *const *names,
                            lh_text *out) {
    char *path = NULL;
    LH_TRY(lh_file_find(folder, names, &path));
    if (path == NULL)
        return lh_fail(LH_EIO, "%s: has no file %s, compressed or not", folder, names[0]);
    lh_status status = lh_corpus_note_file(corpus, path);
    if (status == LH_OK) status = lh_text_unpack(path, out);
    free(path);
    return status;
}

/* ---- cutting ---- */

/* Where the document that begins at `begin` ends. */
typedef size_t (*cut)(const char *data, size_t begin, size_t end);

static size_t cut_pages(const char *data, size_t begin, size_t end) {
    static const char mark[] = "<page>";
    for (size_t at = begin + page_bytes; at + sizeof mark < end; ++at) {
        if (data[at] == '<' && memcmp(data + at, mark, sizeof mark - 1) == 0) return at;
    }
    return end;
}

static size_t cut_pieces(const char *data, size_t begin, size_t end) {
    (void)data;
    return end - begin > piece_bytes ? begin + piece_bytes : end;
}

/* An article's title is a line " = Title = "; sections have more signs. */
static bool is_title(const char *line, size_t bytes) {
    const char *end = memchr(line, '\n', bytes);
    const size_t length = end != NULL ? (size_t)(end - line) : bytes;
    return length > 6 && memcmp(line, " = ", 3) == 0 && line[3] != '=' &&
           memcmp(line + length - 3, " = ", 3) == 0 && line[length - 4] != '=';
}

static size_t cut_articles(const char *data, size_t begin, size_t end) {
    bool inside = false;
    for (size_t at = begin; at < end;) {
        const char *line_end = memchr(data + at, '\n', end - at);
        const bool title = is_title(data + at, end - at);
        if (title && inside) return at;
        inside = inside || title;
        at = line_end != NULL ? (size_t)(line_end - data) + 1 : end;
    }
    return end;
}

static lh_status add_documents(lh_corpus *corpus, lh_split split, const char *name,
                               const lh_text *t, size_t begin, size_t end, cut next) {
    for (int index = 0; begin < end; ++index) {
        const size_t stop = next(t->data, begin, end);
        char label[64];
        (void)snprintf(label, sizeof label, "%s/%d", name, index);
        LH_TRY(lh_corpus_add_part(corpus, split, label, t->data, t->bytes, begin, stop));
        begin = stop;
    }
    return LH_OK;
}

static lh_status add_thirds(lh_corpus *corpus, const char *name, const lh_text *t, cut next) {
    const size_t train = t->bytes / 100 * 90, valid = t->bytes / 100 * 95;
    LH_TRY(add_documents(corpus, LH_TRAIN, name, t, 0, train, next));
    LH_TRY(add_documents(corpus, LH_VALID, name, t, train, valid, next));
    return add_documents(corpus, LH_TEST, name, t, valid, t->bytes, next);
}

/* ---- the corpora ---- */

static const char *const enwik8_files[] = {"enwik8", "enwik8.gz", "enwik8.head.gz", NULL};
static const char *const text8_files[] = {"text8", "text8.gz", "text8.head.gz", NULL};
static const char *const wikitext_files[LH_SPLITS][4] = {
    {"wiki.train.tokens", "wiki.train.tokens.gz", "wiki.train.head.tokens.gz", NULL},
    {"wiki.valid.tokens", "wiki.valid.tokens.gz", NULL, NULL},
    {"wiki.test.tokens", "wiki.test.tokens.gz", NULL, NULL}};
/* The same with all words, where the others have <unk> for the rare ones. */
static const char *const raw_wikitext_files[LH_SPLITS][4] = {
    {"wiki.train.raw", "wiki.train.raw.gz", "wiki.train.head.raw.gz", NULL},
    {"wiki.valid.raw", "wiki.valid.raw.gz", NULL, NULL},
    {"wiki.test.raw", "wiki.test.raw.gz", NULL, NULL}};

static lh_status read_one_file(lh_corpus *corpus, const char *name, const char *folder,
                               const char *const *files, cut next) {
    lh_text t = {0};
    lh_status status = read_first(corpus, folder, files, &t);
    if (status == LH_OK) status = add_thirds(corpus, name, &t, next);
    free(t.data);
    return status;
}

lh_status lh_corpus_read_single(lh_corpus *corpus, const char *name, const char *path) {
    lh_text t = {0};
    LH_TRY(lh_corpus_note_file(corpus, path));
    lh_status status = lh_text_unpack(path, &t);
    if (status == LH_OK) status = add_thirds(corpus, name, &t, cut_pieces);
    free(t.data);
    return status;
}

static lh_status read_wikitext(lh_corpus *corpus, const char *name, const char *folder) {
    const bool raw = strcmp(name, "wikitext-103-raw") == 0;
    lh_corpus_count_lines(corpus);
    for (int s = 0; s < LH_SPLITS; ++s) {
        lh_text t = {0};
        lh_status status =
            read_first(corpus, folder, raw ? raw_wikitext_files[s] : wikitext_files[s], &t);
        if (status == LH_OK)
            status = add_documents(corpus, (lh_split)s, name, &t, 0, t.bytes, cut_articles);
        free(t.data);
        LH_TRY(status);
    }
    return LH_OK;
}

bool lh_corpus_is_stream(const char *name) {
    return strcmp(name, "enwik8") == 0 || strcmp(name, "text8") == 0 ||
           strcmp(name, "wikitext-103") == 0 || strcmp(name, "wikitext-103-raw") == 0;
}

lh_status lh_corpus_read_stream(lh_corpus *corpus, const char *name, const char *folder) {
    if (strcmp(name, "enwik8") == 0) {
        return read_one_file(corpus, name, folder, enwik8_files, cut_pages);
    }
    if (strcmp(name, "text8") == 0) {
        return read_one_file(corpus, name, folder, text8_files, cut_pieces);
    }
    return read_wikitext(corpus, name, folder);
}
