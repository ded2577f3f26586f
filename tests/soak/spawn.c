/*
 * Parents that start children with MPI_Comm_spawn, and exchange derived datatypes with them: messages and a collective
 * between the two groups, then messages and collectives in the merged one.
 *
 *     spawn CHILDREN [PRELOAD]
 *
 * Children are started through env, with PRELOAD as their LD_PRELOAD, or without any.
 */
#include "soak.h"

#include <stdio.h>
#include <stdlib.h>

enum { TYPES = 12, SCALE = 300, ROOM = 1 << 20 };

static int out[ROOM], in[ROOM];

/* Rank i of each group with rank i of the other, where there is one. */
static void between(const soak_type *t, MPI_Comm comm, int step, bool child)
{
    int rank, size, others;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_remote_size(comm, &others);
    if (rank < others) {
        soak_fill(t, out, step + (child ? 500000 : 0));
        soak_fill(t, in, -1000);
        MPI_Sendrecv(out, 1, t->handle, rank, step, in, 1, t->handle, rank, step, comm, MPI_STATUS_IGNORE);
        soak_expect(soak_holds(t, in, step + (child ? 0 : 500000)), "a message between parents and children");
    }
    soak_fill(t, out, child ? -1000 : step);
    MPI_Bcast(out, 1, t->handle, child ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, comm);
    soak_expect(!child || soak_holds(t, out, step), "what parents broadcast");
}

static void together(const soak_type *t, MPI_Comm comm, int step)
{
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    soak_fill(t, out, step + rank);
    soak_fill(t, in, -1000);
    MPI_Sendrecv(out, 1, t->handle, (rank + 1) % size, step, in, 1, t->handle, (rank + size - 1) % size, step, comm,
                 MPI_STATUS_IGNORE);
    soak_expect(soak_holds(t, in, step + (rank + size - 1) % size), "a message in the merged group");
    soak_fill(t, out, rank == size - 1 ? step : -1000);
    MPI_Bcast(out, 1, t->handle, size - 1, comm);
    soak_expect(soak_holds(t, out, step), "what the last broadcast");
}

static MPI_Comm spawn(char *self, int children, char *preload)
{
    static char unset[] = "-u", name[] = "LD_PRELOAD", env[] = "/usr/bin/env";
    static char setting[4096], dash[] = "-";
    char *argv[] = {unset, name, dash, self, NULL};
    MPI_Comm comm;

    if (preload)
        snprintf(setting, sizeof setting, "LD_PRELOAD=%s", preload);
    argv[2] = preload ? setting : self;
    argv[3] = preload ? self : NULL;
    MPI_Comm_spawn(env, argv, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm, MPI_ERRCODES_IGNORE);
    return comm;
}

int main(int argc, char **argv)
{
    MPI_Comm comm, merged;
    bool child;
    int status;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&comm);
    child = comm != MPI_COMM_NULL;
    if (!child)
        comm = spawn(argv[0], (int)soak_argument(argc, argv, 1, 2), argc > 2 ? argv[2] : NULL);
    MPI_Intercomm_merge(comm, child, &merged);
    for (int step = 0; step < 20 * TYPES; step++) {
        soak_type t = soak_make(step, SCALE, step % TYPES);

        between(&t, comm, step, child);
        together(&t, merged, step);
        soak_free(&t);
    }
    status = soak_end(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&comm);
    MPI_Finalize();
    return status;
}
