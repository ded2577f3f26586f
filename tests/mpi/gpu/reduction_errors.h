/* Wrong reductions of buffers in GPU memory fail as they do in host memory. */
#ifndef PW_TESTS_MPI_GPU_REDUCTION_ERRORS_H
#define PW_TESTS_MPI_GPU_REDUCTION_ERRORS_H

/* At least 4 KiB each, of GPU memory. Called by all ranks. */
void check_reduction_errors(unsigned char *send, unsigned char *recv);

#endif
