/*
 * A type of Packwright's engine from an MPI datatype, for programs that have both: a checkpoint writer in an MPI
 * program, say, which packs what its messages already have datatypes for.
 *
 *     packwright_type *type;
 *
 *     packwright_from_mpi(datatype, &type);
 *     packwright_pack(type, buffer, count, packed); // the bytes of MPI_Pack
 *
 * And a collective commit, after which no message has to learn the type or do without its kernel.
 *
 * The functions are in libpackwright-mpi-mpich, libpackwright-mpi-openmpi or libpackwright-mpi-mpi-abi, by the ABI of
 * the MPI (pkg-config packwright-mpi-mpich, CMake Packwright::mpi-mpich; the same for openmpi and mpi-abi). These
 * libraries are independent of the interposer: programs use them with or without it. Linking the library of the other
 * MPI fails, since each has a symbol name of its own.
 */
#ifndef PACKWRIGHT_PACKWRIGHT_MPI_H
#define PACKWRIGHT_PACKWRIGHT_MPI_H

#include <packwright/packwright.h>

#include <mpi.h>

/* MPI's ABIs differ. MPICH's is also that of its relatives; the MPI standard's (mpicc_abi) that of several MPIs. */
#if defined(MPI_ABI_VERSION) && !defined(OPEN_MPI) && !defined(MPICH_NAME)
#define packwright_from_mpi packwright_from_mpi_mpi_abi
#define PACKWRIGHT_Type_commit_all PACKWRIGHT_Type_commit_all_mpi_abi
#elif defined(OPEN_MPI)
#define packwright_from_mpi packwright_from_mpi_openmpi
#define PACKWRIGHT_Type_commit_all PACKWRIGHT_Type_commit_all_openmpi
#else
#define packwright_from_mpi packwright_from_mpi_mpich
#define PACKWRIGHT_Type_commit_all PACKWRIGHT_Type_commit_all_mpich
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

/*
 * Commits a datatype as MPI_Type_commit does, and prepares the interposer of this process for it, where there is one:
 * it learns the type and compiles its kernel before the call returns, not in the background while messages are sent.
 * Ranks may pass types of different layouts.
 *
 * Collective over `comm`: all of its ranks call it, also those without the interposer, for which it is MPI_Type_commit.
 * No rank waits for another one. It takes as long as the compiler, some 10 ms a kernel that is not in the cache.
 *
 * Returns an MPI error code. A communicator that is none is raised on `comm` by MPI; a type that cannot be committed is
 * raised as by MPI_Type_commit, and if that returns, so does this function, with that error. A layout that cannot be
 * prepared is no error: messages then go as they do after MPI_Type_commit. Threads may call it at the same time on
 * different communicators, if MPI was initialised for MPI_THREAD_MULTIPLE; otherwise it counts as any MPI call for the
 * thread level.
 */
PACKWRIGHT_API int PACKWRIGHT_Type_commit_all(MPI_Comm comm, MPI_Datatype *type);

#ifdef __cplusplus
}
#endif

#endif
