/* What packs and unpacks a subject, side by side. */
#ifndef PW_BENCH_GPU_PEERS_H
#define PW_BENCH_GPU_PEERS_H

#include "bench/gpu/generic.h"

typedef enum gpu_peer_id {
    PEER_EMPTY,       /* an empty kernel: what every launch and wait costs */
    PEER_COPY,        /* as many bytes, contiguous on both sides, by the driver */
    PEER_SPECIALISED, /* ours, compiled for the shape */
    PEER_CALLED,      /* the same as MPI calls start it, and learn of its end: mostly a graph, and a flag */
    PEER_TIER0,       /* ours, parametric */
    PEER_GENERIC,     /* a kernel as TEMPI has it */
    PEER_COPY_2D,     /* cuMemcpy2DAsync */
    PEER_BLOCKS,      /* cuMemcpyAsync for every block */
    PEERS
} gpu_peer_id;

enum { BLOCKS_TIMED = 256, MAX_TIER0_LAUNCHES = 64 };

/* A graph of one kernel, and the flag that it writes (codegen/nvrtc/launch.h). */
typedef struct gpu_flagged {
    gpu_graph graph;
    volatile uint64_t *seen;
    gpu_ptr where, ends;
    uint64_t value;
} gpu_flagged;

/* What all peers work with. */
typedef struct gpu_bench {
    gpu_info gpu;
    gpu_stream stream;
    gpu_generic generic;
    pw_gpu_tier0 *tier0;
    gpu_function tier0_function[PW_GPU_TIER0_KERNELS][2][2];
    gpu_ptr memory, packed, other; /* the layout's memory, and two packed buffers */
    gpu_ptr mapped;                /* a packed buffer in pinned host memory */
    gpu_ptr scrub;
    gpu_flagged *flagged;
    size_t max_span, scrub_bytes;
    bool warm; /* leave in the L2 cache what is there */
    double device_bandwidth,
        mapped_bandwidth[2]; /* bytes a microsecond: read + written; packed to, and from the host */
} gpu_bench;

typedef struct gpu_work {
    const gpu_bench *bench;
    const gpu_subject *subject;
    bool unpack;
    gpu_ptr packed, origin; /* origin: where the first object would begin */
} gpu_work;

typedef struct gpu_peer {
    const char *name;
    bool (*takes)(const gpu_work *w);
    void (*start)(const gpu_work *w);
    void (*wait)(const gpu_work *w);
} gpu_peer;

void gpu_flagged_open(gpu_bench *b);
/* Before a module is unloaded: a graph that still holds a function of it may run that when it is set to one of a module
 * loaded later, to which the driver gives the same handle. */
void gpu_flagged_rest(gpu_bench *b);

extern const gpu_peer gpu_peers[PEERS];

/* By what the time of a start is to be multiplied: PEER_BLOCKS starts BLOCKS_TIMED copies at most. */
double gpu_peer_scale(gpu_peer_id id, const gpu_subject *s);

#endif
