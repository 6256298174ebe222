/* A configuration of a data reader from the text of its options; for tests. */
#ifndef LH_TESTS_CONFIG_H
#define LH_TESTS_CONFIG_H

#include "harness/engine/options.h"

/* Fills `config`, which the table is bound to, and gives the options, which own its texts. */
static lh_status parse_config(const lh_option *rows, const char *text, void *config,
                              lh_options **options) {
    const lh_option_table tables[] = {{rows, 0}, {0}};
    *options = NULL;
    LH_TRY(lh_options_create("config", tables, options));
    LH_TRY(lh_options_parse(*options, text));
    lh_options_fill(*options, config);
    return LH_OK;
}

#endif
