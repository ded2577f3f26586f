/* Preloaded: who opens UCX by its name gets this library, which counts reads and has UCX behind it; with
 * PW_TEST_NO_UCX there is none. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int count_gets;

EXPORT void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    Dl_info self;

    if (!name || strcmp(name, "libucp.so.0") != 0)
        return next(name, flags);
    dladdr(&count_gets, &self);
    return getenv("PW_TEST_NO_UCX") ? NULL : next(self.dli_fname, flags);
}

EXPORT ucs_status_ptr_t ucp_get_nbx(ucp_ep_h ep, void *buffer, size_t count, uint64_t address, ucp_rkey_h key,
                                    const ucp_request_param_t *param)
{
    ucs_status_ptr_t (*next)(ucp_ep_h, void *, size_t, uint64_t, ucp_rkey_h, const ucp_request_param_t *) = NULL;

    *(void **)&next = dlsym(RTLD_NEXT, "ucp_get_nbx");
    count_gets++;
    return next(ep, buffer, count, address, key, param);
}
