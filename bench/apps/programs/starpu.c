/*
 * StarPU: each rank sends the inner cells of a ghosted cube, a block in StarPU's words, to the next rank, which
 * receives them into such a cube. StarPU makes an MPI type for each request. With --hand the program copies the cells
 * to and from vectors, which StarPU sends.
 *
 * Options: --sizes=64,128.
 */
#include "rows.h"

#include <starpu.h>
#include <starpu_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 7 };

typedef struct cube {
    const rows *all;
    size_t n;
    double *sent, *received, *leaving, *coming; /* ghosted cubes, and what --hand packs them to */
    starpu_data_handle_t from, to;
} cube;

static void check(int error)
{
    if (error) {
        fprintf(stderr, "starpu: error %d\n", error);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static size_t ghosted(const cube *c)
{
    return (c->n + 2) * (c->n + 2) * (c->n + 2);
}

static double *line(const cube *c, double *at, size_t i)
{
    return at + ((i / c->n + 1) * (c->n + 2) + i % c->n + 1) * (c->n + 2) + 1;
}

static void prepare(void *data)
{
    const cube *c = data;

    check(starpu_data_acquire(c->from, STARPU_W));
    check(starpu_data_acquire(c->to, STARPU_W));
    for (size_t i = 0; i < ghosted(c); i++) {
        c->sent[i] = (double)i + 1e8 * c->all->rank;
        c->received[i] = -1;
    }
    starpu_data_release(c->from);
    starpu_data_release(c->to);
}

static void exchange(void *data)
{
    const cube *c = data;
    int rank = c->all->rank, ranks = c->all->ranks;
    starpu_mpi_req receive, send;

    check(starpu_mpi_irecv(c->to, &receive, (rank + ranks - 1) % ranks, TAG, MPI_COMM_WORLD));
    check(starpu_mpi_isend(c->from, &send, (rank + 1) % ranks, TAG, MPI_COMM_WORLD));
    check(starpu_mpi_wait(&receive, MPI_STATUS_IGNORE));
    check(starpu_mpi_wait(&send, MPI_STATUS_IGNORE));
}

static void exchange_by_hand(void *data)
{
    const cube *c = data;
    size_t bytes = c->n * sizeof(double);

    check(starpu_data_acquire(c->from, STARPU_W));
    for (size_t i = 0; i < c->n * c->n; i++)
        memcpy(c->leaving + i * c->n, line(c, c->sent, i), bytes);
    starpu_data_release(c->from);
    exchange(data);
    check(starpu_data_acquire(c->to, STARPU_R));
    for (size_t i = 0; i < c->n * c->n; i++)
        memcpy(line(c, c->received, i), c->coming + i * c->n, bytes);
    starpu_data_release(c->to);
}

static uint64_t digest(void *data)
{
    const cube *c = data;
    uint64_t hash;

    check(starpu_data_acquire(c->to, STARPU_R));
    hash = rows_digest(0, c->received, ghosted(c) * sizeof(double));
    starpu_data_release(c->to);
    return hash;
}

static starpu_data_handle_t share(const cube *c, double *cells, double *packed)
{
    uint32_t n = (uint32_t)c->n, side = n + 2;
    starpu_data_handle_t handle;

    if (c->all->hand)
        starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)packed, n * n * n, sizeof *packed);
    else
        starpu_block_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)line(c, cells, 0), side, side * side, n, n, n,
                                   sizeof *cells);
    return handle;
}

static void do_cube(const rows *all, int n)
{
    cube c = {.all = all, .n = (size_t)n};
    size_t bytes = ghosted(&c) * sizeof(double), inner = c.n * c.n * c.n * sizeof(double);
    char name[100];

    c.sent = rows_allocate(bytes);
    c.received = rows_allocate(bytes);
    c.leaving = rows_allocate(inner);
    c.coming = rows_allocate(inner);
    c.from = share(&c, c.sent, c.leaving);
    c.to = share(&c, c.received, c.coming);
    snprintf(name, sizeof name, "block %d^3 ghosted", n);
    rows_do(all, name, &(row){&c, prepare, all->hand ? exchange_by_hand : exchange, digest});
    starpu_data_unregister(c.from);
    starpu_data_unregister(c.to);
    free(c.sent);
    free(c.received);
    free(c.leaving);
    free(c.coming);
}

int main(int argc, char **argv)
{
    rows all = rows_begin(argc, argv, "sizes");
    struct starpu_conf conf;

    check(starpu_conf_init(&conf));
    conf.ncpus = 1;
    conf.sched_policy_name = "eager";
    check(starpu_init(&conf));
    starpu_pause(); /* there are no tasks, and the worker would take a core from the ranks by looking for some */
    check(starpu_mpi_init_comm(NULL, NULL, 0, MPI_COMM_WORLD));
    for (const char *n = rows_option(argc, argv, "sizes", "64,128"); *n; n += strcspn(n, ","), n += *n == ',')
        do_cube(&all, atoi(n));
    starpu_mpi_shutdown();
    starpu_resume();
    starpu_shutdown();
    rows_end();
    return 0;
}
