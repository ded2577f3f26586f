/*
 * From a call to a launch: grid, kernel variant and the bytes of the parameters. Pure functions: no CUDA, no state,
 * nothing allocated. The GPU runtime links this, not the compiler module.
 *
 * A plan's kernels are the two symbols of its job (pack and unpack) and the same with PW_GPU_BIG_SUFFIX, which
 * count in 64 bits. All take one struct by value: the bytes that pw_gpu_launch_make writes, given to cuLaunchKernel
 * through CU_LAUNCH_PARAM_BUFFER_POINTER or as kernelParams[0]. Blocks have PW_GPU_THREADS threads and no
 * dynamic shared memory.
 */
#ifndef PW_CODEGEN_NVRTC_LAUNCH_H
#define PW_CODEGEN_NVRTC_LAUNCH_H

#include "base/direction.h"
#include "codegen/nvrtc/plan.h"

#define PW_GPU_BIG_SUFFIX "_64"

typedef struct pw_gpu_device {
    int multiprocessors;
    int threads;       /* resident on each multiprocessor; 0: 2048 */
    uint32_t max_grid; /* blocks of a launch, but at least one for each region; 0: no limit */
} pw_gpu_device;

/* Kept in device memory for launches with a flag, one at a time. */
typedef struct pw_gpu_ends {
    uint32_t arrivals; /* blocks that are through: 0 between launches */
    uint64_t count;    /* what the flag is now */
} pw_gpu_ends;

/*
 * A word that goes up by one when all that a kernel has moved can be seen by the host and by every GPU. A caller that
 * polls the word needs no call of the driver to know that the transfer is over. `where` NULL: nothing is written. The
 * kernel counts by itself, so a launch that comes again has the same parameters. A grid of 0 writes no flag,
 * since nothing is launched. Every block waits for its writes, which costs some layouts up to a sixth of their time
 * from tens of MiB up.
 */
typedef struct pw_gpu_flag {
    uint64_t *where; /* the GPU's address of the word, for example of mapped host memory */
    pw_gpu_ends *ends;
} pw_gpu_flag;

/* Pack: dst is the packed buffer, src the first object; unpack the other way round; both as the GPU sees them.
 * Tables in `args` are device addresses, too. */
typedef struct pw_gpu_call {
    const pw_kernel_args *args;
    int64_t count;
    void *dst;
    const void *src;
    pw_gpu_flag flag;
    bool big; /* take the kernel with the suffix, however few units there are */
    /* The kernel that the grid is made for: with this grid the other kernel works, too, but may be slower. */
    pw_direction direction;
} pw_gpu_call;

typedef struct pw_gpu_launch {
    bool big;            /* take the kernel with the suffix */
    bool swapped;        /* take the kernel of the other direction: a launch of tier 0 sees memory on the packed side */
    uint32_t grid;       /* 0: there is nothing to move, do not launch */
    uint32_t block;      /* threads */
    uint32_t shared;     /* static shared bytes of a block; nothing to be passed */
    size_t param_bytes;  /* written to `params` */
    int64_t total_units; /* the words, tiles, pieces and blocks of all regions */
} pw_gpu_launch;

/* Makes a launch. `params` has room for pw_gpu_plan_param_bytes(plan) bytes, all of which are written. PW_ERR_OVERFLOW:
 * a number of units does not fit 62 bits. Takes about 100 ns. */
pw_status pw_gpu_launch_make(const pw_gpu_plan *plan, const pw_gpu_call *call, const pw_gpu_device *device,
                             uint64_t *params, pw_gpu_launch *out);

#endif
