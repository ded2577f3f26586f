/*
 * What `packwright measure` finds out about a GPU: probes of kernels and copies, and the facts that follow from their
 * times. What probes need is made when they first run, and released at the end.
 */
#ifndef PW_TOOLS_MEASURE_GPU_H
#define PW_TOOLS_MEASURE_GPU_H

#include "base/status.h"
#include "runtime/engine/model/model.h"
#include "tools/measure/probe.h"

struct pw_gpu;
struct pw_gpu_block;
struct pw_layout_engine;

/* The probes, by their places in the list. */
enum {
    PW_GPU_LAUNCHED,    /* a kernel that moves 64 bytes */
    PW_GPU_MAPPED_READ, /* the same from mapped memory */
    PW_GPU_MAPPED_LONG, /* long blocks to mapped memory */
    PW_GPU_TO_HOST,     /* copies of 64 bytes and long ones: to the host, from there, within the GPU */
    PW_GPU_TO_HOST_LONG,
    PW_GPU_FROM_HOST,
    PW_GPU_FROM_HOST_LONG,
    PW_GPU_WITHIN,
    PW_GPU_WITHIN_LONG,
    PW_GPU_ACROSS, /* a kernel that reads another GPU's memory: 64 bytes, long blocks */
    PW_GPU_ACROSS_LONG,
    PW_GPU_PROBES
};

typedef struct pw_measure_gpu {
    struct pw_layout_engine *engine;
    struct pw_gpu *gpu;
    struct pw_gpu_block *memory, *packed, *pinned;
    struct pw_gpu *other;        /* a second GPU, which the first one can read; NULL: none */
    struct pw_gpu_block *across; /* of the second GPU, or of the only one; NULL: none has been found */
    bool tried;                  /* these two have been looked for */
    char name[96];
} pw_measure_gpu;

/* Loads the driver into this process, for the runtime to find, and takes the first GPU. PW_ERR_NOT_FOUND, with the
 * reason: there is none. */
pw_status pw_measure_gpu_begin(pw_measure_gpu *g, pw_diag *diag);
/* Adds all probes to an empty list. Those that read another GPU's memory read the only GPU's own on a machine with one
 * GPU, as two ranks that share it do. They fail where the first GPU does not reach the second one, and where the
 * machine has more GPUs than this process sees. */
void pw_measure_gpu_add(pw_measure_gpu *g, pw_probe_list *list);
/* Sets the facts that follow from the times of the probes. Those of which a time is missing, or absurd, are left out
 * and named on stderr unless `quiet`. */
void pw_measure_gpu_facts(const pw_probe_list *list, double spread, bool quiet, pw_model *m);
void pw_measure_gpu_end(pw_measure_gpu *g, pw_probe_list *list);

#endif
