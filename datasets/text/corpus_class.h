/* Corpora that plug-ins bring: documents by a name, "plugin:NAME", as embedded generators have
 * theirs. What becomes of the documents (splits, limits, tokens, their digest) is the corpus'. */
#ifndef LH_DATASETS_CORPUS_CLASS_H
#define LH_DATASETS_CORPUS_CLASS_H

#include "datasets/text/document_store.h"
#include "harness/engine/plugin.h"

/* Major: a change that breaks plug-ins, so also a function that goes from an installed header
 * (Makefile, header_files) and a field that moves in a struct of one. Minor: fields appended to
 * lh_corpus_class. */
#define LH_CORPUS_ABI_MAJOR 2
#define LH_CORPUS_ABI_MINOR 0

typedef struct lh_corpus_class {
    const char *name;    /* "diaries", which options call "plugin:diaries" */
    const char *summary; /* one line */
    /* Adds the documents of all splits by lh_corpus_add_text and lh_corpus_add_file. Of the
     * config it may read what generators do: documents, document_bytes, data_seed. The training
     * split must not stay empty. */
    lh_status (*read)(lh_corpus *corpus, const lh_corpus_config *config);
} lh_corpus_class;

/* A shared object gives its corpora by `const lh_plugin *lh_plugin_get_corpora(void)`. */
extern const lh_plugin_kind lh_corpus_kind;

/* NULL past the end. */
const lh_corpus_class *lh_corpus_class_at(int index);

/* Adds the documents of the plug-in's corpus of that name. Fails: LH_EOPTION with the nearest name
 * when there is none. */
lh_status lh_corpus_read_brought(lh_corpus *corpus, const char *name,
                                 const lh_corpus_config *config);

#endif
