/*
 * A layout: a datatype as the runtime uses it - canonical type, nest, shape, arguments and kernel - and
 * the choice of tier at every call. Knows nothing of MPI; the bench and the tools use it too.
 *
 * Layouts are memoised: equal types (also when built by different constructors) get the same layout, with
 * a reference count. Those without references are kept for a while, since programs free a type and make
 * it again. A layout may be used by any number of threads.
 */
#ifndef PW_RUNTIME_LAYOUT_H
#define PW_RUNTIME_LAYOUT_H

#include "codegen/interp/interp.h"
#include "ir/ir.h"
#include "jit-cache/cache.h"

/* packwright_jit, when it is known what its default stands for; in the order of PACKWRIGHT_JIT's words. */
typedef enum pw_jit_mode {
    PW_JIT_SYNC = PACKWRIGHT_JIT_SYNC,
    PW_JIT_ASYNC = PACKWRIGHT_JIT_ASYNC,
    PW_JIT_OFF = PACKWRIGHT_JIT_OFF
} pw_jit_mode;

/* Returns what PACKWRIGHT_JIT says. */
pw_jit_mode pw_jit_mode_from_env(void);

typedef struct pw_layout_stats {
    _Atomic int64_t packs, unpacks;     /* calls */
    _Atomic int64_t bytes, nanoseconds; /* nanoseconds only when statistics are on */
    _Atomic int64_t tier1_calls;
    _Atomic int64_t streamed; /* packs of messages that bypassed the caches (runtime/engine/memory/outbound.h) */
    _Atomic int64_t shared;   /* messages unpacked from the sender's memory (runtime/engine/node/inbound.h) */
    _Atomic int64_t from_gpu; /* of these, from its GPU's (runtime/engine/gpu/peer/opened.h) */
} pw_layout_stats;

/* What runtime/engine/gpu keeps for a layout; begins with what ends it. */
typedef struct pw_layout_gpu {
    void (*free)(struct pw_layout_gpu *gpu);
} pw_layout_gpu;

typedef struct pw_layout {
    const pw_nest *nest;
    const pw_type *type; /* canonical; NULL unless uses are counted, since only then somebody asks for it */
    pw_shape *shape;
    pw_kernel_args args;
    pw_kernel *kernel; /* NULL: tier 0 for good */
    bool contiguous;   /* any count is one memcpy */
    int64_t size, extent;
    int64_t blocks; /* contiguous ones of one object */
    pw_layout_stats stats;
    struct pw_layout_engine *engine;
    _Atomic(pw_layout_gpu *) gpu; /* NULL until the layout is used on a GPU */
    _Atomic int64_t refs;
    pw_hash hash; /* of the canonical type */
} pw_layout;

/* The table of layouts with the kernel cache behind it. One per process in the interposer; tests make more. */
typedef struct pw_layout_engine pw_layout_engine;

typedef struct pw_layout_config {
    pw_jit_mode mode;
    int64_t hot_bytes; /* 0: the measured break-even */
    bool counted;      /* keep statistics of use */
    bool timed;        /* and nanoseconds in them */
    pw_cache_config cache;
    /* Where pw_layout_config_from_env puts what cache.dir and cache.target point to; a copy of the struct still
     * points into the original. */
    char dir[4096];
    pw_target target;
} pw_layout_config;

/* Whether the program's end tells of every type (PACKWRIGHT_STATS, _TRACE): then none may be served uncounted. */
bool pw_layout_use_is_told(void);
/* From the environment: PACKWRIGHT_JIT, _CACHE, _CACHE_DIR, _CACHE_SIZE, _HOT_BYTES, _STATS, _TARGET_CPU, _DUMP. */
void pw_layout_config_from_env(pw_layout_config *config);
pw_status pw_layout_engine_create(const pw_layout_config *config, pw_layout_engine **out);
/* All layouts must have been released. NULL is allowed. */
void pw_layout_engine_destroy(pw_layout_engine *engine);
pw_cache *pw_layout_engine_cache(pw_layout_engine *engine);
/* Around fork(), in both processes: no other thread is changing the table meanwhile, so that the child can use it. */
void pw_layout_engine_pause(pw_layout_engine *engine);
void pw_layout_engine_resume(pw_layout_engine *engine);

/*
 * The layout of a type as a frontend made it; takes a reference. `raw` may be freed afterwards. Types are told
 * apart by their 128-bit hash alone. On PW_ERR_UNSUPPORTED leave the type to MPI. In sync mode the kernel is ready,
 * or cannot be had, on return.
 */
pw_status pw_layout_get(pw_layout_engine *engine, const pw_type *raw, pw_layout **out, pw_diag *diag);
pw_layout *pw_layout_ref(pw_layout *layout);
void pw_layout_unref(pw_layout *layout); /* NULL is allowed */

/* `count` objects at `mem` to or from `packed` (count * size bytes). Kernel if ready, else tier 0. */
void pw_layout_pack(pw_layout *layout, const void *mem, int64_t count, void *packed);
void pw_layout_unpack(pw_layout *layout, void *mem, int64_t count, const void *packed);

/* Bytes [first, last) of the packed objects whose first is at `mem`, 0 <= first; `packed` points to byte `first` (a
 * message shorter than what was posted, or a piece of one): whole objects by kernel, the rest at tier 0. */
void pw_layout_pack_part(pw_layout *layout, const void *mem, int64_t first, int64_t last, void *packed);
void pw_layout_unpack_part(pw_layout *layout, void *mem, int64_t first, int64_t last, const void *packed);

/* Calls fn for every layout that the engine knows, unreferenced ones included, in order of creation. fn must not call
 * back into the engine. */
void pw_layout_each(pw_layout_engine *engine, void (*fn)(void *arg, const pw_layout *layout), void *arg);

#endif
