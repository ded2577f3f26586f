/* Wrong reductions of buffers in GPU memory fail as they do in host memory. */
#ifndef PW_TESTS_MPI_GPU_REDUCTION_ERRORS_H
#define PW_TESTS_MPI_GPU_REDUCTION_ERRORS_H

/* Both buffers are GPU memory of at least 4 KiB. Called by all ranks. */
void check_reduction_errors(unsigned char *send, unsigned char *recv);

#endif
