/* Preloaded: who opens libibverbs by its name gets the library that PW_STAND_IN_VERBS names. What is linked with
 * libibverbs, as MPIs are, has the real one. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    const char *stand_in = getenv("PW_STAND_IN_VERBS");

    return next(name && stand_in && strcmp(name, "libibverbs.so.1") == 0 ? stand_in : name, flags);
}
