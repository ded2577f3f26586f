/* indexed and hindexed, their block forms, and struct: lists of every kind that programs and devils make. */
#include "tests/support/random_mpi_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Arguments of a list constructor, in all the widths that MPI wants them. */
typedef struct list {
    int64_t n, blocklen;
    int64_t *lens, *displs;
    int *int_lens, *int_displs;
    MPI_Aint *aint_displs;
    MPI_Count *count_lens, *count_displs;
    void *memory;
} list;

/* Gives the list room for n blocks. */
static list list_of(int64_t n)
{
    size_t k = (size_t)n + 1;
    char *at = calloc(k, 2 * (sizeof(int64_t) + sizeof(int) + sizeof(MPI_Count)) + sizeof(MPI_Aint));
    list l = {.n = n, .memory = at};
    if (!at) {
        perror("list");
        exit(2);
    }
    l.lens = (int64_t *)at;
    l.displs = l.lens + k;
    l.count_lens = (MPI_Count *)(l.displs + k);
    l.count_displs = l.count_lens + k;
    l.aint_displs = (MPI_Aint *)(l.count_displs + k);
    l.int_lens = (int *)(l.aint_displs + k);
    l.int_displs = l.int_lens + k;
    return l;
}

static void list_free(list *l)
{
    free(l->memory);
}

static void widen(list *l)
{
    for (int64_t i = 0; i < l->n; i++) {
        l->int_lens[i] = (int)l->lens[i];
        l->count_lens[i] = l->lens[i];
        l->int_displs[i] = (int)l->displs[i];
        l->aint_displs[i] = (MPI_Aint)l->displs[i];
        l->count_displs[i] = l->displs[i];
    }
}

static void pick_lens(pw_maker *m, list *l, bool uniform)
{
    l->blocklen = pw_rng_one_in(m->rng, 2) ? 1 : pw_make_count(m);
    int64_t kind = uniform ? 0 : pw_rng_range(m->rng, 0, 3);
    for (int64_t i = 0; i < l->n; i++) {
        switch (kind) {
        case 0: l->lens[i] = l->blocklen; break;
        case 1: l->lens[i] = 1 + i % 3; break;
        default: l->lens[i] = pw_rng_one_in(m->rng, 8) ? 0 : pw_rng_range(m->rng, 1, 6); break;
        }
    }
}

static int64_t longest(const list *l)
{
    int64_t most = 1;
    for (int64_t i = 0; i < l->n; i++)
        most = l->lens[i] > most ? l->lens[i] : most;
    return most;
}

/* start + i * step, or the progression of progressions that a plane of rows is. */
static void displs_regular(pw_maker *m, list *l)
{
    int64_t most = longest(l), start = pw_rng_range(m->rng, -8, 8);
    int64_t step = most + pw_rng_range(m->rng, 0, 5);
    int64_t row = pw_rng_one_in(m->rng, 2) ? pw_rng_range(m->rng, 2, 6) : l->n + 1;
    int64_t row_step = row * step + pw_rng_range(m->rng, 0, 20);
    bool down = pw_rng_one_in(m->rng, 3);
    for (int64_t i = 0; i < l->n; i++) {
        int64_t at = i / row * row_step + i % row * step;
        l->displs[i] = start + (down ? -at : at);
    }
}

/* Ascending without overlap; `gap` 0 makes all blocks touch. */
static void displs_ascending(pw_maker *m, list *l, int64_t gap)
{
    int64_t at = pw_rng_range(m->rng, -8, 8);
    for (int64_t i = 0; i < l->n; i++) {
        l->displs[i] = at;
        at += l->lens[i] + pw_rng_range(m->rng, 0, gap);
    }
}

/* Blocks in any order. Lengths move along, so nothing comes to overlap. */
static void shuffle(pw_maker *m, list *l)
{
    for (int64_t i = l->n - 1; i > 0; i--) {
        int64_t j = pw_rng_range(m->rng, 0, i);
        int64_t len = l->lens[i], displ = l->displs[i];
        l->lens[i] = l->lens[j];
        l->displs[i] = l->displs[j];
        l->lens[j] = len;
        l->displs[j] = displ;
    }
}

static void pick_displs(pw_maker *m, list *l)
{
    switch (pw_rng_range(m->rng, 0, 7)) {
    case 0:
    case 1:
    case 2: displs_regular(m, l); break;
    case 3: displs_ascending(m, l, 0); break;
    case 4: displs_ascending(m, l, 6); break;
    case 5:
    case 6:
        displs_ascending(m, l, 4);
        shuffle(m, l);
        break;
    default:
        for (int64_t i = 0; i < l->n; i++)
            l->displs[i] = pw_rng_range(m->rng, -20, 40);
        break;
    }
}

static void text_blocks(char **text, const list *l)
{
    for (int64_t i = 0; i < pw_make_shown(l->n); i++)
        pw_make_text(text, "%s%lld,%lld", i > 0 ? " " : "", (long long)l->displs[i], (long long)l->lens[i]);
    pw_make_elision(text, l->n);
}

/* Picks a list and writes its typemap. Displacements are in bytes or in extents of the old type. After true the caller
 * frees the list. */
static bool pick_list(pw_maker *m, const pw_random_mpi *old, list *l, bool uniform, bool bytes, pw_random_mpi *out)
{
    int64_t n = pw_rng_one_in(m->rng, 12) ? pw_rng_range(m->rng, 30, PW_MAKER_MAX_LIST) : pw_make_count(m);
    *l = list_of(m->members ? m->members : n > PW_MAKER_MAX_LIST ? PW_MAKER_MAX_LIST : n);
    pick_lens(m, l, uniform);
    pick_displs(m, l);
    if (bytes) {
        int64_t scale = pw_rng_one_in(m->rng, 4) ? pw_rng_range(m->rng, 1, 9) : old->extent;
        for (int64_t i = 0; i < l->n; i++)
            l->displs[i] *= scale;
    }
    widen(l);
    int64_t copies = 0;
    for (int64_t i = 0; i < l->n; i++)
        copies += l->lens[i];
    if (!pw_make_fits(m, old, copies)) {
        list_free(l);
        return false;
    }
    for (int64_t i = 0; i < l->n; i++)
        pw_make_block(out, old, l->displs[i] * (bytes ? 1 : old->extent), l->lens[i]);
    return true;
}

/* Writes the text, and frees the list. */
static void finish(list *l, const char *name, bool block, const pw_random_mpi *old, pw_random_mpi *out)
{
    pw_make_text(&out->text, "%s(", name);
    if (block) {
        pw_make_text(&out->text, "%lld:", (long long)l->blocklen);
        pw_make_text_list(&out->text, l->n, l->displs);
    } else {
        text_blocks(&out->text, l);
    }
    pw_make_text(&out->text, ")[%s]", old->text);
    list_free(l);
}

bool pw_make_indexed(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    list l;
    if (!pick_list(m, old, &l, false, false, out))
        return false;
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(MPI_Type_indexed_c(l.n, l.count_lens, l.count_displs, old->type, &out->type), "indexed_c");
    else
#endif
        pw_make_check(MPI_Type_indexed((int)l.n, l.int_lens, l.int_displs, old->type, &out->type), "indexed");
    finish(&l, "idx", false, old, out);
    return true;
}

bool pw_make_hindexed(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    list l;
    if (!pick_list(m, old, &l, false, true, out))
        return false;
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(MPI_Type_create_hindexed_c(l.n, l.count_lens, l.count_displs, old->type, &out->type),
                      "hindexed_c");
    else
#endif
        pw_make_check(MPI_Type_create_hindexed((int)l.n, l.int_lens, l.aint_displs, old->type, &out->type), "hindexed");
    finish(&l, "hidx", false, old, out);
    return true;
}

bool pw_make_indexed_block(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    list l;
    if (!pick_list(m, old, &l, true, false, out))
        return false;
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(MPI_Type_create_indexed_block_c(l.n, l.blocklen, l.count_displs, old->type, &out->type),
                      "indexed_block_c");
    else
#endif
        pw_make_check(MPI_Type_create_indexed_block((int)l.n, (int)l.blocklen, l.int_displs, old->type, &out->type),
                      "indexed_block");
    finish(&l, "idxb", true, old, out);
    return true;
}

bool pw_make_hindexed_block(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    list l;
    if (!pick_list(m, old, &l, true, true, out))
        return false;
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(MPI_Type_create_hindexed_block_c(l.n, l.blocklen, l.count_displs, old->type, &out->type),
                      "hindexed_block_c");
    else
#endif
        pw_make_check(MPI_Type_create_hindexed_block((int)l.n, (int)l.blocklen, l.aint_displs, old->type, &out->type),
                      "hindexed_block");
    finish(&l, "hidxb", true, old, out);
    return true;
}

/* Members one after another with gaps, as in a C struct, in any order; or anywhere. */
static void pick_members(pw_maker *m, int n, const pw_random_mpi *const *olds, list *l)
{
    int64_t at = pw_rng_range(m->rng, -16, 16);
    bool anywhere = pw_rng_one_in(m->rng, 6);
    for (int i = 0; i < n; i++) {
        const pw_naive_map *map = &olds[i]->map;
        l->lens[i] = pw_rng_one_in(m->rng, 10) ? 0 : pw_rng_one_in(m->rng, 2) ? 1 : pw_rng_range(m->rng, 1, 5);
        l->displs[i] = anywhere ? pw_rng_range(m->rng, -100, 200) : at - map->lo;
        int64_t reach = l->lens[i] > 0 ? (l->lens[i] - 1) * olds[i]->extent : 0;
        at += map->hi - map->lo + (reach > 0 ? reach : 0) + pw_rng_range(m->rng, 0, 12);
        if (pw_rng_one_in(m->rng, 3))
            at = (at + 7) / 8 * 8;
    }
}

static void finish_struct(list *l, const pw_random_mpi *const *olds, pw_random_mpi *out)
{
    pw_make_text(&out->text, "struct(");
    text_blocks(&out->text, l);
    pw_make_text(&out->text, ")[");
    for (int64_t i = 0; i < pw_make_shown(l->n); i++)
        pw_make_text(&out->text, "%s%s", i > 0 ? " " : "", olds[i]->text);
    pw_make_elision(&out->text, l->n);
    pw_make_text(&out->text, "]");
    list_free(l);
}

bool pw_make_struct(pw_maker *m, int n, const pw_random_mpi *const *olds, pw_random_mpi *out)
{
    list l = list_of(n);
    int64_t entries = 0;
    pick_members(m, n, olds, &l);
    widen(&l);
    for (int i = 0; i < n; i++)
        entries += l.lens[i] * olds[i]->map.n;
    if (entries > m->max_entries) {
        list_free(&l);
        return false;
    }
    MPI_Datatype *types = malloc(((size_t)n + 1) * sizeof *types);
    for (int i = 0; i < n; i++) {
        types[i] = olds[i]->type;
        pw_make_block(out, olds[i], l.displs[i], l.lens[i]);
    }
#if MPI_VERSION >= 4
    if (m->large)
        pw_make_check(MPI_Type_create_struct_c(n, l.count_lens, l.count_displs, types, &out->type), "struct_c");
    else
#endif
        pw_make_check(MPI_Type_create_struct(n, l.int_lens, l.aint_displs, types, &out->type), "struct");
    free(types);
    finish_struct(&l, olds, out);
    return true;
}
