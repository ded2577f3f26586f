#include "tools/measure/stores.h"

#include "base/clock.h"

#include <string.h>

/* The first stores do not count, since the caches have forgotten the lines meanwhile. */
enum { WARM_UP = 5 };

void pw_measure_stores(MPI_Comm comm, int partner, double *ns, int n)
{
    static _Alignas(4096) char from[PW_MEASURE_STORED], sent[PW_MEASURE_STORED], received[PW_MEASURE_STORED];
    MPI_Status status; /* GCC 12 warns of MPICH's constant for none */

    for (int i = -WARM_UP; i < n; i++) {
        int64_t begin = pw_clock_ns();

        memcpy(sent, from, sizeof sent);
        if (i >= 0)
            ns[i] = (double)(pw_clock_ns() - begin) / (PW_MEASURE_STORED / PW_MEASURE_LINE);
        PMPI_Sendrecv(sent, sizeof sent, MPI_BYTE, partner, 0, received, sizeof received, MPI_BYTE, partner, 0, comm,
                      &status);
    }
}
