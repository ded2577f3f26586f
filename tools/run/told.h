/* What processes of a run have told (base/events.h), and why none of them may have reported. */
#ifndef PW_TOOLS_TOLD_H
#define PW_TOOLS_TOLD_H

#include "base/events.h"
#include "tools/run/words.h"

#include <stdbool.h>

typedef struct pw_told {
    int count[PW_EVENT_COUNT];
    char loaded[256]; /* the programs that have the interposer, "sh, env" */
} pw_told;

/* Makes an empty file for events in the directory of temporary files, and puts its path into the settings. False, after
 * a message: that failed. */
bool pw_told_begin(pw_run_settings *settings, char *path, size_t size);
/* Reads what processes have left in the file. */
void pw_told_read(const char *path, pw_told *out);

/* Returns whether programs of this machine had the interposer, and MPI has started in none of them. */
bool pw_told_is_without_mpi(const pw_told *told);

/* Writes why no rank has reported, as far as it is known, as the rest of a sentence. `command` is what was run. */
void pw_told_why(const pw_told *told, char *const *command, char *out, size_t size);

#endif
