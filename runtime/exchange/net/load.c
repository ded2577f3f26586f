/*
 * Purpose: finds the network's library. Data: its functions, set once under the lock. Invariant: it is not looked for
 * unless PACKWRIGHT_NET asks for it.
 */
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "codegen/backend.h"
#include "runtime/exchange/net/net.h"

#include <dlfcn.h>
#include <limits.h>

const pw_net_functions *pw_net;

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    bool tried;
} start = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns why there is no network, or NULL. */
static const char *load(const pw_net_functions **out)
{
    char path[PATH_MAX];
    void *library;

    if (pw_env_choice(PW_ENV_NET) == 0)
        return "it is off";
    if (!pw_backend_find("libpackwright-net.so", path))
        return "there is no libpackwright-net.so, which a build with UCX (libucx-dev) has";
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();

        return why ? why : "libpackwright-net.so cannot be loaded";
    }
    *out = dlsym(library, PW_NET_ENTRY);
    return *out ? (*out)->open() : "libpackwright-net.so is of another version";
}

bool pw_net_start(void)
{
    const pw_net_functions *functions = NULL;
    const char *why;
    PW_HOLD(&start.lock);

    if (!start.tried) {
        start.tried = true;
        why = load(&functions);
        if (why)
            pw_log(PW_LOG_WARN, "PACKWRIGHT_NET: no network: %s", why);
        else
            pw_net = functions;
    }
    return pw_net;
}

void pw_net_stop(void)
{
    pthread_mutex_lock(&start.lock);
    if (pw_net)
        pw_net->close();
    pw_net = NULL;
    start.tried = false;
    pthread_mutex_unlock(&start.lock);
}
