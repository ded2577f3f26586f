/*
 * Arrays of counts and displacements as a hook gets them from either form of a call: MPI_X passes int, and MPI_X_c
 * passes MPI_Count and MPI_Aint (MPI 4.0 section 19.2). The caller keeps the array.
 */
#ifndef PW_RUNTIME_COUNTS_H
#define PW_RUNTIME_COUNTS_H

#include "runtime/mpi/mpi_compat.h"

typedef struct pw_counts {
    const void *at; /* NULL where the caller gave no array, as only the root must for some arguments */
    bool wide;      /* true: MPI_Count; false: int */
} pw_counts;

typedef struct pw_displs {
    const void *at;
    bool wide; /* true: MPI_Aint; false: int. The call fixes the unit: elements, or bytes in the w-forms */
} pw_displs;

static inline MPI_Count pw_count_at(pw_counts counts, int i)
{
    return counts.wide ? ((const MPI_Count *)counts.at)[i] : ((const int *)counts.at)[i];
}

static inline MPI_Aint pw_displ_at(pw_displs displs, int i)
{
    return displs.wide ? ((const MPI_Aint *)displs.at)[i] : ((const int *)displs.at)[i];
}

#endif
