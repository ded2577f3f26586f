/* Three small two-dimensional applications: what they have in common with their exchanges (grids.c). */
#ifndef PW_BENCH_APPS_GRIDS_H
#define PW_BENCH_APPS_GRIDS_H

#include "rows.h"

enum { MAX_PEERS = 64 };

/* What goes to a peer, or comes from it: one element of a type that begins at a place of a field, or the same doubles
 * from a place in the buffer that the application packs. Parts of one peer come in the order in which they left it. */
typedef struct part {
    int peer;
    MPI_Datatype type;
    MPI_Aint at, packed_at; /* bytes */
    int doubles;
} part;

typedef struct grid {
    const rows *all;
    int n;           /* points of a side: of each rank, or of all ranks if the grid is transposed */
    int m;           /* rows of a rank, if the grid is transposed */
    bool transposes; /* else its exchange fills halos */
    int nparts;
    part out[MAX_PEERS], in[MAX_PEERS];
    double *field[2]; /* the state, and room for the next one */
    size_t bytes;     /* of each */
    int now;          /* which one is the state */
    /* Copies a part by hand, from a field to the buffer or back. */
    void (*copy)(const struct grid *g, const part *p, bool packs, double *field, double *packed);
    /* Halos: from the state, whose halo is filled, to the other field. Transposed grids: the state itself. */
    void (*compute)(struct grid *g);
} grid;

/* The applications. */
grid grid_stencil(const rows *all, int n);
grid grid_flow(const rows *all, int n);
grid grid_diffusion(const rows *all, int n);

#endif
