/*
 * GPU tier 0: parametric kernels that run any layout of their forms at once, while specialised ones are compiled. They
 * are the kernels of five fixed shapes in which nothing is baked: strided, in words of 4, 8 and 16 bytes or in bytes
 * (five loops, one of which may have a table, and the objects), and lists of blocks. All are compiled in one module,
 * once for each architecture, and then come from the cache.
 *
 * A nest takes a launch for each piece of each region; nests of other forms are not for tier 0. Joined nests are, too,
 * if no region has a table on both sides, or a list. Where the one table is on the packed side, the sides change
 * places: the launch then takes the kernel of the other direction (pw_gpu_launch.swapped).
 */
#ifndef PW_CODEGEN_NVRTC_TIER0_H
#define PW_CODEGEN_NVRTC_TIER0_H

#include "codegen/backend.h"
#include "codegen/nvrtc/launch.h"

enum { PW_GPU_TIER0_KERNELS = 5, PW_GPU_TIER0_LOOPS = 5, PW_GPU_TIER0_PARAM_BYTES = 1024 };

typedef struct pw_gpu_tier0 pw_gpu_tier0;

pw_status pw_gpu_tier0_create(pw_gpu_tier0 **out, pw_diag *diag);
void pw_gpu_tier0_destroy(pw_gpu_tier0 *t); /* NULL is allowed */

/* Returns the jobs that compile all kernels, linked; they live as long as `t`. */
const pw_compile_job *pw_gpu_tier0_jobs(pw_gpu_tier0 *t, const pw_target *target, pw_emit emit);

/* What stands for a module of parametric kernels among the shapes in a cache: its name, which no nest has as its text.
 * The name is not copied. NULL: no memory. */
pw_shape *pw_gpu_shape_named(const char *name);
/* Returns the shape that stands for tier 0. */
pw_shape *pw_gpu_tier0_shape(void);
bool pw_gpu_is_tier0(const pw_shape *shape);

/* Returns how many launches the nest needs: one for each piece of each region. -1: tier 0 does not serve it. */
int pw_gpu_tier0_launches(const pw_nest *nest);

/*
 * Makes launch number i. `tables` are the device addresses of the nest's tables in the order of pw_shape_bind: for each
 * region the list's offsets and starts, then the loops' tables, outermost first; call->args is not used. `kernel` gets
 * the number of the kernel to take: jobs are in that order.
 */
pw_status pw_gpu_tier0_launch(const pw_gpu_tier0 *t, const pw_nest *nest, int i, const void *const *tables,
                              const pw_gpu_call *call, const pw_gpu_device *device, uint64_t *params, int *kernel,
                              pw_gpu_launch *out);

#endif
