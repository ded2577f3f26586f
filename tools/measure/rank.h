/* What a command does to find out that an MPI's launcher has started it, and which program it then needs. */
#ifndef PW_TOOLS_MEASURE_RANK_H
#define PW_TOOLS_MEASURE_RANK_H

#include <stdbool.h>
#include <stddef.h>

/* Returns "mpich" or "openmpi", whose launcher has started this process as a rank. NULL: none has. */
const char *pw_measure_launcher(void);

/* Finds packwright-measure-<mpi>, which is installed beside this program, or else the one for the standard's ABI, which
 * MPIs have besides their own. False: neither is there; `out` says where the first was looked for. */
bool pw_measure_program(const char *mpi, char *out, size_t size);

#endif
