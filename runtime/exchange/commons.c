/*
 * Purpose: memory that the ranks of a node have in common. Data: the mapping of the one that all use.
 */
#include "runtime/exchange/commons.h"

#include "base/log.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 512, PATH_BYTES = 64, RANKS = 1024 };

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    bool looked;
    void *memory;
} commons = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

static void *find(void)
{
    siblings ranks = {.n = 0};

    if (!ask(&ranks))
        search(&ranks);
    qsort(ranks.pids, (size_t)ranks.n, sizeof *ranks.pids, by_number);
    for (int i = 0; i < ranks.n; i++) {
        void *memory = pw_peer_commons(ranks.pids[i], PW_COMMONS_BYTES);

        if (memory) {
            pw_log(PW_LOG_DEBUG, "process %d brings the memory that ranks have in common", (int)ranks.pids[i]);
            return memory;
        }
    }
    return NULL;
}

void *pw_commons_part_of(pw_commons_part part)
{
    char *memory;

    pthread_mutex_lock(&commons.lock);
    if (!commons.looked && pw_segment_own_header())
        commons.memory = find();
    commons.looked = true;
    memory = commons.memory;
    pthread_mutex_unlock(&commons.lock);
    return memory ? memory + (size_t)part * PW_COMMONS_PART_BYTES : NULL;
}
