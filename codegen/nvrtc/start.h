/*
 * How a launch is best started, and how its end is best learnt: rules from measurements
 * (build/bench/gpu --completion), for the runtime and for the bench that times kernels as the runtime starts
 * them. Pure functions.
 */
#ifndef PW_CODEGEN_NVRTC_START_H
#define PW_CODEGEN_NVRTC_START_H

#include "codegen/nvrtc/launch.h"

/*
 * Returns whether a launch that comes again and again, one at a time, should be a graph of one kernel. A graph costs
 * less than cuLaunchKernel, but more for every byte of parameters that is set: on an H100 it is 2 us ahead with 128
 * bytes, within 2 us (ahead or behind by the host's mood) with 4 KiB, and up to 8 us behind with the 10 KiB of 24
 * regions. With parameters that it has already it is 3 us ahead up to 4 KiB.
 */
static inline bool pw_gpu_graph_pays(const pw_gpu_launch *l)
{
    enum { PARAM_BYTES = 4096 };

    return l->param_bytes <= PARAM_BYTES;
}

/*
 * Returns whether the last launch of a transfer should report its end by a flag (launch.h). A caller that waits for the
 * stream should not ask for one: the kernel would end later.
 *
 * The host sees a flag about a microsecond before the driver's call returns. But a block of threads waits for its
 * writes before it counts itself, which keeps the next one from beginning to read: packing 64 MiB that takes 4 us more
 * on the average of layouts, and 30 us of 187 where reads are many and isolated. From the mean of 15 layouts on an H100
 * the flag is 0.4 us ahead at 8 MiB and 0.3 us behind at 16 MiB. Unpacking, whose blocks wait for writes in any case,
 * it is ahead at all sizes, but for odd bytes.
 */
static inline bool pw_gpu_flag_pays(int64_t bytes, pw_direction direction)
{
    enum { PACKED_BYTES = 12 << 20 };

    return direction == PW_UNPACK || bytes <= PACKED_BYTES;
}

#endif
