#include "tests/engine/net/verbs_stand_in/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    fabric *map;
    int fd;
} mapped = {.lock = PTHREAD_MUTEX_INITIALIZER};

void stand_in_misused(const char *what)
{
    fprintf(stderr, "stand-in for libibverbs: %s\n", what);
    abort();
}

static fabric *map(const char *path)
{
    void *all = MAP_FAILED;

    mapped.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (mapped.fd >= 0 && ftruncate(mapped.fd, sizeof(fabric)) == 0)
        all = mmap(NULL, sizeof(fabric), PROT_READ | PROT_WRITE, MAP_SHARED, mapped.fd, 0);
    return all == MAP_FAILED ? NULL : all;
}

fabric *fabric_lock(void)
{
    const char *path = getenv("PW_STAND_IN_FABRIC");

    pthread_mutex_lock(&mapped.lock);
    if (!mapped.map && path)
        mapped.map = map(path);
    if (mapped.map) {
        flock(mapped.fd, LOCK_EX);
        return mapped.map;
    }
    pthread_mutex_unlock(&mapped.lock);
    return NULL;
}

void fabric_unlock(void)
{
    flock(mapped.fd, LOCK_UN);
    pthread_mutex_unlock(&mapped.lock);
}

static bool take(pid_t *owner)
{
    if (*owner != 0 && (kill(*owner, 0) == 0 || errno != ESRCH))
        return false;
    *owner = getpid();
    return true;
}

int fabric_new_qp(fabric *f)
{
    for (uint32_t i = 0; i < QPS; i++) {
        shared_qp *q = &f->qps[i];
        uint32_t generation = q->generation + 1;

        if (!take(&q->owner))
            continue;
        *q = (shared_qp){.owner = q->owner, .generation = generation, .number = (generation & 0xffff) << 8 | i};
        return (int)i;
    }
    return -1;
}

int fabric_new_cq(fabric *f)
{
    for (int i = 0; i < CQS; i++)
        if (take(&f->cqs[i].owner)) {
            f->cqs[i].first = f->cqs[i].end = 0;
            return i;
        }
    return -1;
}

int fabric_new_mr(fabric *f)
{
    for (int i = 0; i < MRS; i++)
        if (take(&f->mrs[i].owner)) {
            f->mrs[i].generation++;
            return i;
        }
    return -1;
}

shared_qp *fabric_qp(fabric *f, uint32_t number)
{
    shared_qp *q = &f->qps[number % QPS];

    return q->owner != 0 && q->number == number ? q : NULL;
}

uint32_t fabric_key(const fabric *f, int mr)
{
    return f->mrs[mr].generation << 16 | (uint32_t)mr;
}

const shared_mr *fabric_memory(const fabric *f, pid_t owner, uint32_t pd, uint32_t key, uint64_t address,
                               uint64_t bytes, int access)
{
    const shared_mr *m = &f->mrs[key % MRS];

    return m->owner == owner && m->pd == pd && fabric_key(f, (int)(key % MRS)) == key && address >= m->begin &&
                   bytes <= m->bytes && address - m->begin <= m->bytes - bytes && (m->access & access) == access
               ? m
               : NULL;
}

void fabric_complete(fabric *f, uint32_t cq, struct ibv_wc wc)
{
    shared_cq *q = &f->cqs[cq];

    if (q->end - q->first == q->capacity)
        stand_in_misused("a completion queue overruns");
    q->entries[q->end++ % ENTRIES] = wc;
}
