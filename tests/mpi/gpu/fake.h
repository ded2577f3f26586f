/*
 * A stand-in for the CUDA driver with two GPUs, for machines without one. What a GPU would do goes wrong here, too:
 *
 *   - device memory cannot be touched by the CPU (fake_open_memory lets an MPI that is to look GPU-aware do it);
 *   - streams work behind the caller's back: a thread carries out one operation after the other, of streams taken at
 *     random, so that a missing wait or event shows;
 *   - kernels reach device memory of their own context, pinned, registered and managed memory; an address beyond that
 *     is the sticky error of a fault;
 *   - calls need the right current context.
 *
 * "Cubins" are made by the compiler module beside it (fake_nvrtc.c): they describe the regions of a plan, and a launch
 * interprets them with the parameters that it gets.
 */
#ifndef PW_TESTS_MPI_GPU_FAKE_H
#define PW_TESTS_MPI_GPU_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_ARENA ((size_t)1 << 30)

enum {
    FAKE_OK = 0,
    FAKE_INVALID = 1,
    FAKE_NO_MEMORY = 2,
    FAKE_NOT_INITIALIZED = 3,
    FAKE_NO_CONTEXT = 201,
    FAKE_MAP_FAILED = 205,
    FAKE_ALREADY_MAPPED = 208,
    FAKE_BAD_HANDLE = 400,
    FAKE_NOT_FOUND = 500,
    FAKE_NOT_READY = 600,
    FAKE_FAULT = 700,
    FAKE_REGISTERED = 712,
    FAKE_LAUNCH_FAILED = 719
};

/* ---- for tests, by dlsym ----------------------------------------------------------------------------------------- */

/* Makes the `after`-th call from now of the named function (cuMemAlloc_v2, ...), and all later ones, fail with
 * `result`. 0 ends that. */
void fake_fail(const char *call, int after, int result);
/* Returns how often a function was called. */
long fake_calls(const char *call);
/* Sets where device 1 has its memory, FAKE_ARENA bytes. Must be called before its first use. */
void fake_place(void *at);
/* Lets the CPU touch device memory. */
void fake_open_memory(bool open);
/* From now on an allocation is as one of a stream-ordered pool, which other processes cannot open. */
void fake_pool(uint64_t address);
/* From now on an allocation is another one, of this context, as if the program had freed it and got its addresses
 * there. Its bytes stay. */
void fake_hand_over(uint64_t address, void *context);
/* Counts launched kernels by the beginning of their names: "pw_t0_" for tier 0, "pw_fused_" for fused moves, otherwise
 * all others. */
long fake_launches(const char *prefix);
/* From now on an idle GPU begins to work only when so many launches have come. A caller that waits for one launch
 * before it makes the next is found out after two seconds. 0 ends that, and so does a miss. */
void fake_gather(int launches);
/* Returns how often so many launches have come since the last look, and sets how often they have not. */
int fake_gathered(int *missed);

/* From now on every launch begins so many milliseconds later than it could. */
void fake_delay(int ms);
/* The next launch runs into a fault. */
void fake_fault_at_launch(void);
/* The next launch first kills this process, and waits until it has ended. */
void fake_kill_at_launch(int pid);

/* ---- inside ------------------------------------------------------------------------------------------------------ */

typedef struct fake_context_t {
    int device;
    unsigned long long id;
    int error; /* the sticky error of the context */
} fake_context_t;

/* Counts a call. Returns false, with *result for the caller to return, if the call is to fail. */
bool fake_enter(const char *call, int *result);
/* Stands at the beginning of each such function. */
#define FAKE_ENTER()                             \
    do {                                         \
        int fake_result;                         \
        if (!fake_enter(__func__, &fake_result)) \
            return fake_result;                  \
    } while (0)
fake_context_t *fake_current(void);

/* memory.c: returns where the CPU finds `bytes` bytes at an address. NULL: code of this context may not touch them.
 * With `copy`, ordinary host memory is allowed, too. */
void *fake_reach(const fake_context_t *context, uint64_t address, size_t bytes, bool copy);

/* Device memory as other processes may open it: `bytes` bytes at `at` of a file that process `pid` has open. */
typedef struct fake_exported {
    int pid, file, device;
    uint64_t at, bytes;
} fake_exported;

/* Returns false if no memory of cuMemAlloc begins there. */
bool fake_export(uint64_t address, fake_exported *out);
/* Returns an address in the current context for the memory that the CPU finds at `shadow`. */
uint64_t fake_import(void *shadow, size_t bytes);
bool fake_forget_import(uint64_t address);

/* kernel.c */
typedef struct fake_function fake_function;
int fake_module_load(void **module, const void *image);
void fake_module_unload(void *module);
const fake_function *fake_module_find(void *module, const char *name);
enum { FAKE_PARAM_BYTES = 32768 };
typedef struct fake_launch_t {
    const fake_function *function;
    unsigned grid[3], block[3], shared;
} fake_launch_t;
/* Puts a launch into a stream, with a copy of its parameters. */
int fake_launch(const fake_launch_t *l, const void *params, size_t bytes, void *stream);
/* FAKE_OK or FAKE_FAULT. */
int fake_run(const fake_context_t *context, const fake_function *f, const uint64_t *params);
/* fused.c: runs the jobs of one launch. */
int fake_run_fused(const fake_context_t *context, bool unpack, const uint64_t *params);

/* ---- the image --------------------------------------------------------------------------------------------------- */

enum { FAKE_DIMS = 24, FAKE_NAME = 64, FAKE_MACHINE = 190 };
#define FAKE_MAGIC UINT64_C(0x6b65726e656c2121)

typedef struct fake_region {
    _Alignas(int64_t) int kind; /* the kind of region; its pieces follow those of the region before */
    int word, ndims, record, tail, npieces;
    struct {
        int role, has_table, width;
        int packed_width, packed_word; /* of the table on the packed side of a joined region; 0: there is none */
    } dims[FAKE_DIMS];
    int offs_width, starts_width, packed_offs_width;
    int first_piece; /* for baked pieces: their place in fake_kernel's list */
} fake_region;

typedef struct fake_piece {
    int64_t mem, packed, bytes;
} fake_piece;

/* Follows the ELF header. Behind it are its regions and pieces, and then the next kernel. */
typedef struct fake_kernel {
    uint64_t magic;
    char pack[FAKE_NAME], unpack[FAKE_NAME];
    int64_t nregions, npieces, bytes; /* `bytes` leads to the next kernel; 0 in the last one */
    int64_t fused;                    /* 1: the kernel is for fused moves, whose jobs describe themselves */
} fake_kernel;

#endif
