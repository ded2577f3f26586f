/*
 * packwright_from_mpi: the decoder's tree, built again by calls of the engine's public interface. This library knows
 * nothing else of the engine, so that either can be replaced alone.
 *
 * The tree's nodes correspond to constructors whose strides and displacements are in bytes; block lengths are 1, so
 * that extents inside the tree do not matter.
 */
#include "frontend/mpi/decode.h"
#include "frontend/mpi/handles.h"

#include <packwright/packwright-mpi.h>

#include <pthread.h>
#include <stdlib.h>

static packwright_status convert(const pw_node *node, packwright_type **out);

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static packwright_status convert_stream(const pw_node *node, packwright_type **out)
{
    packwright_type *child;
    packwright_status status = convert(node->stream.child, &child);

    if (status)
        return status;
    status = packwright_hvector(node->stream.count, 1, node->stream.stride, child, out);
    packwright_type_free(child);
    return status;
}

static packwright_status convert_index(const pw_node *node, packwright_type **out)
{
    packwright_type *child;
    packwright_status status = convert(node->index.child, &child);

    if (status)
        return status;
    status = packwright_hindexed_block(node->index.n, 1, node->index.offs, child, out);
    packwright_type_free(child);
    return status;
}

static packwright_status convert_blocks(const pw_node *node, packwright_type **out)
{
    packwright_type *byte;
    packwright_status status = packwright_bytes(1, 1, &byte);

    if (status)
        return status;
    status = packwright_hindexed(node->blocks_list.n, node->blocks_list.lens, node->blocks_list.offs, byte, out);
    packwright_type_free(byte);
    return status;
}

/* Another reference where one of the children before is the same node: nested structs of equal members have far more
 * paths than nodes. */
static packwright_status convert_child(const pw_node *node, int64_t i, packwright_type **children)
{
    enum { LOOK_BACK = 8 };

    for (int64_t j = i - 1; j >= 0 && j >= i - LOOK_BACK; j--)
        if (node->seq.children[j] == node->seq.children[i]) {
            children[i] = packwright_dup(children[j]);
            return PACKWRIGHT_OK;
        }
    return convert(node->seq.children[i], &children[i]);
}

static packwright_status convert_seq(const pw_node *node, packwright_type **out)
{
    int64_t n = node->seq.n;
    packwright_type **children = calloc((size_t)n + 1, sizeof *children);
    int64_t *ones = calloc((size_t)n + 1, sizeof *ones);
    packwright_status status = PACKWRIGHT_OK;

    if (!children || !ones)
        status = packwright_fail(PACKWRIGHT_ERR_NOMEM, "no memory for the members of a struct");
    for (int64_t i = 0; !status && i < n; i++) {
        ones[i] = 1;
        status = convert_child(node, i, children);
    }
    if (!status)
        status = packwright_struct(n, ones, node->seq.offs, children, out);
    for (int64_t i = 0; children && i < n; i++)
        packwright_type_free(children[i]);
    free(children);
    free(ones);
    return status;
}

/* Recurses as deep as the decoder lets trees be. */
static packwright_status convert(const pw_node *node, packwright_type **out)
{
    switch (node->kind) {
    case PW_BYTES: return packwright_bytes(node->bytes.n, node->bytes.align, out);
    case PW_STREAM: return convert_stream(node, out);
    case PW_INDEX: return convert_index(node, out);
    case PW_BLOCKS: return convert_blocks(node, out);
    case PW_SEQ: return convert_seq(node, out);
    }
    return packwright_fail(PACKWRIGHT_ERR_INVALID, "a layout node of an unknown kind");
}

static packwright_status convert_type(const pw_type *type, packwright_type **out)
{
    packwright_type *root;
    packwright_status status = convert(type->root, &root);

    if (status)
        return status;
    status = packwright_resized(type->lb, type->extent, root, out);
    packwright_type_free(root);
    return status;
}

/* ---- the datatype ----------------------------------------------------------------------------------------------- */

/* The MPI's functions are weak references, and handles may be addresses inside the MPI: both are there when an MPI is
 * in the process. */
static bool is_mpi_there;

static void look_for_mpi(void)
{
    is_mpi_there = pw_mpi_handles_find() && PMPI_Type_get_envelope;
}

static packwright_status fail_to_decode(pw_status status, const pw_diag *diag)
{
    return packwright_fail(pw_status_public(status), diag->text[0] ? diag->text : pw_status_text(status));
}

packwright_status packwright_from_mpi(MPI_Datatype datatype, packwright_type **out)
{
    static pthread_once_t looked = PTHREAD_ONCE_INIT;
    pw_diag diag = {.status = PW_OK};
    packwright_status result;
    pw_status status;
    pw_arena *arena;
    pw_type type;

    if (!out)
        return packwright_fail(PACKWRIGHT_ERR_INVALID, "out is NULL");
    pthread_once(&looked, look_for_mpi);
    if (!is_mpi_there)
        return packwright_fail(PACKWRIGHT_ERR_UNSUPPORTED, "there is no MPI in this process");
    arena = pw_arena_create();
    status = arena ? pw_mpi_decode(datatype, arena, &type, &diag) : PW_ERR_NOMEM;
    result = status ? fail_to_decode(status, &diag) : convert_type(&type, out);
    pw_arena_destroy(arena);
    return result;
}
