/*
 * A type of Packwright's engine from an MPI datatype, for programs that have both: a checkpoint writer in an MPI
 * program, say, which packs what its messages already have datatypes for.
 *
 *     packwright_type *type;
 *
 *     packwright_from_mpi(datatype, &type);
 *     packwright_pack(type, buffer, count, packed); // the bytes of MPI_Pack
 *
 * The function is in libpackwright-mpi-mpich or libpackwright-mpi-openmpi (pkg-config packwright-mpi-mpich,
 * CMake Packwright::mpi-mpich; the same for openmpi). These libraries are independent of the interposer: programs use
 * them with or without it. Linking the library of the other MPI fails, since each has a symbol name of its own.
 */
#ifndef PACKWRIGHT_PACKWRIGHT_MPI_H
#define PACKWRIGHT_PACKWRIGHT_MPI_H

#include <packwright/packwright.h>

#include <mpi.h>

/* MPI's ABIs differ. MPICH's is also that of its relatives. */
#ifdef OPEN_MPI
#define packwright_from_mpi packwright_from_mpi_openmpi
#else
#define packwright_from_mpi packwright_from_mpi_mpich
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The bytes that `datatype` names, in the order of MPI_Pack, with its lb and extent. `datatype` need not be committed
 * and may be freed at once. MPI must be initialised and not finalised; the call counts as an MPI call for the thread
 * level of MPI_Init_thread. PACKWRIGHT_ERR_INVALID for MPI_DATATYPE_NULL, PACKWRIGHT_ERR_UNSUPPORTED for a constructor
 * that this library does not know. Other handles that are no datatypes are MPI's to report.
 */
PACKWRIGHT_API packwright_status packwright_from_mpi(MPI_Datatype datatype, packwright_type **out);

#ifdef __cplusplus
}
#endif

#endif
