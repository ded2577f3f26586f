/* One run of the program and its time. */
#include "base/clock.h"
#include "base/log.h"
#include "tools/compare/compare.h"
#include "tools/run/child.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { SHOWN_BYTES = 2000 }; /* of the end of what a command said that has failed */

static void show_end(FILE *output)
{
    char text[SHOWN_BYTES + 1];
    long size;
    size_t n;

    fseek(output, 0, SEEK_END);
    size = ftell(output);
    fseek(output, size > SHOWN_BYTES ? size - SHOWN_BYTES : 0, SEEK_SET);
    n = fread(text, 1, SHOWN_BYTES, output);
    fwrite(text, 1, n, stderr);
}

static bool ended_well(int state, const char *what)
{
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return true;
    if (WIFEXITED(state))
        pw_log(PW_LOG_ERROR, "the %s run ended with status %d, so there is nothing to compare", what,
               WEXITSTATUS(state));
    else
        pw_log(PW_LOG_ERROR, "the %s run was ended by signal %d, so there is nothing to compare", what,
               WTERMSIG(state));
    return false;
}

bool pw_compare_run(const char *const *command, const char *what, bool shown, double *seconds)
{
    FILE *output;
    double begin;
    int state = 0, error;
    bool ok;

    if (pw_child_signal())
        return false;
    output = shown ? NULL : tmpfile();
    begin = pw_clock_seconds();
    error = pw_child_run(command, output, &state);
    *seconds = pw_clock_seconds() - begin;
    if (error)
        pw_log(PW_LOG_ERROR, "%s: %s", command[0], strerror(error));
    ok = !pw_child_signal() && !error && ended_well(state, what);
    if (!ok && output && !pw_child_signal())
        show_end(output);
    if (output)
        fclose(output);
    return ok;
}
