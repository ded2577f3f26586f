/*
 * One region of a plan with the numbers of one call, and the words that tell them to the kernel (record.h). Pure; for
 * launch.c only.
 */
#ifndef PW_NVRTC_REGION_CALL_H
#define PW_NVRTC_REGION_CALL_H

#include "codegen/nvrtc/launch.h"
#include "codegen/nvrtc/record.h"

/* A region's loops with the numbers of this call. */
typedef struct pw_region_call {
    const pw_gpu_region *g;
    const pw_gpu_call *call;
    uint64_t *rec;
    int64_t count[PW_GPU_MAX_DIMS], mem[PW_GPU_MAX_DIMS], packed[PW_GPU_MAX_DIMS];
    int64_t units, span;
    int64_t total; /* packed bytes of the call */
    bool chunked;
} pw_region_call;

/* Returns a number of the shape: a known one, or one of the call's arguments. */
static inline int64_t pw_region_value(const pw_region_call *c, pw_num n)
{
    return n.slot < 0 ? n.value : c->call->args->params[n.slot];
}

static inline int64_t pw_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Returns whether words divide the addresses of both buffers. */
bool pw_region_is_aligned(const pw_region_call *c);
/* Returns the mean length of a list's blocks, in bytes. */
int64_t pw_region_mean_block(const pw_region_call *c);
/* Returns whether a list is moved by single bytes. */
bool pw_region_is_short(const pw_region_call *c);

/* Reads the loops of the call, and writes the region's record. What comes before `count` in *c is set, as are span,
 * total and chunked. */
pw_status pw_region_write(pw_region_call *c);
/* Writes the factors for divisions of numbers of 64 bits into all records. Only calls that need them pay for the
 * divisions of 128 bits. */
void pw_region_write_magics64(const pw_gpu_plan *plan, uint64_t *w);

#endif
