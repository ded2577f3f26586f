/*
 * Types that ROMIO flattens incorrectly (MPICH 4.0.2, romio321 of Open MPI 4.1.4). ROMIO takes pair types with a hole
 * for contiguous memory, takes a single contiguous block to lie at the origin wherever it lies, and moves a type whose
 * lower bound is set to that bound. It writes all other types of tests/support/random_mpi.h as MPI_Pack would.
 */
#include "runtime/mpi/io/internal.h"

#include "base/handle_table.h"
#include "frontend/mpi/contents.h"

/* Types with more parts than this are left to MPI. */
enum { PARTS = 64 };

typedef struct bounds {
    MPI_Count size, lb, extent, true_lb, true_extent;
} bounds;

static bool read_bounds(MPI_Datatype type, bounds *b)
{
    return PMPI_Type_size_x(type, &b->size) == MPI_SUCCESS &&
           PMPI_Type_get_extent_x(type, &b->lb, &b->extent) == MPI_SUCCESS &&
           PMPI_Type_get_true_extent_x(type, &b->true_lb, &b->true_extent) == MPI_SUCCESS;
}

static bool sets_bounds(int combiner)
{
    return combiner == MPI_COMBINER_RESIZED || combiner == MPI_COMBINER_SUBARRAY || combiner == MPI_COMBINER_DARRAY;
}

/* The state of a search through a type's constructors. */
typedef struct search {
    int parts;
    bool bounded; /* the bounds of some type were set */
} search;

static bool is_plain(MPI_Datatype type, search *s)
{
    pw_envelope envelope;
    pw_contents contents;
    search below = {.parts = --s->parts};
    bool plain = true;
    bounds b;

    if (s->parts < 0 || !read_bounds(type, &b) || pw_envelope_read(type, &envelope, NULL) != PW_OK)
        return false;
    if (pw_envelope_is_basic(&envelope))
        return b.size == b.extent;
    if ((b.size == b.true_extent && b.true_lb != 0) || pw_contents_read(type, &envelope, &contents, NULL) != PW_OK)
        return false;
    for (int64_t i = 0; plain && i < envelope.ntypes; i++)
        plain = is_plain(contents.types[i], &below);
    pw_contents_release(&contents);
    s->parts = below.parts;
    s->bounded |= below.bounded || sets_bounds(envelope.combiner);
    return plain && (!s->bounded || b.lb == 0);
}

bool pw_io_type_is_plain(MPI_Datatype type)
{
    search s = {.parts = PARTS};

    return is_plain(type, &s);
}

/* In arrays that are divided along their last dimension, the gap at the end tells the length of blocks. */
unsigned pw_io_view_kind(MPI_Datatype filetype)
{
    pw_envelope envelope;
    bounds b;
    uint64_t kind = 0;

    if (pw_envelope_read(filetype, &envelope, NULL) == PW_OK && envelope.combiner == MPI_COMBINER_NAMED)
        return 0;
    if (read_bounds(filetype, &b)) {
        MPI_Count parts[] = {b.size, b.extent, b.extent - b.true_extent};

        for (int i = 0; i < 3; i++)
            kind = kind << 8 | (parts[i] > 0 ? pw_site_size(parts[i]) : 0);
    }
    return (unsigned)(pw_handle_hash(kind) >> (64 - 12)) | 1;
}
