/* What was noted of types, by canonical hash of the layout, in a map under one lock. */
#include "runtime/mpi/stats/report.h"

#include "frontend/mpi/decode.h"
#include "frontend/mpi/describe.h"
#include "jit-cache/hash_map.h"
#include "passes/passes.h"
#include "runtime/engine/layout/layout.h"
#include "runtime/mpi/types/origin.h"
#include "runtime/mpi/types/registry.h"

#include "hooks.h"
#include "next.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BUILT = 1 << 16 }; /* each process notes at most so many layouts */

typedef struct built {
    char text[PW_STATS_DDT];
    const void *made[PW_STATS_PLACES]; /* NULL: no further place is known */
    char names[PW_STATS_NAME];         /* with commas */
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

    while (i < PW_STATS_PLACES && it->made[i] && it->made[i] != place)
        i++;
    if (i < PW_STATS_PLACES)
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

/* Types that have one layout are shown by the text of the first one, and by the places of all. MPI is asked outside of
 * the lock. */
static void note(pw_layout *layout, MPI_Datatype type)
{
    const void *place = pw_origin_of(type);
    char text[PW_STATS_DDT] = "";
    built *it;

    if (!is_described(layout->hash))
        pw_mpi_describe(type, text, sizeof text);
    pthread_mutex_lock(&all.lock);
    it = pw_hash_map_begin(&all.by_layout, layout->hash, sizeof *it, MOST_BUILT);
    if (it && !*it->text)
        memcpy(it->text, text, sizeof text);
    if (it)
        it->commits++;
    if (it && place)
        add_place(it, place);
    pthread_mutex_unlock(&all.lock);
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* Finds the hash by which the registry will know the type, which need not be committed yet. */
static bool layout_of(MPI_Datatype type, pw_hash *out)
{
    pw_arena *arena = pw_arena_create();
    pw_type raw, canonical;
    pw_diag diag;
    bool ok = arena && pw_mpi_decode(type, arena, &raw, &diag) == PW_OK &&
              pw_canonicalise(&raw, arena, &canonical, NULL, &diag) == PW_OK;

    if (ok)
        *out = pw_type_hash(&canonical);
    pw_arena_destroy(arena);
    return ok;
}

/* Returns whether the list of names has this one. */
static bool has_name(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ','))
            return true;
    return false;
}

/* Appends a name to the list if it fits. The first one is cut if it does not. */
static void append(char text[PW_STATS_NAME], const char *name)
{
    size_t used = strlen(text), n = strlen(name);
    const char *comma = used ? ", " : "";

    if (used && used + n + 3 > PW_STATS_NAME)
        return;
    n = n < PW_STATS_NAME - 1 ? n : PW_STATS_NAME - 1;
    memcpy(text + used, comma, strlen(comma));
    used += strlen(comma);
    memcpy(text + used, name, n);
    text[used + n] = '\0';
}

static void note_name(pw_hash layout, const char *name)
{
    built *it;

    pthread_mutex_lock(&all.lock);
    it = pw_hash_map_begin(&all.by_layout, layout, sizeof *it, MOST_BUILT);
    if (it && *name && !has_name(it->names, name))
        append(it->names, name);
    pthread_mutex_unlock(&all.lock);
}

int pw_hook_Type_set_name(MPI_Datatype datatype, const char *name)
{
    int rc = pw_next.MPI_Type_set_name(datatype, name);
    pw_hash layout;

    if (rc == MPI_SUCCESS && pw_layout_use_is_reported() && layout_of(datatype, &layout))
        note_name(layout, name);
    return rc;
}

/* ---- for reports ------------------------------------------------------------------------------------------------ */

void pw_built_start(void)
{
    if (pw_layout_use_is_reported())
        pw_registry_observe(note);
}

void pw_built_locate(const void *address, pw_stats_place *out)
{
    const char *call = (const char *)address - 1; /* the address of a return lies behind the call */
    struct link_map *map = NULL;
    Dl_info info;

    if (!dladdr1(call, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fname || !map)
        return;
    /* The program itself has the name by which it was started, which need not be a path. */
    if (*map->l_name)
        snprintf(out->module, sizeof out->module, "%s", map->l_name);
    else if (readlink("/proc/self/exe", out->module, sizeof out->module - 1) < 0)
        return;
    out->offset = (uint64_t)((uintptr_t)call - (uintptr_t)map->l_addr);
}

void pw_built_take(pw_stats_record *record)
{
    const built *it;

    pthread_mutex_lock(&all.lock);
    it = pw_hash_map_get(&all.by_layout, record->hash);
    if (it) {
        memcpy(record->built, it->text, sizeof it->text);
        memcpy(record->name, it->names, sizeof it->names);
        record->commits = it->commits;
        for (int i = 0; i < PW_STATS_PLACES && it->made[i]; i++)
            pw_built_locate(it->made[i], &record->made[i]);
    }
    pthread_mutex_unlock(&all.lock);
}

void pw_built_close(void)
{
    pthread_mutex_lock(&all.lock);
    pw_hash_map_free(&all.by_layout);
    pthread_mutex_unlock(&all.lock);
}
