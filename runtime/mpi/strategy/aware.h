/* Does the MPI below take buffers in the memory of a GPU? */
#ifndef PW_RUNTIME_GPU_AWARE_H
#define PW_RUNTIME_GPU_AWARE_H

#include <stdbool.h>

/*
 * PACKWRIGHT_GPU_AWARE says so; with `auto`, MPIX_Query_cuda_support of the MPI (MPICH, Open MPI, MVAPICH), and of
 * those MPIs that have to be told, what they were told (MPICH_GPU_SUPPORT_ENABLED, MV2_USE_CUDA). Found out once.
 */
bool pw_gpu_mpi_is_aware(void);

#endif
