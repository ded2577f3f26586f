/*
 * Command lines of MPI launchers: where in `mpiexec -n 2 ./a x : -n 2 ./b y` are the programs?
 */
#ifndef PW_TOOLS_LAUNCHER_H
#define PW_TOOLS_LAUNCHER_H

#include <stdbool.h>

/* Is this word (a name or a path) that of a launcher: mpiexec, mpirun, orterun, srun, …, also mpiexec.hydra? */
bool pw_launcher_is(const char *word);

/*
 * The part of the command line that starts one program: words [begin, end) of argv, options first; the next part
 * begins at end + 1, after the ":". `program` is the first word that is no option and no value of one.
 */
typedef struct pw_launcher_part {
    int begin, program, end;
} pw_launcher_part;

/* The part that begins at `begin`, which is 1 for the first. False when it has no program. */
bool pw_launcher_part_at(int argc, char *const *argv, int begin, pw_launcher_part *out);

#endif
