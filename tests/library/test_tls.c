/*
 * The loader keeps little room for thread-local variables of libraries that come late and need these at a fixed place.
 * Copies of such a library take all of it here; then the library must still load, and work in threads old and new.
 *
 * usage: test_library_tls <library> <eater> <folder for its copies>
 */
#include <packwright/packwright.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_COPIES = 1000 };

#define FUNCTION(library, name) (*(__typeof__(name) *)dlsym(library, #name))

/* The thread that was there before the library waits for it. */
static pthread_barrier_t loaded;
static void *library;

static int copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char buffer[4096];
    size_t n;

    while (in && out && (n = fread(buffer, 1, sizeof buffer, in)) > 0)
        fwrite(buffer, 1, n, out);
    return !in || !out || fclose(in) || fclose(out);
}

/* Returns how many copies were loaded; -1: the loader never refused one. */
static int eat_all_room(const char *eater, const char *folder)
{
    char path[4096];

    mkdir(folder, 0700);
    for (int i = 0; i < MOST_COPIES; i++) {
        bool refused;

        snprintf(path, sizeof path, "%s/%d.so", folder, i);
        if (copy_file(eater, path)) {
            perror(path);
            exit(1);
        }
        refused = !dlopen(path, RTLD_NOW | RTLD_LOCAL);
        remove(path);
        if (refused && strstr(dlerror(), "TLS"))
            return i;
    }
    return -1;
}

/* Goes through the variables of the thread: the last error, and where host memory was seen. */
static int use(void)
{
    packwright_type *cell = NULL, *t;
    double from[300], to[100];

    for (int i = 0; i < 300; i++)
        from[i] = i;
    if (!FUNCTION(library, packwright_bytes)(-1, 8, &cell) ||
        !strstr(FUNCTION(library, packwright_last_error)(), "bytes"))
        return 1;
    if (FUNCTION(library, packwright_bytes)(8, 8, &cell) || FUNCTION(library, packwright_vector)(100, 1, 3, cell, &t))
        return 1;
    for (int i = 0; i < 2000; i++)
        if (FUNCTION(library, packwright_pack_stream)(t, from, 1, to, NULL))
            return 1;
    for (int i = 0; i < 100; i++)
        if (to[i] != 3 * i)
            return 1;
    FUNCTION(library, packwright_type_free)(t);
    FUNCTION(library, packwright_type_free)(cell);
    return 0;
}

static void *use_when_loaded(void *result)
{
    pthread_barrier_wait(&loaded);
    *(int *)result = library ? use() : 1;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t older, newer;
    int wrong[3] = {0}, copies;

    if (argc != 4)
        return 2;
    pthread_barrier_init(&loaded, NULL, 2);
    pthread_create(&older, NULL, use_when_loaded, &wrong[0]);
    copies = eat_all_room(argv[2], argv[3]);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "after %d other libraries: %s\n", copies, dlerror());
    pthread_barrier_wait(&loaded);
    wrong[1] = library ? use() : 1;
    pthread_create(&newer, NULL, use_when_loaded, &wrong[2]);
    pthread_barrier_wait(&loaded);
    pthread_join(older, NULL);
    pthread_join(newer, NULL);
    if (wrong[0] || wrong[1] || wrong[2])
        return 1;
    printf("tls: right after %d other libraries\n", copies);
    return 0;
}
