/*
 * Linking in this process. The object goes in through a memfd; LLD writes the result to a temporary file. (An LLD that
 * is a shared library makes a file beside its output and renames it, which no memfd allows.)
 */
#define _GNU_SOURCE /* memfd_create, mkostemp */
#include "codegen/llvm/shared.h"

#include "base/env.h"
#include "codegen/llvm/link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* LLD keeps its state in globals. */
static pthread_mutex_t lld_lock = PTHREAD_MUTEX_INITIALIZER;

static bool write_all(int fd, const void *data, size_t size)
{
    const char *p = data;
    while (size > 0) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            p += n;
            size -= (size_t)n;
        }
    }
    return true;
}

static pw_status read_whole(const char *path, pw_blob *out, pw_diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    pw_blob blob = {0};
    if (fd < 0 || fstat(fd, &st) != 0)
        goto failed;
    blob.size = (size_t)st.st_size;
    blob.data = malloc(blob.size + 1);
    if (!blob.data)
        goto failed;
    for (size_t at = 0; at < blob.size;) {
        ssize_t n = read(fd, (char *)blob.data + at, blob.size - at);
        if (n == 0 || (n < 0 && errno != EINTR))
            goto failed;
        at += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    *out = blob;
    return PW_OK;
failed:
    pw_diag_set(diag, PW_ERR_IO, "cannot read the linked kernel %.100s: %s", path, strerror(errno));
    free(blob.data);
    if (fd >= 0)
        close(fd);
    return PW_ERR_IO;
}

/* An empty file for LLD to replace: in memory when there is such a file system. */
static bool temporary_file(char path[PATH_MAX])
{
    const char *given = pw_env_foreign("TMPDIR");
    const char *dirs[] = {"/dev/shm", given ? given : "/tmp", "/var/tmp"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        if (snprintf(path, PATH_MAX, "%s/packwright-XXXXXX", dirs[i]) >= PATH_MAX)
            continue;
        int fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0) {
            close(fd);
            return true;
        }
    }
    return false;
}

/* ---- the limit on the size of files ---- */

/* A write beyond the process's limit fails, and raises a signal, which ends a program that does not expect it. */
typedef struct held_signal {
    sigset_t mask; /* of this thread, before */
    bool pending;  /* the program's own */
} held_signal;

static sigset_t only_xfsz(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

static held_signal hold_signal(void)
{
    held_signal held;
    sigset_t set, xfsz = only_xfsz();
    sigpending(&set);
    held.pending = sigismember(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &xfsz, &held.mask);
    return held;
}

static void drop_signal(const held_signal *held)
{
    sigset_t xfsz = only_xfsz();
    if (!held->pending)
        sigtimedwait(&xfsz, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
}

/* ---- linking ---- */

typedef struct link_job {
    const char *const *argv;
    size_t argc;
    bool ok;
    char message[160];
} link_job;

static void run_link(void *arg)
{
    link_job *job = arg;
    job->ok = pw_lld_run(job->argv, job->argc, job->message, sizeof job->message);
}

static pw_status run_lld(const char *in, const char *out, const char *soname, pw_diag *diag)
{
    const char *argv[] = {"ld.lld",
                          "-shared",
                          "--threads=1",
                          "--hash-style=gnu",
                          "-z",
                          "relro",
                          "-z",
                          "now",
                          "-z",
                          "noexecstack",
                          "--build-id=none",
                          "--no-mmap-output-file",
                          "--no-undefined-version",
                          "-soname",
                          soname,
                          "-o",
                          out,
                          in};
    link_job job = {.argv = argv, .argc = sizeof argv / sizeof *argv};
    char fatal[160] = "";
    pthread_mutex_lock(&lld_lock);
    bool survived = pw_guard_run(run_link, &job, fatal, sizeof fatal);
    pthread_mutex_unlock(&lld_lock);
    if (survived && job.ok)
        return PW_OK;
    return pw_diag_set(diag, PW_ERR_COMPILE, "linking failed: %s", survived ? job.message : fatal);
}

pw_status pw_link_shared(const void *object, size_t size, const char *soname, pw_blob *out, pw_diag *diag)
{
    char in_path[64], out_path[PATH_MAX];
    int in = memfd_create("packwright-object", MFD_CLOEXEC);
    held_signal held = hold_signal();
    pw_status status = PW_ERR_IO;
    if (in < 0 || !write_all(in, object, size)) {
        pw_diag_set(diag, status, "cannot hand the object to the linker: %s", strerror(errno));
    } else if (!temporary_file(out_path)) {
        pw_diag_set(diag, status, "cannot make a temporary file: %s", strerror(errno));
    } else {
        snprintf(in_path, sizeof in_path, "/proc/self/fd/%d", in);
        status = run_lld(in_path, out_path, soname, diag);
        if (status == PW_OK)
            status = read_whole(out_path, out, diag);
        unlink(out_path);
    }
    if (in >= 0)
        close(in);
    drop_signal(&held);
    return status;
}
