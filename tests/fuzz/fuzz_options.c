/* Any text as options (first byte: of training, or of which model): refused with a message, or the
 * one spelling of the values gives the same values again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/plugin.h"
#include "harness/train/train_options.h"
#include "tests/fuzz/scratch.h"

static const lh_option_table *tables_of(uint8_t which) {
    const lh_model_class *model = lh_model_class_at(which);
    return model != NULL ? model->options : lh_train_options;
}

/* free() it. */
static char *spell(const lh_options *options) {
    char *text = NULL;
    if (lh_options_spell(options, &text) != LH_OK) abort();
    return text;
}

static void check_spelling(const lh_options *options, const lh_option_table *tables) {
    lh_options *again = NULL;
    char *text = spell(options);
    if (lh_options_create("again", tables, &again) != LH_OK) abort();
    if (lh_options_parse(again, text) != LH_OK) abort();
    char *second = spell(again);
    if (strcmp(text, second) != 0) abort();
    free(second);
    free(text);
    lh_options_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const lh_option_table *tables = tables_of(data[0]);
    lh_options *options = NULL;
    char *text = malloc(size);
    if (text == NULL || lh_options_create("fuzzed", tables, &options) != LH_OK) abort();
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (lh_options_parse(options, text) == LH_OK) {
        check_spelling(options, tables);
    } else if (lh_error_get()->message[0] == '\0') {
        abort();
    }
    lh_error_clear();
    lh_options_destroy(options);
    free(text);
    return 0;
}
