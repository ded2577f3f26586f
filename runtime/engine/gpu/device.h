/*
 * The state that the runtime keeps for each GPU context: its limits, its pools (pool.h) and modules (code.h).
 *
 * A buffer is worked on in the context that it belongs to; memory that belongs to none (of a pool, or mapped through
 * the virtual memory calls) in the caller's if that is on the same GPU, else in the GPU's primary context, which is
 * then retained. Contexts are told apart by their driver's number, too, where it gives one: after cudaDeviceReset a new
 * one may have the address of the old.
 */
#ifndef PW_RUNTIME_GPU_DEVICE_H
#define PW_RUNTIME_GPU_DEVICE_H

#include "codegen/nvrtc/launch.h"
#include "runtime/engine/gpu/driver.h"

#include <pthread.h>
#include <stdatomic.h>

struct pw_gpu_pool;
struct pw_gpu_code;
struct pw_gpu_module;
struct pw_gpu_functions;

typedef struct pw_gpu {
    void *context;
    unsigned long long id; /* 0: the driver has no numbers */
    int ordinal;
    _Atomic bool primary;   /* retained by us */
    _Atomic bool lost;      /* a call failed in a way that cannot be recovered from; said so once */
    _Atomic bool graphless; /* the driver has refused a graph (graph.h) */
    _Atomic bool fuseless;  /* it has refused several transfers in one launch (batch.c) */
    pw_gpu_device limits;
    int major, minor;
    struct pw_gpu_pool *pool;
    struct pw_gpu_code *code;
    pthread_mutex_t lock; /* guards modules */
    struct pw_gpu_module *modules;
    _Atomic(const struct pw_gpu_functions *) fused; /* of modules, once they are known (code.h) */
} pw_gpu;

/* The state of a context, made when it is new. NULL: it cannot be had. Lock-free when it is known. */
pw_gpu *pw_gpu_get(void *context, int ordinal);
/* The state for memory on GPU `ordinal` that belongs to no context. */
pw_gpu *pw_gpu_get_primary(int ordinal);

/* Does the context still exist, and work as far as is known? */
bool pw_gpu_is_alive(const pw_gpu *gpu);

/* Makes the context current for this thread, around calls of the driver. Nests. On failure there is nothing to leave.
 */
typedef struct pw_gpu_scope {
    bool pushed;
} pw_gpu_scope;

pw_status pw_gpu_enter(const pw_gpu *gpu, pw_gpu_scope *scope);
void pw_gpu_leave(pw_gpu_scope *scope);

/* Passes `status` on. After a failure that was not one of memory, finds out whether the context still works, and gives
 * it up with one warning when it does not. */
pw_status pw_gpu_judge(pw_gpu *gpu, pw_status status);

/*
 * Something that another file keeps for contexts, in a variable of its own. `close` is called for each context that
 * ends, after the context's pools are gone. With `driver` the context is current, and the driver is to be told; without
 * it the context has ended already, and only this process's own memory is freed.
 */
typedef struct pw_gpu_dependent {
    void (*close)(const pw_gpu *gpu, bool driver);
    struct pw_gpu_dependent *next;
    _Atomic bool known;
} pw_gpu_dependent;

/* Registers a dependent, which must live as long as the process. Thread safe; only the first call does anything. */
void pw_gpu_depend(pw_gpu_dependent *dependent);

/* Releases everything, as far as the driver still lets us. No transfer may be under way. */
void pw_gpu_close(void);

#endif
