/* Corpora as a kind of classes; the tree itself has none. */
#include "datasets/text/corpus_class.h"

#include <stddef.h>

#include "harness/engine/text.h"

static const void *own(int index) {
    (void)index;
    return NULL;
}

static bool complete(void *class) {
    lh_corpus_class *corpus = class;
    if (corpus->summary == NULL) corpus->summary = "";
    return corpus->read != NULL;
}

const lh_plugin_kind lh_corpus_kind = {.noun = "corpus",
                                       .symbol = "lh_plugin_get_corpora",
                                       .abi_major = LH_CORPUS_ABI_MAJOR,
                                       .abi_minor = LH_CORPUS_ABI_MINOR,
                                       .least_size =
                                           offsetof(lh_corpus_class, read) + sizeof(void *),
                                       .class_size = sizeof(lh_corpus_class),
                                       .own = own,
                                       .complete = complete};

const lh_corpus_class *lh_corpus_class_at(int index) {
    return lh_class_at(&lh_corpus_kind, index);
}

lh_status lh_corpus_read_brought(lh_corpus *corpus, const char *name,
                                 const lh_corpus_config *config) {
    const lh_corpus_class *class = lh_class_find(&lh_corpus_kind, name);
    if (class == NULL) return lh_failed();
    char *source = lh_format("plug-in (%s)", name);
    if (source == NULL) return LH_EMEMORY;
    lh_corpus_set_source(corpus, source);
    const lh_status status = class->read(corpus, config);
    if (status != LH_OK) lh_note("corpus %s of a plug-in", name);
    return status;
}
