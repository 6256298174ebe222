/* Whether a model keeps what its class declares and what every model promises, on small random
 * inputs: for plug-ins, which the tests of this tree do not know. */
#ifndef LH_INFER_MODEL_CHECK_H
#define LH_INFER_MODEL_CHECK_H

#include "harness/infer/check_report.h"

/* All checks, in two rows and two segments on the processor. Fails as the model does; what a model
 * does not keep is a finding, no failure. */
lh_status lh_check_model(const lh_check_spec *spec, lh_check_report *out);

/* Causality alone and at one place: few passes over one row. */
lh_status lh_check_causality(const lh_check_spec *spec, lh_finding *out);

#endif
