/* The names by canonical hash of the layout, in a map under one lock, noted only if reports were asked for. */
#include "runtime/mpi/stats/names.h"

#include "frontend/mpi/decode.h"
#include "jit-cache/hash_map.h"
#include "passes/passes.h"
#include "runtime/engine/layout/layout.h"

#include "hooks.h"
#include "next.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Each process notes at most so many layouts with names, and so many bytes of names for each. */
enum { MOST_NAMED = 1 << 12, MOST_TEXT = 64 };

/* The names of one layout, with commas. */
typedef struct named {
    char text[MOST_TEXT];
} named;

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    pw_hash_map by_layout; /* maps canonical hashes to `named` */
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
static void append(char text[MOST_TEXT], const char *name)
{
    size_t used = strlen(text), n = strlen(name);
    const char *comma = used ? ", " : "";

    if (used && used + n + 3 > MOST_TEXT)
        return;
    n = n < MOST_TEXT - 1 ? n : MOST_TEXT - 1;
    memcpy(text + used, comma, strlen(comma));
    used += strlen(comma);
    memcpy(text + used, name, n);
    text[used + n] = '\0';
}

static void note(pw_hash layout, const char *name)
{
    named *it;

    pthread_mutex_lock(&names.lock);
    it = pw_hash_map_begin(&names.by_layout, layout, sizeof *it, MOST_NAMED);
    if (it && *name && !has_name(it->text, name))
        append(it->text, name);
    pthread_mutex_unlock(&names.lock);
}

int pw_hook_Type_set_name(MPI_Datatype datatype, const char *name)
{
    int rc = pw_next.MPI_Type_set_name(datatype, name);
    pw_hash layout;

    if (rc == MPI_SUCCESS && pw_layout_use_is_timed() && layout_of(datatype, &layout))
        note(layout, name);
    return rc;
}

void pw_stats_names(pw_hash layout, char *out, size_t size)
{
    const named *it;

    pthread_mutex_lock(&names.lock);
    it = pw_hash_map_get(&names.by_layout, layout);
    snprintf(out, size, "%s", it ? it->text : "");
    pthread_mutex_unlock(&names.lock);
}

void pw_stats_names_close(void)
{
    pthread_mutex_lock(&names.lock);
    pw_hash_map_free(&names.by_layout);
    pthread_mutex_unlock(&names.lock);
}
