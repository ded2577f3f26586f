/* Turns measurements into the model files of this machine. */
#ifndef PW_TOOLS_MEASURE_SAVE_H
#define PW_TOOLS_MEASURE_SAVE_H

#include "base/status.h"
#include "runtime/engine/model/model.h"
#include "tools/measure/options.h"

/* Measures what one process can, with its share of the time: the GPU, if it is asked for and there is one. Puts facts
 * and their origin into `m`. */
pw_status pw_measure_machine(const pw_measure_options *o, double seconds, pw_model *m, pw_diag *diag);

/*
 * Returns whether pw_measure_save will be able to write its file, as far as directories show; called before the
 * measurement. Reports why not.
 */
bool pw_measure_can_save(const pw_measure_options *o, const char *mpi);

/*
 * Puts the measured facts of `m` into a file, where they replace those of the same names: the file of -o, or that of
 * this machine and this MPI. Prints its name. Without any it says so, and writes nothing. Returns false after reporting
 * why it cannot.
 */
bool pw_measure_save(const pw_measure_options *o, const pw_model *m, const char *mpi);

#endif
