/*
 * Compiling kernels in tests, and comparing them with pw_walk. A difference ends the test with the type, the
 * shape, the target and `label`.
 */
#ifndef PW_TESTS_CODEGEN_LLVM_KERNELS_H
#define PW_TESTS_CODEGEN_LLVM_KERNELS_H

#include "codegen/backend.h"
#include "passes/passes.h"
#include "tests/support/rng.h"

/* Compiled kernels by shape and target, so that types of equal shape share a kernel, as in the runtime. */
typedef struct kernel {
    pw_hash shape, target;
    void *handle;
    pw_kernel_fn *pack, *unpack;
} kernel;

typedef struct kernels {
    const pw_backend *backend;
    kernel *list;
    int n, cap, compiled;
} kernels;

void kernels_init(kernels *k);
void kernels_free(kernels *k);

/* Returns the kernel of a shape. The test fails with `label` if it cannot be compiled. */
const kernel *kernels_get(kernels *k, const pw_shape *shape, const pw_target *target, const char *label);

/* Maps a linked blob into the process. A failure fails the test. */
void *load_blob(const pw_blob *blob);

/*
 * Canonicalises and lowers `type`, compiles it (or takes the kernel of an equal shape) and runs pack and unpack
 * on `count` objects. Buffers end at, then begin at, a page that cannot be touched, so that any access beyond
 * the layout's own pages is fatal; what lies between data and page is compared, too. Types that overlap
 * themselves are only packed.
 */
void check_kernel(kernels *k, const pw_type *type, int64_t count, const pw_target *target, uint64_t seed,
                  const char *label);

/* Does the same for ahead-of-time code: everything is baked in, and functions have three arguments. */
void check_embedded(kernels *k, const pw_type *type, int64_t count, const pw_target *target, uint64_t seed,
                    const char *label);

#endif
