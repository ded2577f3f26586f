/*
 * A command that this process starts and waits for. Signals that would end this process meanwhile (SIGINT, SIGTERM,
 * SIGHUP) end the command instead, so that the caller can say what it has and clean up.
 */
#ifndef PW_TOOLS_CHILD_H
#define PW_TOOLS_CHILD_H

#include <stdio.h>

/* Takes over the signals, those that are ignored excepted. A command that still runs `patience` seconds after one is
 * killed: Hydra loses a signal that comes while it starts ranks. 0: it may take as long as it will. */
void pw_child_take_signals(unsigned patience);
/* Returns the last of them that came. 0: none has. */
int pw_child_signal(void);
/* Ends this process as the signal would have ended it. */
void pw_child_end_by(int signal);

/* Runs a command, which ends with NULL, and waits for it; its output goes to the file, if there is one. Returns 0 and
 * sets *state as waitpid does, or an error number. A command that cannot be started ends as one of a shell does: with
 * 127 if it is not there, else 126. */
int pw_child_run(const char *const *command, FILE *output, int *state);

#endif
