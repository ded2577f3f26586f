/*
 * Purpose: lines of source for places in programs, asked of addr2line. Data: none of its own. Invariant: the processes
 * that are started end within a bounded time, and get nothing that is preloaded here.
 */
#include "runtime/mpi/stats/source.h"

#include "base/clock.h"
#include "base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 256 /* places of one process */, MOST_MS = 5000 /* for all processes together */, LINE = 1024 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- addr2line --------------------------------------------------------------------------------------------------- */

/* Starts a program with its output in a pipe. Returns false if it cannot be started. The program must not get what was
 * preloaded into this one. */
static bool start(char *const *argv, pid_t *pid, int *out)
{
    const char *path = pw_env_foreign("LD_LIBRARY_PATH");
    char libraries[4096];
    char *environment[] = {(char[]){"LC_ALL=C"}, path ? libraries : NULL, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], error;

    snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", path ? path : "");
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = ends[0];
    if (error)
        close(ends[0]);
    return error == 0;
}

/* Reads all that arrives before `end`. malloc'ed; NULL: it took too long, or there is no memory. */
static char *read_all(int fd, int64_t end)
{
    size_t size = (size_t)MOST_AT_ONCE * LINE, n = 0;
    char *text = malloc(size + 1);

    while (text && n < size) {
        int64_t left = (end - pw_clock_ns()) / 1000000;
        struct pollfd at = {.fd = fd, .events = POLLIN};
        int ready = left > 0 ? poll(&at, 1, (int)left) : 0;
        ssize_t got = ready > 0 ? read(fd, text + n, size - n) : ready;

        if (got < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || got < 0) {
            free(text);
            return NULL;
        }
        if (got == 0)
            break;
        n += (size_t)got;
    }
    if (text)
        text[n] = '\0';
    return text;
}

/* Returns what addr2line says of these places, which are of one module: a line each. NULL: nothing. */
static char *ask(pw_stats_place *const *places, int n, int64_t end)
{
    char addresses[MOST_AT_ONCE][24];
    char *argv[MOST_AT_ONCE + 4] = {(char[]){"addr2line"}, (char[]){"-e"}, places[0]->module};
    char *text;
    pid_t pid;
    int fd;

    for (int i = 0; i < n; i++) {
        snprintf(addresses[i], sizeof addresses[i], "0x%" PRIx64, places[i]->offset);
        argv[3 + i] = addresses[i];
    }
    if (!start(argv, &pid, &fd))
        return NULL;
    text = read_all(fd, end);
    close(fd);
    if (!text)
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return text;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Sets the line of a place to the end of a text of n bytes, without remarks: "/home/me/halo.c:57 (discriminator 2)". */
static void set_line(pw_stats_place *p, const char *text, size_t n)
{
    const char *remark = memchr(text, ' ', n), *path = text;
    size_t length = remark ? (size_t)(remark - text) : n, most = sizeof p->line - 1;
    bool cut = length > most;

    if (length == 0 || *text == '?' || text[length - 1] == '?')
        return;
    if (cut)
        path += length - most;
    snprintf(p->line, sizeof p->line, "%.*s", (int)(cut ? most : length), path);
    if (cut)
        memcpy(p->line, "...", 3);
}

static void look_up(pw_stats_place *const *places, int n, int64_t end)
{
    char *text = ask(places, n, end);
    const char *at = text;

    for (int i = 0; at && *at && i < n; i++) {
        size_t length = strcspn(at, "\n");

        set_line(places[i], at, length);
        at += length + (at[length] != '\0');
    }
    for (int i = 0; i < n; i++)
        if (!*places[i]->line)
            snprintf(places[i]->line, sizeof places[i]->line, "%.80s+0x%" PRIx64, base_name(places[i]->module),
                     places[i]->offset);
    free(text);
}

/* Whether the library is an MPI's, as its Fortran bindings are. */
static bool is_of_mpi(const char *module)
{
    return !strncmp(base_name(module), "libmpi", 6);
}

/* Collects places of one module that have no line yet. */
static int collect(pw_stats_record *records, int64_t n, pw_stats_place **out)
{
    int found = 0;

    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < PW_STATS_PLACES && found < MOST_AT_ONCE; k++) {
            pw_stats_place *p = &records[i].made[k];

            if (*p->module && !*p->line && (found == 0 || !strcmp(p->module, out[0]->module)))
                out[found++] = p;
        }
    return found;
}

static void forget_bindings(pw_stats_record *record)
{
    for (int k = 0; k < PW_STATS_PLACES; k++)
        if (is_of_mpi(record->made[k].module))
            record->made[k] = (pw_stats_place){.offset = 0};
}

void pw_source_look_up(pw_stats_record *records, int64_t n)
{
    int64_t end = pw_clock_ns() + (int64_t)MOST_MS * 1000000;
    pw_stats_place *places[MOST_AT_ONCE];
    int found;

    for (int64_t i = 0; i < n; i++)
        forget_bindings(&records[i]);
    while ((found = collect(records, n, places)) > 0)
        look_up(places, found, end);
}
