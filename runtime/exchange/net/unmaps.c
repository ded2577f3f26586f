/* OpenUCX, "UCM API": the functions are looked up in libucm.so.0, of which a process has one for all its users. It
 * cannot be loaded alone: libucs.so.0 loads it. */
#include "runtime/exchange/net/unmaps.h"

#include <dlfcn.h>
#include <stddef.h>
#include <ucm/api/ucm.h>

/* X(result type, name, parameters): what is used of UCM. */
#define UCM_FUNCTIONS(X)                                                                                              \
    X(ucs_status_t, ucm_set_event_handler, (int events, int priority, ucm_event_callback_t callback, void *argument)) \
    X(void, ucm_unset_event_handler, (int events, ucm_event_callback_t callback, void *argument))

/* The singleton. */
static struct {
    pw_unmap_fn *tell; /* NULL: not watched */
#define X(result, name, parameters) result(*name) parameters;
    UCM_FUNCTIONS(X)
#undef X
} unmaps;

static bool load(void)
{
    void *ucm = dlopen("libucs.so.0", RTLD_NOW | RTLD_LOCAL);
    bool whole = ucm;

#define X(result, name, parameters) whole = whole && (unmaps.name = (result(*) parameters)dlsym(ucm, #name)) != NULL;
    UCM_FUNCTIONS(X)
#undef X
    return whole;
}

static void unmapped(ucm_event_type_t type, ucm_event_t *event, void *argument)
{
    uintptr_t begin = (uintptr_t)event->vm_unmapped.address;

    (void)type, (void)argument;
    unmaps.tell(begin, begin + event->vm_unmapped.size);
}

bool pw_unmaps_watch(pw_unmap_fn *tell)
{
    if (!load())
        return false;
    unmaps.tell = tell;
    if (unmaps.ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 0, unmapped, NULL) == UCS_OK)
        return true;
    unmaps.tell = NULL;
    return false;
}

void pw_unmaps_ignore(void)
{
    if (unmaps.tell)
        unmaps.ucm_unset_event_handler(UCM_EVENT_VM_UNMAPPED, unmapped, NULL);
    unmaps.tell = NULL;
}
