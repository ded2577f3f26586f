/* Shows models to people. */
#ifndef PW_TOOLS_MEASURE_REPORT_H
#define PW_TOOLS_MEASURE_REPORT_H

#include "tools/measure/options.h"

/* Carries out --show on the model that the options name. False: it has failed and reported why. */
bool pw_measure_show(const pw_measure_options *o);

#endif
