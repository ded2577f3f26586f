#include "base/clock.h"
#include "base/log.h"
#include "tools/compare/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHOWN_BYTES = 2000 }; /* of the end of what a command said that has failed */

/* In the child: runs the command with its output in the file, if there is one. */
static void become(const char *const *command, FILE *output)
{
    if (output) {
        dup2(fileno(output), STDOUT_FILENO);
        dup2(fileno(output), STDERR_FILENO);
    }
    execvp(command[0], (char *const *)command);
    fprintf(stderr, "%s: %s\n", command[0], strerror(errno));
    _exit(127);
}

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
    FILE *output = shown ? NULL : tmpfile();
    double begin = pw_clock_seconds();
    int state = 0;
    pid_t child;
    bool ok;

    fflush(stdout);
    child = fork();
    if (child == 0)
        become(command, output);
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    *seconds = pw_clock_seconds() - begin;
    if (child < 0)
        pw_log(PW_LOG_ERROR, "%s: %s", command[0], strerror(errno));
    ok = child > 0 && ended_well(state, what);
    if (!ok && output)
        show_end(output);
    if (output)
        fclose(output);
    return ok;
}
