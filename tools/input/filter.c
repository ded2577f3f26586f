#define _GNU_SOURCE /* memfd_create */
#include "tools/input/filter.h"

#include "base/replace.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A file in memory with these bytes, at its beginning; -1 with errno set. */
static int make_file(const void *data, size_t size)
{
    int fd = memfd_create("packwright", MFD_CLOEXEC);

    if (fd >= 0 && (!pw_write_all(fd, data, size) || lseek(fd, 0, SEEK_SET))) {
        close(fd);
        return -1;
    }
    return fd;
}

static pw_status run(const char *const argv[], int in, int out, pw_diag *diag)
{
    posix_spawn_file_actions_t actions;
    int error, status = 0;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return pw_diag_set(diag, error == ENOENT ? PW_ERR_NOT_FOUND : PW_ERR_IO, "cannot run %s: %s", argv[0],
                           strerror(error));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PW_OK;
    return pw_diag_set(diag, PW_ERR_IO, "%s failed", argv[0]);
}

static pw_status read_file(int fd, const char *program, char **out, size_t *size, pw_diag *diag)
{
    struct stat st;
    char *data;

    if (fstat(fd, &st) || st.st_size == 0)
        return pw_diag_set(diag, PW_ERR_IO, "%s wrote nothing", program);
    data = malloc((size_t)st.st_size + 1);
    if (!data)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    if (pread(fd, data, (size_t)st.st_size, 0) != st.st_size) {
        free(data);
        return pw_diag_set(diag, PW_ERR_IO, "cannot read what %s wrote", program);
    }
    data[st.st_size] = '\0';
    *out = data;
    *size = (size_t)st.st_size;
    return PW_OK;
}

pw_status pw_filter_run(const char *const argv[], const void *data, size_t size, char **out, size_t *out_size,
                        pw_diag *diag)
{
    int in = make_file(data, size), result = make_file("", 0);
    pw_status status;

    if (in < 0 || result < 0)
        status = pw_diag_set(diag, PW_ERR_IO, "cannot make a file for %s: %s", argv[0], strerror(errno));
    else
        status = run(argv, in, result, diag);
    if (status == PW_OK)
        status = read_file(result, argv[0], out, out_size, diag);
    if (in >= 0)
        close(in);
    if (result >= 0)
        close(result);
    return status;
}
