/* Preloaded: counts reads of whichever UCX the process has, since some MPIs bring their own; with PW_TEST_NO_UCX the
 * network's library cannot be loaded. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int count_gets;

EXPORT void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");

    return name && strstr(name, "libpackwright-net.so") && getenv("PW_TEST_NO_UCX") ? NULL : next(name, flags);
}

EXPORT ucs_status_ptr_t ucp_get_nbx(ucp_ep_h ep, void *buffer, size_t count, uint64_t address, ucp_rkey_h key,
                                    const ucp_request_param_t *param)
{
    ucs_status_ptr_t (*next)(ucp_ep_h, void *, size_t, uint64_t, ucp_rkey_h, const ucp_request_param_t *) = NULL;
    void *ucx = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);

    *(void **)&next = dlsym(ucx, "ucp_get_nbx");
    count_gets++;
    return next(ep, buffer, count, address, key, param);
}
