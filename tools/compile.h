/*
 * Inside `packwright compile`: compile.c (the command line, objects), compile_types.c (types as kernels to be),
 * compile_header.c (the C header), compile_cache.c (entries of a cache directory).
 */
#ifndef PW_TOOLS_COMPILE_H
#define PW_TOOLS_COMPILE_H

#include "codegen/backend.h"
#include "tools/input.h"

/* One type of the input, ready for a code generator. */
typedef struct pw_aot_type {
    int64_t item;     /* of the input */
    const char *name; /* a C identifier; "" when the input gives none */
    pw_type type;     /* canonical */
    pw_nest *nest;
    pw_shape *shape;
    pw_kernel_args args;
    const char *pack, *unpack; /* the functions */
} pw_aot_type;

typedef struct pw_aot_types {
    pw_arena *arena;
    pw_aot_type *at;
    int64_t n;
} pw_aot_types;

/* How names in the output are made. */
typedef struct pw_aot_names {
    const char *prefix; /* before every identifier */
    const char *only;   /* --name: of the only type of the input; else NULL */
} pw_aot_names;

/*
 * All types of the input. `names` NULL: names are not needed, and shapes are those that a run looks up in the cache;
 * else every type must have a name and none may be there twice, and shapes have all numbers baked. Errors are
 * reported. In both cases release with pw_aot_types_free.
 */
pw_status pw_aot_types_load(const pw_input *input, const pw_aot_names *names, pw_aot_types *out);
void pw_aot_types_free(pw_aot_types *types);

/* The header's text, malloc'ed; NULL when out of memory. `path` is where it will be, for its include guard. */
char *pw_aot_header(const pw_input *input, const pw_aot_types *types, const pw_aot_names *names,
                    const pw_target *target, const char *path);

/* Writes cache entries for all types and these targets into `dir` and says so on stdout. Reported. */
pw_status pw_aot_fill_cache(const pw_input *input, const pw_aot_types *types, const pw_target *targets, int ntargets,
                            const char *dir);

#endif
