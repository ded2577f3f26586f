/*
 * The probes of blocks that a receiver reads over a network (strategy remote): exchanges of one block each way by
 * MPI_Neighbor_alltoallw, by Packwright and left to the MPI, over the network that PACKWRIGHT_NET names.
 */
#ifndef PW_TOOLS_MEASURE_NETWORK_H
#define PW_TOOLS_MEASURE_NETWORK_H

#include "base/status.h"
#include "runtime/engine/model/file.h"
#include "tools/measure/probe.h"

#include <mpi.h>

typedef struct pw_measure_network {
    MPI_Comm pair, line; /* both communicators have both ranks; on `line` each is the other's one neighbour */
    char *send, *recv;
    const char *transports; /* by which the ranks reach each other */
} pw_measure_network;

/* Begins to measure. Collective over `pair`. Returns PW_ERR_NOT_FOUND on both ranks if there is no network between
 * them, or PW_ERR_NOMEM. */
pw_status pw_measure_network_begin(pw_measure_network *n, MPI_Comm pair, pw_probe_list *list);
/* Sets the facts that follow from the times. PW_ERR_UNSUPPORTED: most times cannot be trusted. */
pw_status pw_measure_network_facts(const pw_measure_network *n, const pw_probe_list *list, double spread, pw_model *m,
                                   pw_diag *diag);
void pw_measure_network_end(pw_measure_network *n, pw_probe_list *list);

/* The `agree` function of pw_sampling: all ranks of the communicator at `pair` take the value of rank 0. */
int pw_measure_agree(void *pair, int value);

#endif
