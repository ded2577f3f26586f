/*
 * Many messages of derived datatypes between two ranks, in all the usual ways, each checked when it arrives.
 *
 *     messages [COUNT]
 *
 * Memory is reported after each tenth; that of the last must be that of the second.
 */
#include "soak.h"

#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 32, TYPES = 12, TENTHS = 10 };

typedef struct lane {
    int rank, other, base;
    soak_type types[TYPES];
    int *buffers[WINDOW]; /* each has room for every type */
    MPI_Request sends[TYPES], receives[TYPES];
} lane;

static const soak_type *type_of(const lane *l, int i)
{
    return &l->types[i % TYPES];
}

/* One there, one back. */
static void ping_pong(lane *l)
{
    for (int i = 0; i < WINDOW; i++) {
        const soak_type *t = type_of(l, i);
        int *buffer = l->buffers[0];

        soak_fill(t, buffer, l->base + i);
        if (l->rank == i % 2) {
            MPI_Send(buffer, 1, t->handle, l->other, i, MPI_COMM_WORLD);
        } else {
            soak_fill(t, buffer, -1000);
            MPI_Recv(buffer, 1, t->handle, l->other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            soak_expect(soak_holds(t, buffer, l->base + i), "a message");
        }
    }
}

/* WINDOW at once from rank 0 to 1 or back. */
static void stream(lane *l, int sender)
{
    MPI_Request requests[WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        const soak_type *t = type_of(l, i);

        soak_fill(t, l->buffers[i], l->rank == sender ? l->base + i : -1000);
        if (l->rank == sender)
            MPI_Isend(l->buffers[i], 1, t->handle, l->other, i, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(l->buffers[i], 1, t->handle, l->other, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < WINDOW && l->rank != sender; i++)
        soak_expect(soak_holds(type_of(l, i), l->buffers[i], l->base + i), "a message of a stream");
}

/* Both ways in one call; two messages for each. */
static void exchange(lane *l)
{
    for (int i = 0; i < WINDOW / 2; i++) {
        const soak_type *t = type_of(l, i);

        soak_fill(t, l->buffers[0], l->base + i + l->rank);
        soak_fill(t, l->buffers[1], -1000);
        MPI_Sendrecv(l->buffers[0], 1, t->handle, l->other, i, l->buffers[1], 1, t->handle, l->other, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        soak_expect(soak_holds(t, l->buffers[1], l->base + i + l->other), "a message of an exchange");
    }
}

static void open_channels(lane *l)
{
    for (int i = 0; i < TYPES; i++) {
        MPI_Send_init(l->buffers[i], 1, l->types[i].handle, l->other, 100 + i, MPI_COMM_WORLD, &l->sends[i]);
        MPI_Recv_init(l->buffers[TYPES + i], 1, l->types[i].handle, l->other, 100 + i, MPI_COMM_WORLD, &l->receives[i]);
    }
}

/* Persistent ones: 2 * TYPES messages. */
static void start_channels(lane *l)
{
    for (int i = 0; i < TYPES; i++) {
        soak_fill(&l->types[i], l->buffers[i], l->base + i + l->rank);
        soak_fill(&l->types[i], l->buffers[TYPES + i], -1000);
    }
    MPI_Startall(TYPES, l->receives);
    MPI_Startall(TYPES, l->sends);
    MPI_Waitall(TYPES, l->sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(TYPES, l->receives, MPI_STATUSES_IGNORE);
    for (int i = 0; i < TYPES; i++)
        soak_expect(soak_holds(&l->types[i], l->buffers[TYPES + i], l->base + i + l->other), "a persistent message");
}

/* Returns how many messages that was. */
static long round_of_messages(lane *l)
{
    l->base = (l->base + 1009) % 1000000;
    ping_pong(l);
    stream(l, 0);
    stream(l, 1);
    exchange(l);
    start_channels(l);
    return 4L * WINDOW + 2L * TYPES;
}

static void open_lane(lane *l)
{
    int span = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &l->rank);
    l->other = 1 - l->rank;
    for (int i = 0; i < TYPES; i++) {
        /* Mostly short ones; one of a KiB, one of 10. */
        l->types[i] = soak_make(i, i == 10 ? 128 : i == 11 ? 2500 : 6 + 3 * i, i);
        span = l->types[i].span > span ? l->types[i].span : span;
    }
    for (int i = 0; i < WINDOW; i++)
        l->buffers[i] = malloc((size_t)span * sizeof *l->buffers[i]);
    open_channels(l);
}

static void close_lane(lane *l)
{
    for (int i = 0; i < TYPES; i++) {
        MPI_Request_free(&l->sends[i]);
        MPI_Request_free(&l->receives[i]);
        soak_free(&l->types[i]);
    }
    for (int i = 0; i < WINDOW; i++)
        free(l->buffers[i]);
}

int main(int argc, char **argv)
{
    long count = soak_argument(argc, argv, 1, 100000), done = 0;
    static lane l;
    double began;
    int status, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "messages: 2 ranks are needed\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    open_lane(&l);
    began = MPI_Wtime();
    for (int tenth = 1; tenth <= TENTHS; tenth++) {
        char when[32];

        while (done < count / TENTHS * tenth)
            done += round_of_messages(&l);
        snprintf(when, sizeof when, "%d/%d", tenth, TENTHS);
        soak_tell_memory(when, MPI_COMM_WORLD);
    }
    if (l.rank == 0)
        printf("%ld messages in %.1f s\n", done, MPI_Wtime() - began);
    close_lane(&l);
    status = soak_end(MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
