/*
 * A neighbourhood of any number of ranks: each has types of its own, exchanges them with the next and the one before,
 * and takes part in an all-to-all of them. Also what many ranks do at once when the cache of kernels is empty.
 *
 *     halo [STEPS [TYPES [SCALE]]]
 *
 * Memory is reported at the start, when the types are there, and at the end.
 */
#include "soak.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct halo {
    int rank, size, ntypes;
    soak_type *types;
    int *out, *in;
} halo;

static void exchange(halo *h, const soak_type *t, int step)
{
    int next = (h->rank + 1) % h->size, previous = (h->rank + h->size - 1) % h->size;
    MPI_Request requests[2];

    soak_fill(t, h->out, step + h->rank);
    soak_fill(t, h->in, -1000);
    MPI_Irecv(h->in, 1, t->handle, previous, step, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(h->out, 1, t->handle, next, step, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    soak_expect(soak_holds(t, h->in, step + previous), "a message of a neighbour");
}

/* From one place, as neighbours' messages are large for many ranks. */
static void broadcast(halo *h, const soak_type *t, int step)
{
    int root = step % h->size;

    soak_fill(t, h->out, h->rank == root ? step : -1000);
    MPI_Bcast(h->out, 1, t->handle, root, MPI_COMM_WORLD);
    soak_expect(soak_holds(t, h->out, step), "what was broadcast");
}

static void pack(halo *h, const soak_type *t, int step)
{
    int bytes, at = 0, from = 0;
    char *packed;

    MPI_Pack_size(1, t->handle, MPI_COMM_WORLD, &bytes);
    packed = malloc((size_t)bytes);
    soak_fill(t, h->out, step);
    soak_fill(t, h->in, -1000);
    MPI_Pack(h->out, 1, t->handle, packed, bytes, &at, MPI_COMM_WORLD);
    MPI_Unpack(packed, at, &from, h->in, 1, t->handle, MPI_COMM_WORLD);
    soak_expect(soak_holds(t, h->in, step), "what was packed and unpacked");
    free(packed);
}

static void make_types(halo *h, int scale)
{
    int span = 1;

    h->types = calloc((size_t)h->ntypes, sizeof *h->types);
    for (int i = 0; i < h->ntypes; i++) {
        h->types[i] = soak_make(i, scale, i);
        span = h->types[i].span > span ? h->types[i].span : span;
    }
    h->out = malloc((size_t)span * sizeof *h->out);
    h->in = malloc((size_t)span * sizeof *h->in);
}

int main(int argc, char **argv)
{
    long steps = soak_argument(argc, argv, 1, 100);
    int scale = (int)soak_argument(argc, argv, 3, 400), status;
    halo h = {.ntypes = (int)soak_argument(argc, argv, 2, 12)};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &h.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &h.size);
    soak_tell_memory("start", MPI_COMM_WORLD);
    make_types(&h, scale);
    soak_tell_memory("types", MPI_COMM_WORLD);
    for (int step = 0; step < steps; step++) {
        const soak_type *t = &h.types[step % h.ntypes];

        pack(&h, t, step);
        exchange(&h, t, step);
        if (step % 4 == 0)
            broadcast(&h, t, step);
    }
    soak_tell_memory("end", MPI_COMM_WORLD);
    for (int i = 0; i < h.ntypes; i++)
        soak_free(&h.types[i]);
    status = soak_end(MPI_COMM_WORLD);
    MPI_Finalize();
    free(h.types);
    free(h.out);
    free(h.in);
    return status;
}
