#include "tools/measure/mpi_type.h"

#include <limits.h>
#include <stdlib.h>

/* Contiguous bytes as MPI counts them. */
typedef struct run {
    MPI_Datatype element;
    int64_t count;
} run;

static run run_of(int64_t bytes)
{
    if (bytes % 8 == 0)
        return (run){MPI_DOUBLE, bytes / 8};
    if (bytes % 4 == 0)
        return (run){MPI_INT, bytes / 4};
    return (run){MPI_BYTE, bytes};
}

static bool make(const pw_node *node, MPI_Datatype *out);

/* A child that is repeated: blocks of elements, or one object of a datatype of its own. */
typedef struct child {
    MPI_Datatype type;
    int count;
    bool own; /* the datatype is to be freed */
} child;

/* The bytes of a node that is one block: bytes, or one behind the other, as blocks of several elements are written. 0:
 * it is none. */
static int64_t block_of(const pw_node *node)
{
    const pw_node *element = node->kind == PW_STREAM ? node->stream.child : NULL;

    if (node->kind == PW_BYTES)
        return node->bytes.n;
    return element && element->kind == PW_BYTES && node->stream.stride == element->bytes.n
               ? node->stream.count * element->bytes.n
               : 0;
}

static bool open_child(const pw_node *node, child *out)
{
    int64_t block = block_of(node);
    run r;

    if (block == 0) {
        *out = (child){MPI_DATATYPE_NULL, 1, true};
        return make(node, &out->type);
    }
    r = run_of(block);
    *out = (child){r.element, (int)r.count, false};
    return r.count <= INT_MAX;
}

static void close_child(child *c)
{
    if (c->own)
        MPI_Type_free(&c->type);
}

static bool make_stream(const pw_node *node, MPI_Datatype *out)
{
    child c;

    if (node->stream.count > INT_MAX || !open_child(node->stream.child, &c))
        return false;
    MPI_Type_create_hvector((int)node->stream.count, c.count, (MPI_Aint)node->stream.stride, c.type, out);
    close_child(&c);
    return true;
}

static bool make_index(const pw_node *node, int64_t n, const int64_t *offs, MPI_Datatype *out)
{
    MPI_Aint *at = n <= INT_MAX ? malloc((size_t)(n + 1) * sizeof *at) : NULL;
    child c;

    if (!at || !open_child(node, &c)) {
        free(at);
        return false;
    }
    for (int64_t i = 0; i < n; i++)
        at[i] = (MPI_Aint)offs[i];
    MPI_Type_create_hindexed_block((int)n, c.count, at, c.type, out);
    close_child(&c);
    free(at);
    return true;
}

/* The members of a struct, or blocks of different lengths. */
static bool make_struct(const pw_node *node, MPI_Datatype *out)
{
    bool seq = node->kind == PW_SEQ;
    int64_t n = seq ? node->seq.n : node->blocks_list.n;
    const int64_t *offs = seq ? node->seq.offs : node->blocks_list.offs;
    MPI_Aint *at = calloc((size_t)n + 1, sizeof *at);
    int *lengths = calloc((size_t)n + 1, sizeof *lengths);
    child *members = calloc((size_t)n + 1, sizeof *members);
    MPI_Datatype *types = calloc((size_t)n + 1, sizeof(MPI_Datatype));
    int64_t made = 0;
    bool ok = at && lengths && members && types && n <= INT_MAX;

    for (; ok && made < n; made += ok) {
        if (seq)
            ok = open_child(node->seq.children[made], &members[made]);
        else
            members[made] = (child){MPI_BYTE, (int)node->blocks_list.lens[made], false};
        ok = ok && (seq || node->blocks_list.lens[made] <= INT_MAX);
        at[made] = (MPI_Aint)offs[made];
        lengths[made] = members[made].count;
        types[made] = members[made].type;
    }
    if (ok && seq)
        MPI_Type_create_struct((int)n, lengths, at, types, out);
    else if (ok)
        MPI_Type_create_hindexed((int)n, lengths, at, MPI_BYTE, out);
    for (int64_t i = 0; i < made; i++)
        close_child(&members[i]);
    free(types);
    free(members);
    free(lengths);
    free(at);
    return ok;
}

static bool make(const pw_node *node, MPI_Datatype *out)
{
    child c;

    switch (node->kind) {
    case PW_BYTES:
        if (!open_child(node, &c))
            return false;
        MPI_Type_contiguous(c.count, c.type, out);
        return true;
    case PW_STREAM: return make_stream(node, out);
    case PW_INDEX: return make_index(node->index.child, node->index.n, node->index.offs, out);
    case PW_SEQ:
        return node->seq.n == 1 ? make_index(node->seq.children[0], 1, node->seq.offs, out) : make_struct(node, out);
    default: return make_struct(node, out);
    }
}

bool pw_measure_mpi_type(const pw_type *type, MPI_Datatype *out)
{
    MPI_Datatype bare;

    if (!make(type->root, &bare))
        return false;
    MPI_Type_create_resized(bare, (MPI_Aint)type->lb, (MPI_Aint)type->extent, out);
    MPI_Type_free(&bare);
    MPI_Type_commit(out);
    return true;
}
