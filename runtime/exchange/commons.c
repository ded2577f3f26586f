/*
 * Purpose: memory that the ranks of a node have in common. Data: the file that this process offers, and the mapping of
 * the one that all use. Invariant: the file is sealed, so it cannot be cut off under a process that has mapped it.
 */
#include "runtime/exchange/commons.h"

#include "base/log.h"
#include "runtime/exchange/peers.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "packwright-commons-3" /* the number changes with what lies there */

enum { TEXT_BYTES = 512, PATH_BYTES = 64, RANKS = 1024 };

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    int fd; /* of the file that this process offers; below 0: none */
    bool looked;
    void *memory;
} commons = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* The system ends a process that makes a file longer than its limit. */
static bool is_allowed(size_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes;
}

void pw_commons_offer(size_t bytes)
{
    int fd = is_allowed(bytes) ? memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;

    if (fd < 0)
        return;
    if (ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
        close(fd);
        return;
    }
    pthread_mutex_lock(&commons.lock);
    if (commons.fd >= 0)
        close(commons.fd);
    commons.fd = fd;
    pthread_mutex_unlock(&commons.lock);
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* Returns the parent of a process; below 0: it is not known. The name in its line may hold anything but ends with the
 * last parenthesis. */
static pid_t parent_of(int proc, const char *pid)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    const char *end;
    ssize_t n = -1;
    int fd, parent;

    snprintf(path, sizeof path, "%.16s/stat", pid);
    fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, text, sizeof text - 1);
        close(fd);
    }
    if (n <= 0)
        return -1;
    text[n] = '\0';
    end = strrchr(text, ')');
    return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

/* Only processes of this user pass anything on: what they write may be executed. */
static void *map(int fd, size_t bytes)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat file;
    void *memory;

    if (fstat(fd, &file) != 0 || file.st_uid != geteuid() || file.st_size != (off_t)bytes || seals < 0 ||
        !(seals & F_SEAL_SHRINK))
        return NULL;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_DONTDUMP);
    return memory;
}

/* Maps what a process offers. NULL: it offers nothing. */
static void *map_of(pid_t pid, size_t bytes)
{
    char path[PATH_BYTES];
    struct dirent *file;
    void *memory = NULL;
    DIR *files;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    files = opendir(path);
    while (files && !memory && (file = readdir(files))) {
        int fd = pw_peer_has_file(dirfd(files), file->d_name, "memfd:" NAME)
                     ? openat(dirfd(files), file->d_name, O_RDWR | O_CLOEXEC)
                     : -1;

        if (fd < 0)
            continue;
        memory = map(fd, bytes);
        close(fd);
    }
    if (files)
        closedir(files);
    return memory;
}

/* The processes with this one's parent, this one among them. */
typedef struct siblings {
    int n;
    pid_t pids[RANKS];
} siblings;

/* Asks the system for the parent's children. Returns false if this system does not tell. */
static bool ask(siblings *out)
{
    char path[PATH_BYTES];
    struct dirent *thread;
    bool answers = false;
    DIR *threads;

    snprintf(path, sizeof path, "/proc/%d/task", (int)getppid());
    threads = opendir(path);
    while (threads && (thread = readdir(threads))) {
        FILE *children;
        int pid;

        snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)getppid(), thread->d_name);
        children = fopen(path, "re");
        answers = answers || children;
        while (children && out->n < RANKS && fscanf(children, "%d", &pid) == 1)
            out->pids[out->n++] = pid;
        if (children)
            fclose(children);
    }
    if (threads)
        closedir(threads);
    return answers;
}

/* Looks at all processes of the system. */
static void search(siblings *out)
{
    DIR *proc = opendir("/proc");
    struct dirent *process;

    while (proc && out->n < RANKS && (process = readdir(proc))) {
        long pid = strtol(process->d_name, NULL, 10);

        if (pid > 0 && pid <= INT_MAX && parent_of(dirfd(proc), process->d_name) == getppid())
            out->pids[out->n++] = (pid_t)pid;
    }
    if (proc)
        closedir(proc);
}

static int by_number(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

    return (x > y) - (x < y);
}

static void *find(size_t bytes)
{
    siblings ranks = {.n = 0};

    if (!ask(&ranks))
        search(&ranks);
    qsort(ranks.pids, (size_t)ranks.n, sizeof *ranks.pids, by_number);
    for (int i = 0; i < ranks.n; i++) {
        void *memory = ranks.pids[i] == getpid() ? map(commons.fd, bytes) : map_of(ranks.pids[i], bytes);

        if (memory) {
            pw_log(PW_LOG_DEBUG, "process %d brings the memory that ranks have in common", (int)ranks.pids[i]);
            return memory;
        }
    }
    return NULL;
}

void *pw_commons_map(size_t bytes)
{
    pthread_mutex_lock(&commons.lock);
    if (!commons.looked && commons.fd >= 0)
        commons.memory = find(bytes);
    commons.looked = true;
    pthread_mutex_unlock(&commons.lock);
    return commons.memory;
}
