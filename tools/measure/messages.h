/*
 * The probes of messages between two ranks, in host memory and, if the MPI takes it, in GPU memory. Contiguous messages
 * and typed ones that are left to the MPI call PMPI_. Typed messages in host memory that Packwright carries out call
 * MPI_, with the interposer linked in front of the MPI, so they take the whole path of a program's call, by a strategy
 * that the probe forces.
 */
#ifndef PW_TOOLS_MEASURE_MESSAGES_H
#define PW_TOOLS_MEASURE_MESSAGES_H

#include "tools/measure/probe.h"

#include <mpi.h>

struct pw_gpu;
struct pw_gpu_block;

typedef struct pw_measure_messages {
    MPI_Comm pair, ring;     /* both communicators have both ranks */
    int rank;                /* in it */
    bool pipeline;           /* kernels can move messages in the MPI's pipeline */
    char *send[2], *recv[2]; /* in host and in device memory; NULL: none in device memory */
    struct pw_gpu *gpu;
    struct pw_gpu_block *blocks[2];
} pw_measure_messages;

/* Begins to measure. Collective over `pair`. `gpu`: also messages in GPU memory, for which both ranks must have a GPU.
 * Returns PW_ERR_NOMEM on both ranks if either has too little memory. */
pw_status pw_measure_messages_begin(pw_measure_messages *m, MPI_Comm pair, bool gpu, pw_probe_list *list);
void pw_measure_messages_end(pw_measure_messages *m, pw_probe_list *list);

/* The `agree` function of pw_sampling: all ranks of the communicator at `pair` take the value of rank 0. */
int pw_measure_agree(void *pair, int value);
/* Returns a committed type of blocks of `block` bytes, one every `every` lengths, `bytes` in all. */
MPI_Datatype pw_measure_vector(int64_t bytes, int64_t block, int every);

#endif
