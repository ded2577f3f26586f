/* Preloaded: counts reads of whichever UCX the process has, since some MPIs bring their own, and refuses to register
 * memory while a test says so; with PW_TEST_NO_UCX the network's library cannot be loaded. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int count_gets, refuse_maps;

EXPORT void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");

    return name && strstr(name, "libpackwright-net.so") && getenv("PW_TEST_NO_UCX") ? NULL : next(name, flags);
}

static void *next_of(const char *name)
{
    return dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), name);
}

EXPORT ucs_status_ptr_t ucp_get_nbx(ucp_ep_h ep, void *buffer, size_t count, uint64_t address, ucp_rkey_h key,
                                    const ucp_request_param_t *param)
{
    ucs_status_ptr_t (*next)(ucp_ep_h, void *, size_t, uint64_t, ucp_rkey_h, const ucp_request_param_t *) = NULL;

    *(void **)&next = next_of("ucp_get_nbx");
    count_gets++;
    return next(ep, buffer, count, address, key, param);
}

EXPORT ucs_status_t ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params, ucp_mem_h *out)
{
    ucs_status_t (*next)(ucp_context_h, const ucp_mem_map_params_t *, ucp_mem_h *) = NULL;

    *(void **)&next = next_of("ucp_mem_map");
    return refuse_maps ? UCS_ERR_NO_MEMORY : next(context, params, out);
}
