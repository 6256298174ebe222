/* Tasks over sequences of one length, each by itself: duplication, read whole or segment by
 * segment, and images. */
#include "harness/tasks/tasks.h"

#include "datasets/digest.h"
#include "datasets/generate/duplication.h"
#include "datasets/images/images.h"
#include "harness/engine/text.h"
#include "harness/tasks/documents.h"

#include <stdlib.h>

typedef struct sequences sequences;

typedef struct split_source {
    sequences *task;
    lh_split split;
} split_source;

/* The model reads a 0 and then the sequence without its last symbol, and predicts the sequence. */
struct sequences {
    lh_documents documents; /* first: the shared functions of a task read it */
    split_source source[LH_SPLITS];
    lh_duplication duplication;
    const char *name; /* of the images */
    int64_t side, count;
    int64_t segment;  /* tokens that are read at once; 0: the whole sequence */
    int64_t held_out; /* documents of the validation and of the test split */
    int64_t data_seed;
    lh_images *images;
    uint64_t train_seed;
    int32_t *tokens; /* of the document read last: the 0 and the sequence */
    uint8_t *pixels;
};

/* ---- documents ---- */

static lh_status get_duplication(void *context, int64_t index, lh_document *out) {
    const split_source *source = context;
    const sequences *task = source->task;
    const uint64_t seed = source->split == LH_TRAIN ? task->train_seed : (uint64_t)task->data_seed;
    const lh_random_key key = {.seed = seed,
                               .step = (uint64_t)index,
                               .stream = LH_STREAM_DATA,
                               .op = 1 + (uint32_t)source->split};
    lh_duplication_write(&task->duplication, key, task->tokens + 1);
    *out = (lh_document){.name = "duplication",
                         .tokens = task->tokens,
                         .count = lh_duplication_length(&task->duplication) + 1};
    return LH_OK;
}

static lh_status get_image(void *context, int64_t index, lh_document *out) {
    const split_source *source = context;
    const sequences *task = source->task;
    const int64_t length = task->documents.spec.length;
    LH_TRY(lh_images_read(task->images, source->split, index, task->pixels));
    for (int64_t t = 0; t < length; ++t)
        task->tokens[t + 1] = task->pixels[t];
    *out = (lh_document){
        .name = "image",
        .tokens = task->tokens,
        .count = length + 1,
        .bytes = (double)(length + 1)}; /* a token is a byte: bits per byte are per dim */
    return LH_OK;
}

/* ---- opening ---- */

static lh_status open_documents(sequences *task, int64_t length, int64_t given,
                                lh_model_setup *setup) {
    lh_documents *documents = &task->documents;
    for (int split = 0; split < LH_SPLITS; ++split)
        task->source[split] = (split_source){.task = task, .split = (lh_split)split};
    task->tokens = lh_allocate_zeroed((size_t)length + 1, sizeof *task->tokens);
    task->pixels = lh_allocate((size_t)length);
    if (task->tokens == NULL || task->pixels == NULL) return LH_EMEMORY;
    documents->spec.length = task->segment > 0 ? task->segment : length;
    documents->spec.predict_across = true;
    documents->spec.given = given;
    documents->spec.seed = task->train_seed;
    return lh_documents_open(documents, setup);
}

static lh_status open_duplication(void *instance, uint64_t seed, lh_model_setup *setup) {
    sequences *task = instance;
    task->train_seed = seed;
    for (int split = 0; split < LH_SPLITS; ++split)
        task->documents.source[split] =
            (lh_document_source){.context = &task->source[split],
                                 .get = get_duplication,
                                 .count = split == LH_TRAIN ? LH_WITHOUT_END : task->held_out};
    *setup = (lh_model_setup){.vocabulary = task->duplication.alphabet + 1};
    /* Of 0w0w the first 0w0 is given. */
    return open_documents(task, lh_duplication_length(&task->duplication),
                          task->duplication.word + 2, setup);
}

static lh_status open_images(void *instance, uint64_t seed, lh_model_setup *setup) {
    sequences *task = instance;
    const lh_images_spec spec = {.name = task->name,
                                 .side = task->side,
                                 .counts = {task->count, task->held_out, task->held_out},
                                 .limits = {0, task->held_out, task->held_out},
                                 .data_seed = (uint64_t)task->data_seed};
    if (spec.side % 4 != 0)
        return lh_fail(LH_EOPTION, "imagenet64: side %lld is no multiple of 4",
                       (long long)spec.side);
    LH_TRY(lh_images_open(&spec, &task->images));
    task->train_seed = seed;
    for (int split = 0; split < LH_SPLITS; ++split)
        task->documents.source[split] =
            (lh_document_source){.context = &task->source[split],
                                 .get = get_image,
                                 .count = lh_images_count(task->images, (lh_split)split)};
    *setup = (lh_model_setup){.vocabulary = 256};
    return open_documents(task, spec.side * spec.side * 3, 0, setup);
}

static void close_task(void *instance) {
    sequences *task = instance;
    lh_documents_close(&task->documents);
    lh_images_destroy(task->images);
    free(task->tokens);
    free(task->pixels);
}

/* ---- classes ---- */

/* The rules are options, hence part of the run's identity already. */
static char *describe_duplication(const void *instance) {
    const sequences *task = instance;
    return lh_format("duplication, words of %lld symbols 1 to %lld",
                     (long long)task->duplication.word, (long long)task->duplication.alphabet);
}

static uint64_t digest_duplication(const void *instance) {
    const sequences *task = instance;
    return lh_digest_generated(LH_DUPLICATION_VERSION, (uint64_t)task->data_seed);
}

static char *describe_images(const void *instance) {
    const sequences *task = instance;
    return lh_duplicate_text(lh_images_source(task->images));
}

static uint64_t digest_images(const void *instance) {
    const sequences *task = instance;
    return lh_images_digest(task->images);
}

static const lh_option sequences_options[] = {LH_INTEGER("batch", sequences, documents.spec.rows,
                                                         32, 1, (LH_CURSOR_WORDS - 2) / 2,
                                                         "sequences of a batch (B)"),
                                              {0}};

static const lh_option duplication_rows[] = {
    LH_INTEGER("word", sequences, duplication.word, 511, 1, 1e8,
               "symbols of a word; a sequence is two zeros and the word twice"),
    LH_INTEGER("alphabet", sequences, duplication.alphabet, 127, 1, 1e6,
               "symbols of a word are 1 to this"),
    LH_INTEGER("segment", sequences, segment, 0, 0, 1e9,
               "tokens of a sequence that are read at once; 0: all"),
    LH_INTEGER("evaluate_sequences", sequences, held_out, 256, 1, 1e9,
               "sequences of the validation and of the test split"),
    LH_INTEGER(
        "data_seed", sequences, data_seed, 1, 0, 1e15,
        "what held-out sequences are drawn from; training draws fresh ones from the run's seed"),
    {0}};

static const char *const duplication_later_options[] = {"segment", NULL};

static const lh_option imagenet64_rows[] = {
    LH_TEXT("name", sequences, name, "imagenet64",
            "a data folder with train/, valid/ and test/ of .npy files; without one the embedded "
            "generator makes imagenet64"),
    LH_INTEGER("side", sequences, side, 64, 8, 256,
               "pixels along a side; a sequence is side * side * 3 bytes"),
    LH_INTEGER("images", sequences, count, 10000, 1, 1e9, "generator: images to train on"),
    LH_INTEGER("evaluate_images", sequences, held_out, 512, 1, 1e9,
               "images of the validation and of the test split, the first of them"),
    LH_INTEGER("data_seed", sequences, data_seed, 1, 0, 1e15, "generator: seed of the images"),
    {0}};

static const lh_option_table duplication_options[] = {
    LH_OWN_TABLE(sequences), {duplication_rows, 0}, {0}};

static const lh_option_table imagenet64_options[] = {
    LH_OWN_TABLE(sequences), {imagenet64_rows, 0}, {0}};

const lh_task_class lh_duplication_class = {.name = "duplication",
                                            .summary = "Write a word a second time",
                                            .options = duplication_options,
                                            .kind = {.vocabulary = 1, .past_length = 1},
                                            .lacks = LH_HAS_NO_TEXT,
                                            .instance_size = sizeof(sequences),
                                            .open = open_duplication,
                                            .close = close_task,
                                            .shape = lh_documents_shape,
                                            .train_batch = lh_documents_train_batch,
                                            .evaluate_begin = lh_documents_evaluate_begin,
                                            .evaluate_batch = lh_documents_evaluate_batch,
                                            .cursor_get = lh_documents_cursor_get,
                                            .cursor_set = lh_documents_cursor_set,
                                            .describe = describe_duplication,
                                            .digest = digest_duplication,
                                            .later_options = duplication_later_options};

const lh_task_class lh_imagenet64_class = {.name = "imagenet64",
                                           .summary = "Predict the bytes of images in order",
                                           .options = imagenet64_options,
                                           .kind = {.vocabulary = 256, .past_length = 1},
                                           .lacks = LH_HAS_NO_WORDS,
                                           .instance_size = sizeof(sequences),
                                           .open = open_images,
                                           .close = close_task,
                                           .shape = lh_documents_shape,
                                           .train_batch = lh_documents_train_batch,
                                           .evaluate_begin = lh_documents_evaluate_begin,
                                           .evaluate_batch = lh_documents_evaluate_batch,
                                           .cursor_get = lh_documents_cursor_get,
                                           .cursor_set = lh_documents_cursor_set,
                                           .describe = describe_images,
                                           .digest = digest_images};
