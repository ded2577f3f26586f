#include "bench/lockstep.h"

#include "bench/turns.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the file begins with. */
typedef struct shared {
    _Atomic uint32_t turn; /* the job whose number this is modulo that of all jobs runs */
    _Atomic int value;
} shared;

static struct {
    bool asked;
    shared *at; /* NULL: this is no job of several */
    uint32_t turn, job, jobs;
    int rank;
} self;

static void await_turn(void)
{
    uint32_t now;

    while ((int32_t)((now = atomic_load(&self.at->turn)) - self.turn) < 0)
        syscall(SYS_futex, &self.at->turn, FUTEX_WAIT, now, NULL, NULL, 0);
}

static void pass(void)
{
    if (self.rank == 0) {
        atomic_store(&self.at->turn, self.turn + 1);
        syscall(SYS_futex, &self.at->turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    self.turn += self.jobs;
}

static shared *map(const char *text)
{
    char path[256];
    void *at = MAP_FAILED;
    int file;

    if (sscanf(text, "%255[^:]:%u:%u", path, &self.job, &self.jobs) == 3 && (file = open(path, O_RDWR)) >= 0)
        at = mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        fprintf(stderr, "BENCH_LOCKSTEP=%s: not FILE:JOB:JOBS\n", text);
        exit(2);
    }
    return at;
}

bool bench_lockstep_is_on(void)
{
    const char *text = self.asked ? NULL : getenv("BENCH_LOCKSTEP");

    if (text) {
        self.at = map(text);
        self.turn = self.job;
        PMPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
        atexit(pass);
        await_turn();
    }
    self.asked = true;
    return self.at;
}

void bench_lockstep_yield(MPI_Comm comm)
{
    PMPI_Barrier(comm);
    pass();
    await_turn();
}

int bench_lockstep_agree(MPI_Comm comm, int value)
{
    if (self.job == 0 && self.rank == 0)
        atomic_store(&self.at->value, value);
    return bench_agree(comm, self.rank == 0 ? atomic_load(&self.at->value) : 0);
}
