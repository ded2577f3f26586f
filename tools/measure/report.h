/* Models for people: as text, and as curves. */
#ifndef PW_TOOLS_MEASURE_REPORT_H
#define PW_TOOLS_MEASURE_REPORT_H

#include "runtime/engine/model/tables.h"
#include "tools/measure/options.h"

/* --show, --plot and --check, of the model that the options name. Returns false after reporting why not. */
bool pw_measure_report(const pw_measure_options *o);

void pw_measure_show(const pw_model *m);
/* Measures the GPU's strategies at points between those of the model, and tells how good its choice is there. */
bool pw_measure_check(const pw_model *m, const pw_measure_options *o);
/* Through gnuplot, to a file whose name ends in .svg or .png. */
bool pw_measure_plot(const pw_model *m, const char *file);

#endif
