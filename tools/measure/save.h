/* Turns measurements into the model files of this machine. */
#ifndef PW_TOOLS_MEASURE_SAVE_H
#define PW_TOOLS_MEASURE_SAVE_H

#include "runtime/engine/model/tables.h"
#include "tools/measure/options.h"
#include "tools/measure/probe.h"

/* Samples a list, prints how many points were measured, and makes tables of them. PW_ERR_UNSUPPORTED: most points could
 * not be measured. */
pw_status pw_measure_list(const pw_measure_options *o, pw_probe_list *list, const pw_sampling *s, pw_model *m,
                          pw_diag *diag);

/* Measures what one process can, with its share of the time: the CPU kernels and the GPU, if they are asked for and
 * exist. Puts tables and their origin into `m`. */
pw_status pw_measure_machine(const pw_measure_options *o, double seconds, pw_model *m, pw_diag *diag);

/*
 * Returns whether pw_measure_save will be able to write its file, as far as directories show; called before the
 * measurement. Reports why not.
 */
bool pw_measure_can_save(const pw_measure_options *o, const char *mpi);

/*
 * Puts the tables of `m` into a file, where they replace those of the same names: the file of -o, or that of this
 * machine and this MPI. Prints its name. Returns false after reporting why not.
 */
bool pw_measure_save(const pw_measure_options *o, const pw_model *m, const char *mpi);

#endif
