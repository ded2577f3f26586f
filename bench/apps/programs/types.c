/*
 * A type made for each message, as EPOCH and 2DECOMP do it for their halos: subarray, commit, exchange with the
 * neighbour, free. Layers of a box of doubles (x fastest): along x, whose blocks are as long as the layer is thick; and
 * along y, whose blocks are rows. "equal" makes the same type each time, "unlike" one of another length in each step.
 *
 * With --hand the program copies to and from contiguous buffers instead, and makes no type.
 */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYER = 3, STEPS = 61 }; /* so many lengths in turn, if they are unlike */

/* The box is [n[0]][n[1]][n[2]]; the layer that is sent has `length` at `start`, and `to` is where it is received. */
typedef struct layer {
    const rows *all;
    int n[3], length[3], start[3], to[3];
    bool unlike;
    int step;
    double *box, *sent, *received;
} layer;

static size_t doubles(const int n[3])
{
    return (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
}

/* The planes of this step's message. */
static int planes(const layer *l)
{
    return l->length[0] - (l->unlike ? l->step % STEPS % (l->length[0] / 2 + 1) : 0);
}

static void copy(const layer *l, const int start[3], int count, double *packed, bool packs)
{
    size_t block = (size_t)l->length[2];

    for (int i = 0; i < count; i++)
        for (int j = 0; j < l->length[1]; j++, packed += block) {
            size_t at = (((size_t)(start[0] + i) * (size_t)l->n[1] + (size_t)(start[1] + j)) * (size_t)l->n[2]) +
                        (size_t)start[2];

            for (size_t k = 0; k < block; k++) {
                if (packs)
                    packed[k] = l->box[at + k];
                else
                    l->box[at + k] = packed[k];
            }
        }
}

static MPI_Datatype make(const layer *l, const int start[3], int count)
{
    MPI_Datatype type;

    MPI_Type_create_subarray(3, l->n, (int[]){count, l->length[1], l->length[2]}, start, MPI_ORDER_C, MPI_DOUBLE,
                             &type);
    MPI_Type_commit(&type);
    return type;
}

static void prepare(void *data)
{
    layer *l = data;

    l->step = 0;
    for (size_t i = 0; i < doubles(l->n); i++)
        l->box[i] = (double)i + 1e8 * l->all->rank;
}

static void exchange(void *data)
{
    layer *l = data;
    int count = planes(l), next = (l->all->rank + 1) % l->all->ranks,
        before = (l->all->rank + l->all->ranks - 1) % l->all->ranks;
    int n = count * l->length[1] * l->length[2];
    MPI_Datatype from, to;

    l->step++;
    if (l->all->hand) {
        copy(l, l->start, count, l->sent, true);
        MPI_Sendrecv(l->sent, n, MPI_DOUBLE, next, 0, l->received, n, MPI_DOUBLE, before, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        copy(l, l->to, count, l->received, false);
        return;
    }
    from = make(l, l->start, count);
    to = make(l, l->to, count);
    MPI_Sendrecv(l->box, 1, from, next, 0, l->box, 1, to, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
}

static uint64_t digest(void *data)
{
    layer *l = data;

    return rows_digest(0, l->box, doubles(l->n) * sizeof(double));
}

static void do_layer(const rows *all, const char *name, layer l)
{
    if (!rows_wanted(all, name))
        return;
    l.all = all;
    l.box = rows_allocate(doubles(l.n) * sizeof(double));
    l.sent = rows_allocate(doubles(l.length) * sizeof(double));
    l.received = rows_allocate(doubles(l.length) * sizeof(double));
    rows_do(all, name, &(row){&l, prepare, exchange, digest});
    free(l.box);
    free(l.sent);
    free(l.received);
}

/* A message of `bytes` in each direction: along x, a layer of planes x rows x thickness; along y, of planes x thickness
 * x row. */
static void do_size(const rows *all, int bytes, bool unlike)
{
    int count = bytes / (int)sizeof(double);
    const char *how = unlike ? "unlike" : "equal";
    char name[100];

    for (int thick = 1; thick <= LAYER; thick += LAYER - 1) {
        int side = 8; /* planes and rows, equally many as far as possible */

        while (4 * side * side * thick <= count)
            side *= 2;
        snprintf(name, sizeof name, "%d KiB along x, blocks of %d, %s", bytes / 1024, thick, how);
        do_layer(all, name,
                 (layer){.n = {side, count / side / thick, 32},
                         .length = {side, count / side / thick, thick},
                         .start = {0, 0, 32 - 2 * thick},
                         .unlike = unlike});
    }
    snprintf(name, sizeof name, "%d KiB along y, blocks of 64, %s", bytes / 1024, how);
    do_layer(all, name,
             (layer){.n = {count / 64, 8, 66},
                     .length = {count / 64, 1, 64},
                     .start = {0, 6, 1},
                     .to = {0, 0, 1},
                     .unlike = unlike});
}

int main(int argc, char **argv)
{
    static const int sizes[] = {4 << 10, 64 << 10, 1 << 20};
    rows all = rows_begin(argc, argv, "");

    for (int unlike = 0; unlike < 2; unlike++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            do_size(&all, sizes[i], unlike);
    rows_end();
    return 0;
}
