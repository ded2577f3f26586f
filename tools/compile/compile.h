/*
 * Inside `packwright compile`: compile.c (the command line, objects), types.c (types as kernels to be), header.c
 * (the C header), cache.c (entries of a cache directory), gpu.c (what GPUs need of them).
 */
#ifndef PW_TOOLS_COMPILE_H
#define PW_TOOLS_COMPILE_H

#include "codegen/backend.h"
#include "tools/input/input.h"

#include <string.h>

/* One type of the input, ready for a code generator. */
typedef struct pw_aot_type {
    int64_t item;     /* its place in the input */
    const char *name; /* a C identifier; "" when the input gives none */
    pw_type type;     /* the canonical type */
    pw_nest *nest;
    pw_shape *shape;
    pw_kernel_args args;
    const char *pack, *unpack; /* the names of its functions */
} pw_aot_type;

typedef struct pw_aot_types {
    pw_arena *arena;
    pw_aot_type *at;
    int64_t n;
} pw_aot_types;

/* How the names in the output are made. */
typedef struct pw_aot_names {
    const char *prefix; /* before every identifier */
    const char *only;   /* the name of --name, for an input with one type; else NULL */
} pw_aot_names;

/*
 * Loads all types of the input, and reports errors. If `names` is NULL, types need no names, and shapes are those that
 * a run looks up in the cache. Otherwise every type must have a name of its own, and all numbers are baked into the
 * shapes. The caller must call pw_aot_types_free even after a failure.
 */
pw_status pw_aot_types_load(const pw_input *input, const pw_aot_names *names, pw_aot_types *out);
void pw_aot_types_free(pw_aot_types *types);

/* Returns the header's text, malloc'ed. NULL: out of memory. `path` is where the header will be, for its include guard.
 */
char *pw_aot_header(const pw_input *input, const pw_aot_types *types, const pw_aot_names *names,
                    const pw_target *target, const char *path);

/* ---- cache entries ----------------------------------------------------------------------------------------------- */

enum { PW_AOT_CPUS = 16, PW_AOT_GPUS = 16 };

/* Writes cache entries for all types and these targets, CPUs and GPUs, into `dir`, and lists them on stdout. Reports
 * errors. If a target's compiler is missing or does not know the target, nothing is written. */
pw_status pw_aot_fill_cache(const pw_input *input, const pw_aot_types *types, const pw_target *targets, int ntargets,
                            const char *dir);

static inline bool pw_aot_is_gpu(const pw_target *target)
{
    return strcmp(target->arch, "nvptx64") == 0;
}

/* Returns why this type would get no kernel on a GPU. NULL: it would get one. */
const char *pw_aot_gpu_needs_none(const pw_aot_type *t);

/* What a run asks for on every GPU, whatever types it commits: the modules that serve all layouts, tier 0 first, and
 * the predefined pairs with a hole, which programs need not commit. */
enum { PW_AOT_GPU_MODULES = 2 };
typedef struct pw_aot_gpu {
    const char *labels[PW_AOT_GPU_MODULES];
    pw_shape *modules[PW_AOT_GPU_MODULES];
    pw_input *pairs;
    pw_aot_types pair_types;
} pw_aot_gpu;

/* Loads it, and reports errors. The caller must call pw_aot_gpu_free even after a failure. */
pw_status pw_aot_gpu_load(pw_aot_gpu *out);
void pw_aot_gpu_free(pw_aot_gpu *gpu);

#endif
