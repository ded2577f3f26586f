/*
 * The state that the runtime keeps for each GPU context: its limits, its pools (pool.h) and modules (code.h).
 *
 * The runtime works on a buffer in the context that owns it. Memory from the driver's pools or its virtual memory calls
 * belongs to no context: the runtime then uses the caller's context if that is on the same GPU, else the GPU's primary
 * context, which it retains. A context is identified by its address and the driver's number for it, where the driver
 * gives one: after cudaDeviceReset a new context may have the address of an old one.
 */
#ifndef PW_RUNTIME_GPU_DEVICE_H
#define PW_RUNTIME_GPU_DEVICE_H

#include "codegen/nvrtc/launch.h"
#include "runtime/engine/gpu/driver.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct pw_gpu {
    void *context;
    unsigned long long id; /* 0: the driver has no numbers */
    int ordinal;
    _Atomic bool primary;   /* the runtime retains it as its GPU's primary context */
    _Atomic bool lost;      /* the context no longer works, which was logged once */
    _Atomic bool graphless; /* the driver has refused a graph (graph.h) */
    _Atomic bool fuseless;  /* the driver has refused several transfers in one launch (batch.c) */
    pw_gpu_device limits;
    int major, minor;
    struct pw_gpu_pool *pool;
    struct pw_gpu_code *code;
    pthread_mutex_t lock; /* guards modules */
    struct pw_gpu_module *modules;
    _Atomic(const struct pw_gpu_functions *) fused; /* functions of the fused kernel, once known (code.h) */
} pw_gpu;

/* Returns the state of a context and makes it at first use. NULL: memory is short, or there are too many contexts.
 * Takes no lock for a known context. */
pw_gpu *pw_gpu_get(void *context, int ordinal);
/* Returns the state for memory on GPU `ordinal` that belongs to no context. NULL: no memory, or too many contexts. */
pw_gpu *pw_gpu_get_primary(int ordinal);

/* Whether the context still exists and no call has found it broken. */
bool pw_gpu_is_alive(const pw_gpu *gpu);

/* Whether pw_gpu_enter has pushed a context that the block has to pop. */
typedef struct pw_gpu_scope {
    bool pushed;
} pw_gpu_scope;

/* Declares a scope. A context that is entered in it stays current for this thread to the end of the block, however that
 * is left. Scopes nest. */
#define PW_GPU_SCOPE(name) __attribute__((cleanup(pw_gpu_leave))) pw_gpu_scope name = {.pushed = false}

/* Makes a context current, around calls of the driver. */
pw_status pw_gpu_enter(const pw_gpu *gpu, pw_gpu_scope *scope);
/* What the end of the block does; to be called where a context must not be current until then. */
void pw_gpu_leave(pw_gpu_scope *scope);

/* Registers host memory with the driver, so that kernels of every GPU reach it at *device. `read_only`: this process
 * may only read it. The context must be current, also to end that. PW_ERR_NOT_FOUND: the driver cannot. */
pw_status pw_gpu_register(void *memory, size_t bytes, bool read_only, pw_cu_ptr *device);
void pw_gpu_unregister(void *memory);

/* Returns `status`. For a failure other than PW_ERR_NOMEM it tests whether the context still works; if not, it marks
 * the context as lost and logs one warning. */
pw_status pw_gpu_judge(pw_gpu *gpu, pw_status status);

/*
 * Something that another file keeps for contexts, in a variable of its own. `close` is called for each context that
 * ends, after the context's pools are gone. With `driver` the context is current, and the function also releases what
 * the driver holds for it; without it the context has ended already, and only this process's own memory is freed.
 */
typedef struct pw_gpu_dependent {
    void (*close)(const pw_gpu *gpu, bool driver);
    struct pw_gpu_dependent *next;
    _Atomic bool known;
} pw_gpu_dependent;

/* Registers a dependent, which must live as long as the process. Thread safe; only the first call does anything. */
void pw_gpu_depend(pw_gpu_dependent *dependent);

/* Releases the state of all contexts; memory of a context that the driver has ended is forgotten. No transfer may be
 * under way, and the engines whose layouts have been in GPU memory must have ended. */
void pw_gpu_close(void);

#endif
