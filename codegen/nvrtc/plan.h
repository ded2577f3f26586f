/*
 * How the regions of a shape are shared out among GPU threads. The emitter of kernels and the host's launches must
 * agree on these decisions, so they follow from the shape alone.
 */
#ifndef PW_CODEGEN_NVRTC_PLAN_H
#define PW_CODEGEN_NVRTC_PLAN_H

#include "codegen/shape.h"

#include <stddef.h>

typedef enum pw_gpu_kind {
    PW_GPU_WORDS,  /* a thread per word, in packed order */
    PW_GPU_TILE,   /* a block per tile of a transpose, through shared memory */
    PW_GPU_PIECES, /* a thread per part of a piece, cut where the destination is aligned: no word divides them */
    PW_GPU_LIST    /* blocks of varying length */
} pw_gpu_kind;

typedef enum pw_gpu_role {
    PW_GPU_LOOP,    /* a loop of the region */
    PW_GPU_OBJECTS, /* the objects, run around the region */
    PW_GPU_WORD,    /* the words of the leaf */
    PW_GPU_TILE_A,  /* tiles along the loop that is close in packed order */
    PW_GPU_TILE_B,  /* tiles along the loop that is close in memory */
    PW_GPU_PART,    /* parts of the leaf's pieces */
    PW_GPU_ENTRY    /* blocks of the list, or spans of its packed bytes: the launch decides */
} pw_gpu_role;

typedef struct pw_gpu_dim {
    pw_gpu_role role;
    bool is_object; /* count is that of the call */
    pw_num count;   /* divided by `per` and rounded up: the iterations */
    int64_t per;
    pw_num mem, packed; /* strides in bytes: of an iteration, and in tiles of an element */
    pw_shape_table table;
    pw_shape_table packed_table; /* on the packed side, of joined shapes */
    int packed_word;             /* index in the record of the address of packed_table; the next word is its scale */
    bool free;  /* its numbers are not baked into the code, so the launch may swap it with another free one */
    bool plain; /* the code takes all numbers from the record, although some may be baked */
} pw_gpu_dim;

enum { PW_GPU_PART_BYTES = 16, PW_GPU_MAX_DIMS = PW_NEST_MAX_DIMS + 3 };

typedef struct pw_gpu_region {
    const pw_shape_region *shape;
    pw_gpu_kind kind;
    bool joined; /* the packed side is memory, too, in any order; loops are in the nest's order */
    int word;    /* bytes a thread moves at once */
    int batch;   /* of words: so many for each thread, if there are enough */
    int side;    /* of a tile */
    int offs;    /* of words: a block of threads works out so many places of a leaf once; 0: each thread does */
    int ndims;
    pw_gpu_dim dims[PW_GPU_MAX_DIMS]; /* outermost in packed order first, as far as it is known */
    int code;                         /* regions of one number share code */
    int record, tail, words;          /* of the record: where it begins in w[], its tail in it, and its length */
    int tail_words;
} pw_gpu_region;

typedef struct pw_gpu_plan {
    const pw_shape *shape;
    int nregions;
    pw_gpu_region *regions;
    int words;           /* length of w[] */
    int shared_bytes[2]; /* of one block; packing, unpacking */
    int resident[2];     /* blocks that a multiprocessor can hold at once, by their registers; packing, unpacking */
    pw_arena *arena;
} pw_gpu_plan;

/* Returns whether the iterations are known at the launch only. */
static inline bool pw_gpu_dim_is_counted(const pw_gpu_dim *d)
{
    return d->is_object || d->plain || d->count.slot >= 0 || d->role == PW_GPU_PART || d->role == PW_GPU_ENTRY;
}

static inline bool pw_gpu_dim_is_tile(const pw_gpu_dim *d)
{
    return d->role == PW_GPU_TILE_A || d->role == PW_GPU_TILE_B;
}

/* A table of width 0 may be missing, and has a width that is known at the launch only (tier 0). */
static inline bool pw_gpu_table_is_there(const pw_shape_table *t)
{
    return t->slot >= 0;
}

/* Returns whether the pieces follow each other in packed order without gaps, from the first on. */
bool pw_gpu_pieces_are_dense(const pw_shape_region *r);

/* Returns whether all numbers of the pieces are baked. */
bool pw_gpu_pieces_are_baked(const pw_shape_region *r);

/* Packed bytes of a list that go through shared memory at once, where no word divides it; or at addresses that its
 * words do not divide, which is rare and shall not take the room. */
enum { PW_GPU_ODD_SPAN = 16 << 10, PW_GPU_ASKEW_SPAN = 2 << 10 };

static inline bool pw_gpu_region_is_odd(const pw_gpu_region *g)
{
    return g->word < 4;
}

/* Returns the most parts that a piece is cut into, wherever it begins (device/copies.cuh). */
static inline int64_t pw_gpu_parts(int64_t bytes)
{
    return (bytes + 2 * PW_GPU_PART_BYTES - 2) / PW_GPU_PART_BYTES;
}

/* Makes a plan. PW_ERR_UNSUPPORTED: the parameters would be too long for a launch. PW_ERR_NOMEM. */
pw_status pw_gpu_plan_create(const pw_shape *shape, pw_gpu_plan **out, pw_diag *diag);
void pw_gpu_plan_destroy(pw_gpu_plan *plan); /* NULL is allowed */

/* Returns the bytes of parameters that kernels of this plan take. */
size_t pw_gpu_plan_param_bytes(const pw_gpu_plan *plan);

#endif
