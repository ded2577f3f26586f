/*
 * What a layout makes memory do. DRAM moves granules of 64 bytes; the L2 cache knows sectors of 32 bytes, and must read
 * a sector before it can write it back when only a part of it was written.
 */
#ifndef PW_BENCH_GPU_TOUCHED_H
#define PW_BENCH_GPU_TOUCHED_H

#include "ir/ir.h"

enum { GPU_SECTOR = 32, GPU_GRANULE = 64 };

typedef struct gpu_touched {
    double size;     /* packed bytes */
    double granules; /* bytes of the granules touched */
    double filled;   /* bytes of the granules that an unpack must read, since a sector of theirs is written in part */
} gpu_touched;

/* Of one object. False: the layout spans too much for this count. */
bool gpu_touched_count(const pw_type *type, gpu_touched *out);

#endif
