/* The two hashes by which the last types are known again: of how a type was constructed, and of how it looks. */
#include "runtime/mpi/types/internal.h"

#include "base/handle_table.h"
#include "runtime/choice/site.h"

/* ---- how a type was constructed ---------------------------------------------------------------------------------- */

/* Constructors for large counts have the combiners of the others; the lengths of their lists tell the two apart. */
static uint64_t combiner_of(const pw_envelope *e)
{
    return (uint64_t)((int64_t)e->combiner << 24 | e->nints << 16 | e->naddrs << 8 | e->ncounts);
}

bool pw_constructed_read(const pw_contents *contents, pw_hash *out)
{
    enum { FEW = 11 /* of a subarray of three dimensions; layouts of long lists are not kept alive */ };
    const pw_envelope *e = &contents->envelope;
    int64_t n = e->nints + e->naddrs + e->ncounts;

    if (n > FEW || e->ntypes != 1)
        return false;
    *out = pw_hash_mix((pw_hash){pw_type_key(contents->types[0]), combiner_of(e)},
                       pw_hash_bytes(contents->nums, (size_t)n * sizeof *contents->nums));
    return true;
}

/* ---- how it looks ------------------------------------------------------------------------------------------------ */

/* Returns how many objects of its basic type are in a block of a type, as its constructor was told. 0: not known. */
static int64_t block_of(const pw_contents *c)
{
    const int64_t *nums = c->nums;
    int combiner = c->envelope.combiner;

    if (combiner == MPI_COMBINER_VECTOR || combiner == MPI_COMBINER_HVECTOR || combiner == MPI_COMBINER_INDEXED_BLOCK ||
        combiner == MPI_COMBINER_HINDEXED_BLOCK)
        return nums[1];
    if (combiner != MPI_COMBINER_SUBARRAY)
        return 0;
    /* The number of dimensions, the sizes, the sizes of the part, its starts, and the order (MPI 4.0, 5.1.13). */
    return nums[3 * nums[0] + 1] == MPI_ORDER_C ? nums[2 * nums[0]] : nums[nums[0] + 1];
}

/* Returns a number that types with blocks of about the same length share, or 0. */
static uint64_t blocks_of(pw_glance *g)
{
    const pw_envelope *e = pw_glance_envelope(g);
    const pw_contents *c = NULL;
    int64_t block;

    if (e && e->ntypes == 1 && e->ncounts == 0 && e->nints >= 2 && e->nints <= PW_CONTENTS_NUMS)
        c = pw_glance_contents(g);
    block = c ? block_of(c) : 0;
    return block > 0 ? pw_handle_hash(pw_type_key(c->types[0])) + pw_site_size(block) + 1 : 0;
}

bool pw_look_read(pw_glance *g, int64_t size, pw_hash *out)
{
    /* Types of the same size and extent are taken to look the same, wherever they begin: asking MPI how they were made
     * takes longest. There is room for the types of a rank that exchanges with 26 neighbours. */
    static _Thread_local struct {
        uint64_t key;
        pw_hash look;
    } last[128], *at;
    int64_t extent = pw_glance_extent(g);
    uint64_t key, blocks;

    if (extent <= 0)
        return false;
    key = pw_handle_hash((uint64_t)size + pw_handle_hash((uint64_t)extent));
    at = &last[key >> 57];
    if (at->key != key) {
        blocks = blocks_of(g);
        at->look = blocks ? pw_hash_mix((pw_hash){blocks, 0}, (pw_hash){pw_site_size(size), pw_site_size(extent)})
                          : pw_hash_mix((pw_hash){0, 1}, (pw_hash){(uint64_t)size, (uint64_t)extent});
        at->key = key;
    }
    *out = at->look;
    out->lo ^= g->role != PW_SEND;
    return true;
}

/* With a negative stride, blocks that adjoin are out of order. */
bool pw_look_is_dense(pw_glance *g, int64_t size)
{
    const pw_envelope *e = pw_glance_extent(g) == size ? pw_glance_envelope(g) : NULL;
    bool is_vector = e && (e->combiner == MPI_COMBINER_VECTOR || e->combiner == MPI_COMBINER_HVECTOR);
    const pw_contents *c = is_vector ? pw_glance_contents(g) : NULL;

    return c && c->nums[2] > 0 && pw_contents_are_uniform(g->type, c);
}
