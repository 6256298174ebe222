/* Parameters as the oracles have them, without a weight file. Include after tests/test.h. */
#ifndef LH_TESTS_ORACLE_VALUES_H
#define LH_TESTS_ORACLE_VALUES_H

#include <math.h>
#include <string.h>

#include "harness/engine/params.h"

/* The formula of tests/oracles/fixture.py. */
static void fill_params(lh_params *params) {
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        const char *name = param->name;
        int sum = 0;
        for (const char *c = name; *c != '\0'; ++c)
            sum += (unsigned char)*c;
        const size_t length = strlen(name);
        const bool near_one = (length >= 4 && strcmp(name + length - 4, "gain") == 0) ||
                              strstr(name, ".scale") != NULL || strstr(name, ".variance") != NULL;
        for (int64_t e = 0; e < param->count; ++e) {
            const double value = 0.5 * sin(0.37 * (double)e + 1.3 * (double)(sum % 97) + 0.1);
            lh_tensor_real(param->value)[e] = (real)(near_one ? 1.0 + 0.2 * value : value);
        }
    }
}

#endif
