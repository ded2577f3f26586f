/*
 * The parts of `packwright measure`: what one process measures of its machine. Each part adds its probes to a list.
 * What they need is made when they first run, and released at the part's end.
 */
#ifndef PW_TOOLS_MEASURE_NODE_H
#define PW_TOOLS_MEASURE_NODE_H

#include "tools/measure/probe.h"

#include <packwright/packwright.h>

struct pw_gpu;
struct pw_layout_engine;

/* The sizes and block lengths that are measured. */
extern const pw_axis pw_measure_bytes, pw_measure_blocks;

/* Returns the layout that probes move: blocks of `block` bytes, one every `every` lengths, `bytes` in all. NULL: it
 * cannot be made. */
packwright_type *pw_measure_type(int64_t bytes, int64_t block, int every);

/* The distance from block to block, in lengths: near and far, in the order of the tables. */
enum { PW_MEASURE_NEAR, PW_MEASURE_FAR, PW_MEASURE_SPREADS };
extern const int pw_measure_every[PW_MEASURE_SPREADS];

/* ---- CPU kernels ------------------------------------------------------------------------------------------------ */

typedef struct pw_measure_cpu {
    char *memory, *packed;
    int64_t memory_bytes, packed_bytes;
} pw_measure_cpu;

/* Adds the probes of CPU kernels, which are compiled at once or loaded from the disk cache. */
pw_status pw_measure_cpu_begin(pw_measure_cpu *c, pw_probe_list *list);
void pw_measure_cpu_end(pw_measure_cpu *c, pw_probe_list *list);

/* ---- the GPU ----------------------------------------------------------------------------------------------------- */

typedef struct pw_measure_gpu {
    struct pw_layout_engine *engine;
    struct pw_gpu *gpu;
    struct pw_gpu_block *memory, *packed, *pinned;
    struct pw_gpu *other;        /* a second GPU, which the first one can read; NULL: none */
    struct pw_gpu_block *across; /* of the second GPU, or of the only one; NULL: none has been found */
    bool tried;                  /* these two have been looked for */
    char name[96];
} pw_measure_gpu;

/* Loads the CUDA driver into this process, for the runtime to find. PW_ERR_NOT_FOUND, with the reason: there is no GPU.
 */
pw_status pw_measure_gpu_load(pw_diag *diag);

/* Loads the driver and takes the first GPU. PW_ERR_NOT_FOUND, with the reason: there is none. */
pw_status pw_measure_gpu_begin(pw_measure_gpu *g, pw_diag *diag);
/* Adds probes of kernels with their copies, for every memory but HOST, and of copies alone. */
void pw_measure_gpu_add_moves(pw_measure_gpu *g, pw_probe_list *list, const pw_axis *sizes, const pw_axis *lengths);
void pw_measure_gpu_add_copies(pw_measure_gpu *g, pw_probe_list *list);
/* Adds probes of the kernel that moves a message from the memory of another GPU. On a machine with one GPU that is its
 * own memory, as for two ranks that share it. There are none where the first GPU does not reach the second one, and
 * where the machine has more GPUs than this process sees. */
void pw_measure_gpu_add_across(pw_measure_gpu *g, pw_probe_list *list);
/* Returns the table of a move. */
pw_model_table_id pw_measure_gpu_table(pw_model_memory memory, pw_direction direction, int spread);
void pw_measure_gpu_end(pw_measure_gpu *g, pw_probe_list *list);

#endif
