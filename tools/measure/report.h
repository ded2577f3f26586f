/* Shows models to people, as text and as curves. */
#ifndef PW_TOOLS_MEASURE_REPORT_H
#define PW_TOOLS_MEASURE_REPORT_H

#include "runtime/engine/model/tables.h"
#include "tools/measure/options.h"

/* Carries out --show, --plot and --check on the model that the options name. False: it has failed and reported why. */
bool pw_measure_report(const pw_measure_options *o);

/* Finds a model's file: `file` itself, else that of this machine for `mpi`, else the first one of any MPI that exists.
 * If there is none, takes the path for the first MPI, so that its absence can be reported. `file` and `mpi` may be
 * NULL. False: there is no cache directory, or the name is too long. */
bool pw_measure_find(const char *file, const char *mpi, char *path, size_t size);

/* Measures the GPU's strategies between the points of the model, and prints how good the model's choices are there. */
bool pw_measure_check(const pw_model *m, const pw_measure_options *o);
/* Plots a model through gnuplot, to a file whose name ends in .svg or .png. */
bool pw_measure_plot(const pw_model *m, const char *file);

#endif
