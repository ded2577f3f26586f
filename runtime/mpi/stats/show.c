/*
 * Purpose: the packwright command makes what is shown of this process's data. Data: none. Invariant: what is started
 * ends within a bounded time, and gets nothing that is preloaded here; no signal of a pipe can reach the program.
 */
#include "runtime/mpi/stats/report.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/replace.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_MS = 20000 /* that the command may take */, STEP_NS = 1000000 };

/* Returns whether whoever owns the library, or root, owns the command. */
static bool is_trusted(const char *command, const char *library)
{
    struct stat it, ours;

    return stat(command, &it) == 0 && stat(library, &ours) == 0 && (it.st_uid == 0 || it.st_uid == ours.st_uid) &&
           access(command, X_OK) == 0;
}

/* Finds the command of this library's own build or installation: PREFIX/bin/packwright for PREFIX/lib/…/library. */
static bool find_command(char out[PATH_MAX + 32])
{
    char library[PATH_MAX], folder[PATH_MAX];
    bool is_lib = false;
    Dl_info own;

    if (!dladdr((void *)(uintptr_t)pw_show, &own) || !own.dli_fname || !realpath(own.dli_fname, library))
        return false;
    memcpy(folder, library, sizeof folder);
    for (char *slash = strrchr(folder, '/'); slash && !is_lib; slash = strrchr(folder, '/')) {
        *slash = '\0';
        slash = strrchr(folder, '/');
        is_lib = slash && !strncmp(slash, "/lib", 4);
    }
    if (is_lib)
        *strrchr(folder, '/') = '\0';
    snprintf(out, PATH_MAX + 32, "%s/bin/packwright", folder);
    return is_lib && is_trusted(out, library);
}

/* Adds a variable of the program's environment for the command. */
static char *keep(const char *name, char *room, size_t size)
{
    const char *value = pw_env_foreign(name);

    snprintf(room, size, "%s=%s", name, value ? value : "");
    return value ? room : NULL;
}

/* Starts the command with the data as its input. */
static bool start(const char *command, int data, const char *option, const char *file, pid_t *pid)
{
    char path[8192], libraries[8192];
    char *argv[7] = {(char *)command, (char[]){"report"}, (char[]){"-"}, (char *)option, (char[]){"-o"}, (char *)file};
    char *environment[] = {(char[]){"LC_ALL=C"}, NULL, NULL, NULL};
    posix_spawn_file_actions_t actions;
    int n = 1, error;

    argv[4] = file ? argv[4] : NULL;
    if ((environment[n] = keep("PATH", path, sizeof path)))
        n++;
    environment[n] = keep("LD_LIBRARY_PATH", libraries, sizeof libraries);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, data, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    error = posix_spawn(pid, command, &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0;
}

/* Returns whether the process ends well before its time is over. A program that reaps all children takes the status
 * away, and is believed. */
static bool wait_for(pid_t pid)
{
    int64_t end = pw_clock_ns() + (int64_t)MOST_MS * 1000000;
    pid_t ended;
    int state = 0;

    while ((ended = waitpid(pid, &state, WNOHANG)) == 0 && pw_clock_ns() < end)
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
    if (ended == 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &state, 0);
        return false;
    }
    return ended < 0 ? errno == ECHILD : WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

bool pw_show(const char *data, size_t size, const char *option, const char *file)
{
    char command[PATH_MAX + 32];
    int fd = find_command(command) ? memfd_create("packwright-report", MFD_CLOEXEC) : -1;
    bool shown = false;
    pid_t pid;

    if (fd >= 0 && pw_write_all(fd, data, size) && lseek(fd, 0, SEEK_SET) == 0 &&
        start(command, fd, option, file, &pid))
        shown = wait_for(pid);
    if (fd >= 0)
        close(fd);
    return shown;
}
