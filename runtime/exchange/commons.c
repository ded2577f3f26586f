/*
 * Purpose: finds the memory that the ranks of a node have in common. Data: `commons`, the mapping of that memory, which
 * is looked for once. Invariant: all ranks choose the same memory, without a message: each tries the processes of its
 * parent in the order of their numbers and takes the first one that has such memory.
 */
#include "runtime/exchange/commons.h"

#include "base/lock.h"
#include "base/log.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_BYTES = 64, RANKS = 1024 };

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    bool looked;
    char *memory;
} commons = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The processes with this one's parent, this one among them. */
typedef struct siblings {
    int n;
    pid_t pids[RANKS];
} siblings;

/* Lists the parent's children. A system that does not tell them has no memory in common. */
static void find_siblings(siblings *out)
{
    char path[PATH_BYTES];
    struct dirent *thread;
    DIR *threads;

    snprintf(path, sizeof path, "/proc/%d/task", (int)getppid());
    threads = opendir(path);
    while (threads && (thread = readdir(threads))) {
        FILE *children;
        int pid;

        snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)getppid(), thread->d_name);
        children = fopen(path, "re");
        while (children && out->n < RANKS && fscanf(children, "%d", &pid) == 1)
            out->pids[out->n++] = pid;
        if (children)
            fclose(children);
    }
    if (threads)
        closedir(threads);
}

static int by_number(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

    return (x > y) - (x < y);
}

static void *find(void)
{
    siblings ranks = {.n = 0};

    find_siblings(&ranks);
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
    PW_HOLD(&commons.lock);

    if (!commons.looked && pw_segment_own_header())
        commons.memory = find();
    commons.looked = true;
    return commons.memory ? commons.memory + (size_t)part * PW_COMMONS_PART_BYTES : NULL;
}
