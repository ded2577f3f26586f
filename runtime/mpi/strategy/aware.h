/* Whether the MPI below takes buffers in the memory of a GPU. */
#ifndef PW_RUNTIME_GPU_AWARE_H
#define PW_RUNTIME_GPU_AWARE_H

#include <stdbool.h>

/*
 * PACKWRIGHT_GPU_AWARE decides. With `auto`, the MPI takes GPU memory if its MPIX_Query_cuda_support says so (MPICH,
 * Open MPI, MVAPICH), or if its variable enables it (MPICH_GPU_SUPPORT_ENABLED, MV2_USE_CUDA). The first call finds
 * out.
 */
bool pw_gpu_mpi_is_aware(void);

#endif
