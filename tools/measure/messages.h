/*
 * The probes of messages between two ranks, in host memory and, if the MPI takes it, in GPU memory: contiguous ones and
 * typed ones that are left to the MPI (called as PMPI_), and typed ones in host memory that Packwright packs, by the
 * whole way that a program's call takes (called as MPI_, with the interposer linked in front of the MPI).
 */
#ifndef PW_TOOLS_MEASURE_MESSAGES_H
#define PW_TOOLS_MEASURE_MESSAGES_H

#include "tools/measure/probe.h"

#include <mpi.h>

struct pw_gpu;
struct pw_gpu_block;

typedef struct pw_measure_messages {
    MPI_Comm pair, ring;     /* of both ranks */
    int rank;                /* in it */
    char *send[2], *recv[2]; /* in host and in device memory; the latter may be NULL */
    struct pw_gpu *gpu;
    struct pw_gpu_block *blocks[2];
} pw_measure_messages;

/* Collective over `pair`. `gpu`: messages in GPU memory, too; both ranks must have one. PW_ERR_NOMEM on both ranks. */
pw_status pw_measure_messages_begin(pw_measure_messages *m, MPI_Comm pair, bool gpu, pw_probe_list *list);
void pw_measure_messages_end(pw_measure_messages *m, pw_probe_list *list);

/* For pw_sampling: rank 0 says. */
int pw_measure_messages_agree(void *m, int value);

#endif
