#include "absolute.h"

#include "frontend/mpi/decode.h"

#include <stdio.h>

static pw_layout *layout_at(const pw_random_mpi *t, MPI_Aint address, pw_layout_engine *engine, pw_diag *diag)
{
    MPI_Datatype moved;
    pw_arena *arena = pw_arena_create();
    pw_layout *layout = NULL;
    pw_type raw;
    MPI_Type_create_hindexed_block(1, 1, &address, t->type, &moved);
    if (pw_mpi_decode(moved, arena, &raw, diag) == PW_OK)
        pw_layout_get(engine, &raw, &layout, diag);
    MPI_Type_free(&moved);
    pw_arena_destroy(arena);
    return layout;
}

static bool fail(char *what, size_t what_size, const char *op, const char *why)
{
    snprintf(what, what_size, "%s MPI_BOTTOM: %s", op, why);
    return false;
}

bool pw_absolute_check(pw_judge *j, const pw_random_mpi *t, pw_layout_engine *engine, uint64_t seed, char *what,
                       size_t what_size)
{
    pw_rng rng = {seed ^ 0xb0770};
    pw_diag diag = {0};
    int64_t lo, hi, size = t->map.size, where;
    pw_naive_span(&t->map, t->extent, 1, &lo, &hi);
    unsigned char *origin = pw_watched_place(&j->memory, &rng, hi - lo) - lo;
    unsigned char *packed = pw_watched_place(&j->packed, &rng, size);
    pw_layout *layout = layout_at(t, (MPI_Aint)(intptr_t)origin, engine, &diag);
    if (!layout)
        return fail(what, what_size, "a layout for", diag.text);

    pw_layout_pack(layout, MPI_BOTTOM, 1, packed);
    pw_naive_pack(&t->map, t->extent, 1, origin, pw_watched_saved(&j->packed));
    bool good = !pw_watched_differs(&j->packed, NULL, &where) || fail(what, what_size, "pack from", "wrong bytes");

    pw_rng_fill(&rng, packed, (size_t)size);
    pw_layout_unpack(layout, MPI_BOTTOM, 1, packed);
    pw_naive_unpack_range(&t->map, t->extent, 1, 0, size, pw_watched_saved(&j->memory) - lo, packed);
    if (good && !pw_naive_overlaps(&t->map, t->extent, 1) && pw_watched_differs(&j->memory, NULL, &where))
        good = fail(what, what_size, "unpack to", "wrong bytes");
    pw_layout_unref(layout);
    return good;
}
