/* Which adapter a pair needs, what it declares, and what it costs. */
#include "harness/train/adapter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/engine/plugin.h"

/* ---- which pairs there are ---- */

static bool is_able(const lh_model_class *class, uint32_t ability) {
    return (class->abilities & ability) != 0;
}

const char *lh_adapter_refuses(const lh_model_class *class, const lh_model_setup *setup) {
    const bool encodes = is_able(class, LH_ABLE_SEQUENCE_TO_SEQUENCE);
    if (!is_able(class, LH_ABLE_TOKENS | LH_ABLE_VECTORS))
        return "reads neither tokens nor vectors";
    if (encodes && !is_able(class, LH_ABLE_TOKENS))
        return "has an encoder of vectors, which no adapter feeds";
    if (encodes && setup->source_vocabulary == 0 && setup->pred_len == 0 && setup->past_length == 0)
        return "needs a source for its encoder, which the task lacks";
    if (is_able(class, LH_NEEDS_HORIZON) && setup->pred_len == 0)
        return "predicts the steps behind a window of a series, which the task does not ask for";
    if (is_able(class, LH_NEEDS_ONE_LENGTH) && setup->many_lengths)
        return "reads segments of one length, of which the task has several";
    return NULL;
}

uint32_t lh_adapter_ways(const lh_model_class *class, const lh_model_setup *setup) {
    const bool windows = is_able(class, LH_ABLE_WINDOWS),
               encodes = is_able(class, LH_ABLE_SEQUENCE_TO_SEQUENCE);
    if (setup->vocabulary == 0) {
        if (is_able(class, LH_ABLE_VECTORS))
            return windows && setup->pred_len == 0 ? LH_ADAPT_WINDOW : 0;
        return LH_ADAPT_VECTORS;
    }
    uint32_t ways = is_able(class, LH_ABLE_TOKENS) ? 0 : LH_ADAPT_EMBED;
    if (windows) return ways | LH_ADAPT_WINDOW;
    if (encodes) return ways | (setup->source_vocabulary == 0 ? LH_ADAPT_PAST : 0);
    if (setup->source_vocabulary == 0) return ways;
    return ways | (setup->classes > 0 ? LH_ADAPT_CLASSES : LH_ADAPT_JOIN);
}

const char *lh_adapter_text(uint32_t ways, int i) {
    static const struct {
        uint32_t way;
        const char *text;
    } texts[] = {
        {LH_ADAPT_VECTORS, "vectors stand for tokens: rows of the embedding are the input "
                           "projection, rows of the head behind them that of the predictions"},
        {LH_ADAPT_JOIN, "source, separator and target are one sequence"},
        {LH_ADAPT_CLASSES, "the source alone is read; its last token's state tells the class"},
        {LH_ADAPT_EMBED, "tokens become vectors by an embedding, which is the head's, too"},
        {LH_ADAPT_WINDOW, "a window: the source, or one step of zeros, is observed; what is read "
                          "is known of the steps to predict"},
        {LH_ADAPT_PAST, "the source is what the document has before the segment, as many tokens as "
                        "a segment has"}};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; ++t)
        if ((ways & texts[t].way) != 0 && i-- == 0) return texts[t].text;
    return NULL;
}

/* "a, b, c": who can do the task. */
static void list_able(const lh_model_setup *setup, char *text, size_t capacity) {
    const lh_model_class *class = NULL;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; (class = lh_model_class_at(i)) != NULL && used < capacity; ++i) {
        if (lh_adapter_refuses(class, setup) != NULL) continue;
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                                 class->name);
    }
}

/* ---- what the model is told ---- */

static lh_status read_width(const lh_options *options, int64_t *width) {
    *width = 0;
    for (int i = 0; options != NULL && i < lh_options_count(options); ++i)
        if (strcmp(lh_options_row(options, i)->name, "width") == 0)
            *width = lh_options_value(options, i)->integer;
    if (*width > 0 || options == NULL) return LH_OK;
    return lh_fail(LH_EOPTION, "no option 'width' says how wide an embedding of tokens is to be");
}

static lh_model_setup tell_tokens(uint32_t ways, const lh_model_setup *task, bool encodes) {
    lh_model_setup inner = *task;
    if ((ways & LH_ADAPT_VECTORS) != 0) {
        const int64_t entries = task->input_features + task->output_features;
        return (lh_model_setup){.vocabulary = entries,
                                .source_vocabulary = encodes ? entries : 0,
                                .source_length = encodes ? task->seq_len : 0,
                                .generates = task->generates};
    }
    if ((ways & LH_ADAPT_PAST) != 0) {
        inner.source_vocabulary = task->vocabulary;
        inner.source_length = task->past_length;
        return inner;
    }
    if ((ways & LH_ADAPT_JOIN) != 0) inner.vocabulary += 1;
    if ((ways & LH_ADAPT_CLASSES) != 0) inner.vocabulary += task->classes;
    inner.source_vocabulary = inner.source_length = inner.classes = 0;
    return inner;
}

/* `read`: how wide the vectors are that stand for the task's tokens, or that it gives. */
static lh_model_setup tell_vectors(uint32_t ways, const lh_model_setup *task, int64_t read) {
    const int64_t answer = (ways & LH_ADAPT_EMBED) != 0 ? read : task->output_features;
    lh_model_setup inner = {
        .input_features = read, .output_features = answer, .generates = task->generates};
    if ((ways & LH_ADAPT_WINDOW) == 0) return inner;
    inner.input_features = read + answer;
    inner.time_features = read;
    inner.seq_len = task->source_vocabulary > 0 ? task->source_length : 1;
    inner.stride = 1;
    return inner;
}

/* Tokens that can be read: the separator is one more. */
static int64_t entries_of(const lh_adapter *adapter, const lh_model_setup *task) {
    return task->vocabulary + ((adapter->ways & LH_ADAPT_JOIN) != 0);
}

/* An embedding of N(0, 1 / width), which is multiplied by sqrt(width) where it is read (Vaswani et
 * al. 2017, section 3.4); classes have a head of their own. */
static void declare(lh_adapter *adapter, const lh_model_setup *task, lh_declare *declare) {
    const int64_t width = adapter->width, table[] = {entries_of(adapter, task), width},
                  head[] = {task->classes, width},
                  *rows = task->classes > 0 ? &task->classes : &task->vocabulary;
    const double bound = width > 0 ? 1.0 / sqrt((double)width) : 0.0;
    if ((adapter->ways & LH_ADAPT_EMBED) == 0) return;
    adapter->embedding = lh_declare_param(declare, (lh_init){LH_INIT_NORMAL, 0.0, bound}, 2, table,
                                          "adapter.embedding.weight");
    lh_declare_embedding(declare);
    adapter->head = task->classes > 0
                        ? lh_declare_param(declare, (lh_init){LH_INIT_UNIFORM, 0.0, bound}, 2, head,
                                           "adapter.head.weight")
                        : adapter->embedding;
    adapter->head_bias = lh_declare_param(declare, (lh_init){LH_INIT_CONSTANT, 0.0, 0.0}, 1, rows,
                                          "adapter.head.bias");
}

/* ---- cost ---- */

/* How wide the class's embedding is: an entry of it costs so many products where vectors are read.
 */
static double embedding_width(const lh_model *model) {
    for (int i = 0; i < lh_params_count(model->params); ++i) {
        const lh_param *param = lh_params_at(model->params, i);
        if (param->embedding && param->shape[0] == model->adapter.inner.vocabulary)
            return (double)param->shape[1];
    }
    return 0.0;
}

/* What the class counts for an entry of its head: so much more with one entry more; NaN where there
 * is no memory to tell. */
static double entry_flops(const lh_model *model, int64_t length) {
    const lh_status before = lh_error_get()->status;
    lh_adapter more = model->adapter;
    lh_model *larger = NULL;
    more.inner.vocabulary += 1;
    more.inner.source_vocabulary += more.inner.source_vocabulary > 0;
    if (lh_model_create_adapted(model->class, model->options, &model->setup, &more, &larger) !=
        LH_OK) {
        lh_error_survive(before);
        return nan("");
    }
    const double flops = larger->class->flops_per_token(larger->instance, length) -
                         model->class->flops_per_token(model->instance, length);
    lh_model_destroy(larger);
    return flops;
}

/* The class counts its head, over all its entries, for each step that it reads. What counts is an
 * input projection for each step, and a head for each prediction. A head whose clusters have words
 * of their own width is taken to cost at every entry what it costs at the last, so its cost is
 * estimated. */
static double flops_per_token(const lh_model *model, int64_t length) {
    const lh_adapter *adapter = &model->adapter;
    const lh_model_setup *task = &model->setup;
    const bool embeds = (adapter->ways & LH_ADAPT_EMBED) != 0;
    const int64_t reads = lh_adapter_length(model, length);
    const bool joins = (adapter->ways & LH_ADAPT_JOIN) != 0;
    const double steps = (double)reads, predicted = joins                ? steps
                                                    : task->pred_len > 0 ? (double)task->pred_len
                                                                         : (double)length;
    const double whole = steps * model->class->flops_per_token(model->instance, reads);
    const int64_t vocabulary = adapter->inner.vocabulary,
                  answers = task->classes > 0      ? task->classes
                            : task->vocabulary > 0 ? task->vocabulary
                                                   : task->output_features;
    if (vocabulary == 0)
        return (whole + (embeds ? 2.0 * (double)(adapter->width * answers) * predicted : 0.0)) /
               (double)length;
    const double into = 2.0 * embedding_width(model), out = entry_flops(model, reads);
    const bool vectors = (adapter->ways & LH_ADAPT_VECTORS) != 0;
    const double projected = vectors ? into * (double)task->input_features *
                                           (steps + (double)adapter->inner.source_length)
                                     : 0.0;
    return (whole - out * (double)vocabulary * steps + projected +
            out * (double)answers * predicted) /
           (double)length;
}

/* ---- the whole ---- */

/* The adapter of a pair; none of its ways where the pair needs none. */
static lh_status find_adapter(const lh_model_class *class, const lh_options *options,
                              const lh_model_setup *setup, lh_adapter *out) {
    const char *reason = lh_adapter_refuses(class, setup);
    const bool encodes = is_able(class, LH_ABLE_SEQUENCE_TO_SEQUENCE);
    *out = (lh_adapter){0};
    if (reason != NULL) {
        char able[1024];
        list_able(setup, able, sizeof able);
        return lh_fail(LH_EOPTION, "%s: %s; these would do: %s", class->name, reason, able);
    }
    const uint32_t ways = lh_adapter_ways(class, setup);
    if (ways == 0) return LH_OK;
    out->ways = ways;
    out->declare = declare;
    out->forward = lh_adapter_forward;
    out->flops_per_token = flops_per_token;
    if ((ways & LH_ADAPT_EMBED) != 0) LH_TRY(read_width(options, &out->width));
    out->inner =
        (ways & (LH_ADAPT_EMBED | LH_ADAPT_WINDOW)) == 0
            ? tell_tokens(ways, setup, encodes)
            : tell_vectors(ways, setup,
                           (ways & LH_ADAPT_EMBED) != 0 ? out->width : setup->input_features);
    return LH_OK;
}

lh_status lh_model_create_for(const lh_model_class *class, const lh_options *options,
                              const lh_model_setup *setup, lh_model **out) {
    lh_adapter adapter;
    LH_TRY(find_adapter(class, options, setup, &adapter));
    return lh_model_create_adapted(class, options, setup, &adapter, out);
}

lh_status lh_model_check(const lh_model *model, int64_t length) {
    if (model->class->check == NULL) return LH_OK;
    return model->class->check(model->instance, lh_adapter_length(model, length));
}
