/*
 * A process that has nothing but the library: loaded with dlopen where there is neither an MPI nor a compiler nor a
 * driver, used, closed, and loaded again, by more threads than one.
 *
 * usage: test_library_alone <library>
 */
#include <packwright/packwright.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path;

#define FUNCTION(library, name) (*(__typeof__(name) *)dlsym(library, #name))

static int use(void *library)
{
    packwright_type *cell, *t;
    double from[300], to[100];

    for (int i = 0; i < 300; i++)
        from[i] = i;
    if (FUNCTION(library, packwright_bytes)(8, 8, &cell) || FUNCTION(library, packwright_vector)(100, 1, 3, cell, &t))
        return 1;
    for (int i = 0; i < 2000; i++) /* enough for a kernel to be asked for */
        if (FUNCTION(library, packwright_pack)(t, from, 1, to))
            return 1;
    for (int i = 0; i < 100; i++)
        if (to[i] != 3 * i)
            return 1;
    FUNCTION(library, packwright_type_free)(t);
    FUNCTION(library, packwright_type_free)(cell);
    return 0;
}

static void *load_and_use(void *result)
{
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            *(int *)result = 1;
            return NULL;
        }
        *(int *)result |= use(library);
        dlclose(library);
    }
    return NULL;
}

/* What no process that only packs should have to carry. Sanitizers bring a C++ library themselves. */
static int look_at_maps(void)
{
    static const char *const unwanted[] = {"libmpi",   "libLLVM", "libcuda", "libnvrtc", "libpackwright-",
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
                                           "libstdc++"
#endif
    };
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    int found = 0;

    while (maps && fgets(line, sizeof line, maps))
        for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
            if (strstr(line, unwanted[i])) {
                fprintf(stderr, "%s", line);
                found = 1;
            }
    if (maps)
        fclose(maps);
    return found;
}

int main(int argc, char **argv)
{
    pthread_t other;
    int here = 0, there = 0;

    if (argc != 2)
        return 2;
    path = argv[1];
    pthread_create(&other, NULL, load_and_use, &there);
    load_and_use(&here);
    pthread_join(other, NULL);
    if (here || there || look_at_maps())
        return 1;
    puts("alone: right");
    return 0;
}
