/*
 * The algebra of MPI datatype constructors (MPI 4.0 section 5.1), without MPI: every combiner as a
 * function from types to a type. Both frontends (MPI handles and .ddt text) build on it.
 *
 * A pw_dt is a tree with its lower bound and extent. Counts and block lengths are in elements of the old
 * type unless the name says bytes; displacements of the h-forms are in bytes, of the others in extents of
 * the old type. Errors are sticky in the builder: after one, every function returns an empty pw_dt.
 * Zero counts, zero block lengths, negative strides and overlaps are legal; an empty list may be NULL.
 *
 * Bounds follow the standard's markers (section 5.1.6): resized, subarray and darray leave an lb_marker and a
 * ub_marker, and where a typemap has markers they alone decide. A type without bytes and without markers has no
 * bounds and counts for nothing. MPI libraries differ from this in corners (MPICH 4 ignores the markers
 * of members of a struct), so the MPI frontend takes every extent from the library; see README.md.
 */
#ifndef PW_FRONTEND_COMBINER_H
#define PW_FRONTEND_COMBINER_H

#include "ir/ir.h"

typedef struct pw_dt {
    const pw_node *node;
    int64_t lb, ub; /* ub - lb is the extent */
    int64_t align;  /* strictest alignment of a basic type inside; for the padding of structs */
    bool marked;    /* lb and ub were set by markers, not by the bytes */
    int64_t told;   /* for frontends: what a listener calls it */
} pw_dt;

static inline int64_t pw_dt_extent(const pw_dt *t)
{
    return t->ub - t->lb;
}

/* The values of packwright_order and packwright_distribution, which are passed on as they are. */
typedef enum pw_order { PW_ORDER_C = PACKWRIGHT_ORDER_C, PW_ORDER_FORTRAN = PACKWRIGHT_ORDER_FORTRAN } pw_order;
typedef enum pw_distribution {
    PW_DISTRIBUTE_NONE = PACKWRIGHT_DISTRIBUTE_NONE,
    PW_DISTRIBUTE_BLOCK = PACKWRIGHT_DISTRIBUTE_BLOCK,
    PW_DISTRIBUTE_CYCLIC = PACKWRIGHT_DISTRIBUTE_CYCLIC
} pw_distribution;
enum { PW_DISTRIBUTE_DEFAULT_ARG = PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG };

/* A basic type of `bytes` bytes and alignment. */
pw_dt pw_dt_basic(pw_builder *b, int64_t bytes, int64_t align);
/* A pair type such as MPI_DOUBLE_INT: first at 0, second at its offset in the C struct, padded extent. */
pw_dt pw_dt_pair(pw_builder *b, int64_t first, int64_t first_align, int64_t second, int64_t second_align);

pw_dt pw_dt_contiguous(pw_builder *b, int64_t count, pw_dt old);
pw_dt pw_dt_vector(pw_builder *b, int64_t count, int64_t blocklen, int64_t stride, pw_dt old);
pw_dt pw_dt_hvector(pw_builder *b, int64_t count, int64_t blocklen, int64_t stride_bytes, pw_dt old);
pw_dt pw_dt_indexed(pw_builder *b, int64_t n, const int64_t *blocklens, const int64_t *displs, pw_dt old);
pw_dt pw_dt_hindexed(pw_builder *b, int64_t n, const int64_t *blocklens, const int64_t *displs_bytes, pw_dt old);
pw_dt pw_dt_indexed_block(pw_builder *b, int64_t n, int64_t blocklen, const int64_t *displs, pw_dt old);
pw_dt pw_dt_hindexed_block(pw_builder *b, int64_t n, int64_t blocklen, const int64_t *displs_bytes, pw_dt old);
/* With the alignment padding at the end that C structs have (MPI 4.0 section 5.1.6's epsilon). */
pw_dt pw_dt_struct(pw_builder *b, int64_t n, const int64_t *blocklens, const int64_t *displs_bytes, const pw_dt *olds);
pw_dt pw_dt_resized(pw_builder *b, int64_t lb, int64_t extent, pw_dt old);
pw_dt pw_dt_subarray(pw_builder *b, int64_t ndims, const int64_t *sizes, const int64_t *subsizes, const int64_t *starts,
                     pw_order order, pw_dt old);
pw_dt pw_dt_darray(pw_builder *b, int64_t size, int64_t rank, int64_t ndims, const int64_t *gsizes,
                   const pw_distribution *distribs, const int64_t *dargs, const int64_t *psizes, pw_order order,
                   pw_dt old);

/* The finished type: root, lb and extent. */
pw_type pw_dt_finish(pw_dt t);

#endif
