/*
 * Whether the calls of a list come to this library rather than to a tool before it. The answer is found once for each
 * list and kept there, since definitions do not move while the process runs.
 */
#include "runtime/mpi/entry/calls.h"

#include "runtime/mpi/entry/gate.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* Where the linker has put this library: asking the loader for the object of an address reads all symbols of it. */
extern PW_HIDDEN const char __ehdr_start[], _end[];

bool pw_calls_is_here(const void *function)
{
    return (uintptr_t)function >= (uintptr_t)__ehdr_start && (uintptr_t)function < (uintptr_t)_end;
}

static const void *program_base(void)
{
    const struct link_map *map = NULL;
    void *self = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    const void *base = NULL;
    Dl_info info;

    if (self && dlinfo(self, RTLD_DI_LINKMAP, (void *)&map) == 0 && dladdr(map->l_ld, &info))
        base = info.dli_fbase;
    if (self)
        dlclose(self);
    return base;
}

/* An address in the main program is an entry of its linkage table, through which non-PIC programs name functions. */
const char *pw_calls_taken_by(const char *symbol)
{
    const void *function = dlsym(RTLD_DEFAULT, symbol);
    Dl_info info;

    if (!function || pw_calls_is_here(function) || !dladdr(function, &info) || info.dli_fbase == program_base())
        return NULL;
    return info.dli_fname;
}

static bool are_ours(const char *const *symbols)
{
    for (; *symbols; symbols++)
        if (!dlsym(RTLD_DEFAULT, *symbols) || pw_calls_taken_by(*symbols))
            return false;
    return true;
}

bool pw_calls_are_ours(pw_calls *list)
{
    int known = atomic_load_explicit(&list->known, memory_order_relaxed);

    if (!known) {
        known = 1 + are_ours(list->symbols);
        atomic_store_explicit(&list->known, known, memory_order_relaxed);
    }
    return known - 1;
}
