/* What was noted of types, by canonical hash of the layout, in a map under one lock. */
#include "runtime/mpi/stats/report.h"

#include "frontend/mpi/describe.h"
#include "jit-cache/hash_map.h"
#include "runtime/engine/layout/layout.h"
#include "runtime/mpi/types/origin.h"
#include "runtime/mpi/types/registry.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BUILT = 1 << 16 /* layouts that a process notes at most */, PLACES = 3 };

typedef struct built {
    char text[PW_BUILT_TEXT];
    const void *made[PLACES]; /* NULL: no further place is known */
    char name[MPI_MAX_OBJECT_NAME + 1];
    int64_t commits;
} built;

/* The singleton. Its lock is taken after the registry's. */
static struct {
    pthread_mutex_t lock;
    pw_hash_map by_layout; /* maps canonical hashes to `built` */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add_place(built *it, const void *place)
{
    int i = 0;

    while (i < PLACES && it->made[i] && it->made[i] != place)
        i++;
    if (i < PLACES)
        it->made[i] = place;
}

static bool is_described(pw_hash layout)
{
    const built *it;
    bool known;

    pthread_mutex_lock(&all.lock);
    it = pw_hash_map_get(&all.by_layout, layout);
    known = it && *it->text;
    pthread_mutex_unlock(&all.lock);
    return known;
}

/* Types that have one layout are shown by the text of the first one, the name of the first one that has any, and the
 * places of all. MPI is asked outside of the lock. */
static void note(pw_layout *layout, MPI_Datatype type)
{
    const void *place = pw_origin_of(type);
    char text[PW_BUILT_TEXT] = "", name[MPI_MAX_OBJECT_NAME + 1] = "";
    built *it;
    int n;

    if (!is_described(layout->hash))
        pw_mpi_describe(type, text, sizeof text);
    PMPI_Type_get_name(type, name, &n);
    pthread_mutex_lock(&all.lock);
    it = pw_hash_map_begin(&all.by_layout, layout->hash, sizeof *it, MOST_BUILT);
    if (it && !*it->text)
        memcpy(it->text, text, sizeof text);
    if (it)
        it->commits++;
    if (it && place)
        add_place(it, place);
    if (it && !*it->name)
        memcpy(it->name, name, sizeof name);
    pthread_mutex_unlock(&all.lock);
}

/* ---- for reports ------------------------------------------------------------------------------------------------ */

void pw_built_start(void)
{
    if (pw_layout_use_is_reported())
        pw_registry_observe(note);
}

/* False: it is not known. */
static bool put_place(pw_json *json, const void *address)
{
    const void *call = (const void *)((uintptr_t)address - 1); /* the address of a return lies behind the call */
    struct link_map *map = NULL;
    char program[4096] = "", offset[24];
    Dl_info info;

    if (!address || !dladdr1(call, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fname || !map)
        return false;
    /* The program itself has the name by which it was started, which need not be a path. */
    if (!*map->l_name && readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return false;
    snprintf(offset, sizeof offset, "0x%" PRIx64, (uint64_t)((uintptr_t)call - (uintptr_t)map->l_addr));
    pw_json_open(json, NULL, '{');
    pw_json_string(json, "module", *map->l_name ? map->l_name : program);
    pw_json_string(json, "offset", offset);
    pw_json_close(json, '}');
    return true;
}

void pw_built_put_places(pw_json *json, const void *const *returns, int n)
{
    pw_json_open(json, "made_at", '[');
    for (int i = 0; i < n && put_place(json, returns[i]); i++)
        ;
    pw_json_close(json, ']');
}

void pw_built_put(pw_json *json, pw_hash layout)
{
    const built *it;

    pthread_mutex_lock(&all.lock);
    it = pw_hash_map_get(&all.by_layout, layout);
    if (it) {
        pw_json_string(json, "built", it->text);
        pw_json_string(json, "name", it->name);
        pw_json_int(json, "commits", it->commits);
        pw_built_put_places(json, it->made, PLACES);
    }
    pthread_mutex_unlock(&all.lock);
}

void pw_built_close(void)
{
    pthread_mutex_lock(&all.lock);
    pw_hash_map_free(&all.by_layout);
    pthread_mutex_unlock(&all.lock);
}
