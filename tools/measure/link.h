/* The link between two ranks on different nodes. Included by files that know mpi.h only. */
#ifndef PW_TOOLS_MEASURE_LINK_H
#define PW_TOOLS_MEASURE_LINK_H

#include "tools/measure/exchange.h"

#include <mpi.h>
#include <stdbool.h>

/* Times contiguous messages between the two ranks of `pair`; collective. False: memory is short. */
bool pw_measure_link(MPI_Comm pair, pw_exchange_link *out);

#endif
