/*
 * Purpose: finds the calls of the CUDA driver that the program has loaded; this library never loads one. Data: `pw_cu`,
 * the table of these calls. Invariant: the table is filled once, under the lock, and is whole before `found` is set;
 * whoever has seen pw_cu_find return true reads it without a lock.
 */
#include "runtime/engine/gpu/driver.h"

#include "base/lock.h"
#include "base/log.h"

#include <dlfcn.h>
#include <stdatomic.h>

pw_cu_calls pw_cu;

static _Atomic bool found;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool find_calls(void *lib)
{
    pw_cu_calls calls;

#define X(field, symbol, args)                                                                               \
    *(void **)&calls.field = dlsym(lib, symbol);                                                             \
    if (!calls.field) {                                                                                      \
        pw_warn_once("the CUDA driver of this process has no " symbol ": buffers on a GPU are left to MPI"); \
        return false;                                                                                        \
    }
    PW_CU_CALLS(X)
#undef X
#define X(field, symbol, args) *(void **)&calls.field = dlsym(lib, symbol);
    PW_CU_OPTIONAL_CALLS(X)
#undef X
    pw_cu = calls;
    return true;
}

/* The program may have loaded the driver since the last look. */
static bool look(void)
{
    PW_HOLD(&lock);
    void *lib = found ? NULL : dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);

    if (lib)
        atomic_store_explicit(&found, find_calls(lib), memory_order_release);
    return found;
}

bool pw_cu_find(void)
{
    return atomic_load_explicit(&found, memory_order_acquire) || look();
}

bool pw_cu_sleeps(void)
{
    void *context;

    return pw_cu.context_current(&context) == PW_CU_NOT_INITIALIZED;
}

pw_status pw_cu_check(int result, const char *call)
{
    const char *name = NULL;

    if (result == PW_CU_OK)
        return PW_OK;
    pw_cu.error_name(result, &name);
    pw_log(PW_LOG_INFO, "%s: %s (%d)", call, name ? name : "an unknown error", result);
    return result == PW_CU_NO_MEMORY ? PW_ERR_NOMEM : PW_ERR_IO;
}
