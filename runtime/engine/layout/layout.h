/*
 * A layout: a datatype as the runtime uses it - nest, shape, arguments and kernel - and the choice of tier at every
 * call. Knows nothing of MPI; the bench and the tools use it too.
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
    _Atomic int64_t bytes, nanoseconds; /* `nanoseconds` counts only when statistics are on */
    _Atomic int64_t tier1_calls;
    _Atomic int64_t shared;   /* messages unpacked from the sender's memory (runtime/exchange/inbound.h) */
    _Atomic int64_t from_gpu; /* of these, from its GPU's (runtime/exchange/gpu/opened.h) */
} pw_layout_stats;

/* The part of a layout that runtime/engine/gpu keeps. Its first field frees it. */
typedef struct pw_layout_gpu {
    void (*free)(struct pw_layout_gpu *gpu);
} pw_layout_gpu;

typedef struct pw_layout {
    /* What short moves read is in one cache line: */
    pw_kernel_args args;
    pw_kernel *kernel;    /* NULL: the layout never gets a kernel and stays with tier 0 */
    bool parts;           /* the kernel moves parts of an object, too (part.c) */
    bool contiguous;      /* any number of objects is one memcpy */
    _Atomic int32_t refs; /* users; without any it is parked (memo.c) */
    int64_t at_once[2];   /* by direction: as many objects are moved by one call of the kernel, or one memcpy */
    int64_t size;
    int64_t lo; /* where the first byte of an object lies */

    const pw_nest *nest;
    pw_shape *shape;
    int64_t extent;
    int64_t apart;  /* more objects than these write on each other when they are unpacked */
    int64_t blocks; /* contiguous blocks of one object */
    pw_layout_stats stats;
    struct pw_layout_engine *engine;
    _Atomic(pw_layout_gpu *) gpu; /* NULL until the layout is used on a GPU */
    pw_hash hash;                 /* of the canonical type */
    void *owner;                  /* what the engine's user keeps of it; the engine only sets it to NULL */
} pw_layout;

/* The table of layouts with the kernel cache behind it. One per process in the interposer; tests make more. */
typedef struct pw_layout_engine pw_layout_engine;

typedef struct pw_layout_config {
    pw_jit_mode mode;
    int64_t hot_bytes; /* moved before a kernel is compiled; 0: 4 MiB */
    bool counted;      /* count uses for statistics */
    bool timed;        /* count nanoseconds, too */
    pw_cache_config cache;
    /* Where pw_layout_config_from_env puts what cache.dir, cache.system and cache.target point to; a copy of the struct
     * still points into the original. */
    char dir[4096], system[4096];
    pw_target target;
} pw_layout_config;

/* Returns whether statistics or a trace report every type at the program's end (PACKWRIGHT_STATS, _REPORT, _TRACE).
 * Then no use may go uncounted. */
bool pw_layout_use_is_reported(void);
/* Fills in the configuration from the environment: PACKWRIGHT_JIT, _CACHE, _CACHE_DIR, _CACHE_SIZE, _HOT_BYTES, _STATS,
 * _REPORT, _TARGET_CPU, _DUMP. */
void pw_layout_config_from_env(pw_layout_config *config);
pw_status pw_layout_engine_create(const pw_layout_config *config, pw_layout_engine **out);
/* All layouts must have been released. NULL is allowed. */
void pw_layout_engine_destroy(pw_layout_engine *engine);
/* Ends the engine's threads: no kernel is compiled any more, except in sync mode. NULL is allowed. */
void pw_layout_engine_stop(pw_layout_engine *engine);
/* Called around fork(), in both processes: in between no other thread changes the table, and the child can use it. */
void pw_layout_engine_pause(pw_layout_engine *engine);
void pw_layout_engine_resume(pw_layout_engine *engine);

/*
 * Returns the layout of a type as a frontend made it, with a reference. `raw` may be freed afterwards. Types are
 * distinguished by their 128-bit hash alone. PW_ERR_UNSUPPORTED: the compiler cannot handle the type, and the caller
 * leaves it to MPI. In sync mode the kernel is ready on return, unless compiling has failed.
 */
pw_status pw_layout_get(pw_layout_engine *engine, const pw_type *raw, pw_layout **out, pw_diag *diag);
/* Returns the layout of the canonical type with this hash, with a reference. NULL: the engine has none. */
pw_layout *pw_layout_known(pw_layout_engine *engine, pw_hash hash);
pw_layout *pw_layout_ref(pw_layout *layout);
void pw_layout_unref(pw_layout *layout); /* NULL is allowed */

/* Move `count` objects at `mem` to or from `packed` (count * size bytes), by the kernel if ready, else by tier 0. */
void pw_layout_pack(pw_layout *layout, const void *mem, int64_t count, void *packed);
void pw_layout_unpack(pw_layout *layout, void *mem, int64_t count, const void *packed);

/* Move bytes [first, last) of packed objects, the first of which is at `mem`, 0 <= first. `packed` points to byte
 * `first`. They serve messages that are shorter than what was posted, and pieces of messages, in any order. The kernel
 * moves whole objects, and as much of a cut object as it can (part.c); tier 0 moves the rest. */
void pw_layout_pack_part(pw_layout *layout, const void *mem, int64_t first, int64_t last, void *packed);
void pw_layout_unpack_part(pw_layout *layout, void *mem, int64_t first, int64_t last, const void *packed);

/* Messages of this layout's shape have moved `bytes` bytes in all, also by other means than the kernel, which counts as
 * if tier 0 had moved them: the asynchronous mode asks for the kernel that this many bytes are worth. */
void pw_layout_expect_bytes(pw_layout *layout, int64_t bytes);

/* Loads or compiles the layout's kernel in this thread, in any mode but `off`: on return it is ready, or cannot be had.
 * For callers that know that the layout will be used. Joined layouts, too. */
void pw_layout_make_kernel(pw_layout *layout);

/*
 * Two layouts joined (ir/join.h): a layout that moves from memory to memory, by the same tiers and the same cache. Its
 * packed side is the other memory. A pair has one joined layout for both directions, found by a hash of both hashes,
 * whatever the counts are; with `backwards` the copy is an unpack.
 */
typedef struct pw_joined {
    pw_layout *layout;
    bool backwards;
    pw_layout *from,
        *to; /* the two, without references: a copy counts as a pack of the one and an unpack of the other */
} pw_joined;

/* Takes a reference (pw_layout_unref(out->layout)). Both must be of one engine. PW_ERR_UNSUPPORTED: they fit in too
 * many pieces, or one moves no byte; pack and unpack. In sync mode the kernel is ready, or cannot be had, on return. */
pw_status pw_layout_join(pw_layout *from, pw_layout *to, pw_joined *out, pw_diag *diag);
/* Whether a copy is done by the joined kernel, or by memcpy. If not, `bytes` bytes are counted towards that kernel, for
 * callers that move them by the kernels of the two layouts until it is there. */
bool pw_joined_is_ready(const pw_joined *joined, int64_t bytes);
/* As many objects of both as are `bytes` bytes, from the first one's address on each side. The bytes read and the bytes
 * written must not overlap. */
void pw_layout_copy(const pw_joined *joined, const void *from, void *to, int64_t bytes);
/* Finds the bytes from the lowest to the highest that `count` > 0 objects touch: *bytes of them, *lo from the first
 * object's address on. False: 64 bits do not hold these numbers. */
bool pw_layout_bounds(const pw_layout *layout, int64_t count, int64_t *lo, int64_t *bytes);
/* Is it certain that `bytes` bytes of each side are different bytes, even if the two alternate in one array? A side
 * without a layout is contiguous bytes. Layouts of lists are told apart by their bounds only. */
bool pw_layout_are_disjoint(const pw_layout *a, const void *a_mem, const pw_layout *b, const void *b_mem,
                            int64_t bytes);

/* Makes the canonical type of a layout that is not joined, in `arena`. */
pw_status pw_layout_raise(const pw_layout *layout, pw_arena *arena, pw_type *out);
/* The text of the canonical type (ir/ir.h). malloc'ed; NULL: out of memory. Must not be called with a joined layout. */
char *pw_layout_text(const pw_layout *layout);
/* Returns the layout that a text of the IR describes, with a reference. NULL: it describes none, or memory is short. */
pw_layout *pw_layout_of_text(pw_layout_engine *engine, const char *text);

#endif
