/*
 * How the program made its types. Data: a note in the entry of each layout. Invariant: one type is learned, and noted,
 * at a time.
 */
#include "runtime/mpi/stats/report.h"

#include "frontend/mpi/describe.h"
#include "runtime/mpi/types/origin.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PLACES = 3 };

typedef struct pw_built {
    char text[PW_BUILT_TEXT];
    const void *made[PLACES]; /* NULL: no further place is known */
    char name[MPI_MAX_OBJECT_NAME + 1];
    int64_t commits;
} built;

static void add_place(built *it, const void *place)
{
    int i = 0;

    while (i < PLACES && it->made[i] && it->made[i] != place)
        i++;
    if (i < PLACES)
        it->made[i] = place;
}

/* Types that have one layout are shown by the text of the first one, the first name, and the places of all. */
void pw_built_note(pw_entry *entry, MPI_Datatype type)
{
    built *it = entry->built ? entry->built : calloc(1, sizeof *it);
    int n;

    entry->built = it;
    if (!it)
        return;
    if (!*it->text)
        pw_mpi_describe(type, it->text, sizeof it->text);
    if (!*it->name)
        PMPI_Type_get_name(type, it->name, &n);
    it->commits++;
    add_place(it, pw_origin_of(type));
}

/* ---- for reports ------------------------------------------------------------------------------------------------ */

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

void pw_built_put(pw_json *json, const struct pw_built *it)
{
    if (!it)
        return;
    pw_json_string(json, "built", it->text);
    pw_json_string(json, "name", it->name);
    pw_json_int(json, "commits", it->commits);
    pw_built_put_places(json, it->made, PLACES);
}
