/*
 * Whether the MPI below takes GPU memory: PACKWRIGHT_GPU_AWARE if it is set, else what the MPI and variables of known
 * MPIs say. Found out once, when the first buffer in GPU memory comes by.
 */
#include "runtime/mpi/strategy/aware.h"

#include "base/env.h"
#include "base/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

enum { CHOICE_AUTO, CHOICE_NO, CHOICE_YES }; /* in the order of PACKWRIGHT_GPU_AWARE's values */

static bool aware;

static bool is_on(const char *variable)
{
    const char *value = pw_env_foreign(variable);

    return value && strcmp(value, "0") != 0 && *value;
}

/* The MPI is asked when its calls are in use, so it is visible by then (pw_locate_mpi). */
static bool ask_mpi(void)
{
    int (*query)(void);

    *(void **)&query = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    return (query && query() == 1) || is_on("MPICH_GPU_SUPPORT_ENABLED") || is_on("MV2_USE_CUDA");
}

static void find_out(void)
{
    int choice = pw_env_choice(PW_ENV_GPU_AWARE);

    aware = choice == CHOICE_YES || (choice == CHOICE_AUTO && ask_mpi());
    pw_log(PW_LOG_INFO, "the MPI below %s buffers in GPU memory", aware ? "takes" : "does not take");
}

bool pw_gpu_mpi_is_aware(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_out);
    return aware;
}
