/* The exchanges of three small applications, each by datatypes and packed by hand. */
#include "grids.h"

#include <stdlib.h>

enum { DIRECTIONS = 9, CROSSING = 3 };

static int left_of(const rows *all)
{
    return (all->rank + all->ranks - 1) % all->ranks;
}

static int right_of(const rows *all)
{
    return (all->rank + 1) % all->ranks;
}

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

/* ---- stencil: a grid of (n + 2)^2 doubles, halos of one column --------------------------------------------------- */

static void stencil_copy(const grid *g, const part *p, bool packs, double *field, double *packed)
{
    double *at = (double *)((char *)field + p->at);

    for (int i = 0; i < g->n; i++, at += g->n + 2) {
        if (packs)
            packed[i] = *at;
        else
            *at = packed[i];
    }
}

static void stencil_compute(grid *g)
{
    size_t width = (size_t)g->n + 2;
    const double *now = g->field[g->now];
    double *next = g->field[!g->now];

    for (size_t y = 1; y <= (size_t)g->n; y++)
        for (size_t x = 1; x <= (size_t)g->n; x++) {
            const double *c = now + y * width + x;

            next[y * width + x] = 0.2 * (c[0] + c[-1] + c[1] + c[-(ptrdiff_t)width] + c[width]);
        }
}

/* A column of n points at `x`, of what goes to `to` or comes from there; `i` is its place among the parts. */
static part column_of(int n, int i, int peer, int x, int doubles_per_cell, int values, MPI_Datatype type)
{
    MPI_Aint cell = (MPI_Aint)sizeof(double) * doubles_per_cell;

    return (part){.peer = peer,
                  .type = type,
                  .at = ((n + 2) + x) * cell,
                  .packed_at = i * n * values * (MPI_Aint)sizeof(double),
                  .doubles = n * values};
}

grid grid_stencil(const rows *all, int n)
{
    grid g = {.all = all, .n = n, .nparts = 2, .copy = stencil_copy, .compute = stencil_compute};
    MPI_Datatype column;

    MPI_Type_vector(n, 1, n + 2, MPI_DOUBLE, &column);
    column = committed(column);
    g.bytes = (size_t)(n + 2) * (size_t)(n + 2) * sizeof(double);
    g.out[0] = column_of(n, 0, left_of(all), 1, 1, 1, column);
    g.out[1] = column_of(n, 1, right_of(all), n, 1, 1, column);
    g.in[0] = column_of(n, 0, right_of(all), n + 1, 1, 1, column);
    g.in[1] = column_of(n, 1, left_of(all), 0, 1, 1, column);
    return g;
}

/* ---- flow: lattice Boltzmann, nine doubles a cell, (n + 2)^2 cells; walls below and above ------------------------ */

static const int step_x[DIRECTIONS] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int step_y[DIRECTIONS] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const int opposite[DIRECTIONS] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
static const double weight[DIRECTIONS] = {4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36};
static const int going[2][CROSSING] = {{3, 6, 7}, {1, 5, 8}}; /* to the left, to the right */

/* Parts lie one after the other in the buffer, first what crosses to the left. */
static void flow_copy(const grid *g, const part *p, bool packs, double *field, double *packed)
{
    const int *directions = going[p->packed_at != 0];
    double *cell = (double *)((char *)field + p->at);

    for (int i = 0; i < g->n; i++, cell += (g->n + 2) * DIRECTIONS, packed += CROSSING)
        for (int k = 0; k < CROSSING; k++) {
            if (packs)
                packed[k] = cell[directions[k]];
            else
                cell[directions[k]] = packed[k];
        }
}

static void collide(double f[DIRECTIONS])
{
    double density = 0, vx = 0, vy = 0;

    for (int d = 0; d < DIRECTIONS; d++) {
        density += f[d];
        vx += step_x[d] * f[d];
        vy += step_y[d] * f[d];
    }
    vx = vx / density + 1e-5; /* a force drives the flow */
    vy /= density;
    for (int d = 0; d < DIRECTIONS; d++) {
        double along = 3 * (step_x[d] * vx + step_y[d] * vy);

        f[d] += 0.8 * (weight[d] * density * (1 + along + along * along / 2 - 1.5 * (vx * vx + vy * vy)) - f[d]);
    }
}

static void flow_compute(grid *g)
{
    int n = g->n, width = n + 2;
    const double *now = g->field[g->now];
    double *next = g->field[!g->now];

    for (int y = 1; y <= n; y++)
        for (int x = 1; x <= n; x++) {
            double *f = next + ((size_t)y * (size_t)width + (size_t)x) * DIRECTIONS;

            for (int d = 0; d < DIRECTIONS; d++) {
                int from = y - step_y[d];
                bool wall = from < 1 || from > n;
                size_t at = wall ? (size_t)y * (size_t)width + (size_t)x
                                 : (size_t)from * (size_t)width + (size_t)(x - step_x[d]);

                f[d] = now[at * DIRECTIONS + (size_t)(wall ? opposite[d] : d)];
            }
            collide(f);
        }
}

/* A column of cells of which three doubles each cross a border. */
static MPI_Datatype crossing(int n, const int directions[CROSSING])
{
    MPI_Datatype cell, column;

    MPI_Type_create_indexed_block(CROSSING, 1, directions, MPI_DOUBLE, &cell);
    MPI_Type_create_hvector(n, 1, (MPI_Aint)sizeof(double) * DIRECTIONS * (n + 2), cell, &column);
    MPI_Type_free(&cell);
    return committed(column);
}

grid grid_flow(const rows *all, int n)
{
    grid g = {.all = all, .n = n, .nparts = 2, .copy = flow_copy, .compute = flow_compute};
    MPI_Datatype type[2] = {crossing(n, going[0]), crossing(n, going[1])};

    g.bytes = (size_t)(n + 2) * (size_t)(n + 2) * DIRECTIONS * sizeof(double);
    g.out[0] = column_of(n, 0, left_of(all), 1, DIRECTIONS, CROSSING, type[0]);
    g.out[1] = column_of(n, 1, right_of(all), n, DIRECTIONS, CROSSING, type[1]);
    g.in[0] = column_of(n, 0, right_of(all), n + 1, DIRECTIONS, CROSSING, type[0]);
    g.in[1] = column_of(n, 1, left_of(all), 0, DIRECTIONS, CROSSING, type[1]);
    return g;
}

/* ---- diffusion: n x n doubles, each rank has m = n / ranks rows ---------------------------------------------------
 */

/* The sender transposes: in the buffer is one column of its block after the other, which are the receiver's rows. */
static void diffusion_copy(const grid *g, const part *p, bool packs, double *field, double *packed)
{
    double *block = (double *)((char *)field + p->at);

    for (int i = 0; i < g->m; i++)
        for (int k = 0; k < g->m; k++) {
            if (packs)
                packed[i * g->m + k] = block[k * g->n + i];
            else
                block[i * g->n + k] = packed[i * g->m + k];
        }
}

/* Solves (1 + 2 r) u[i] - r (u[i-1] + u[i+1]) = before[i] in each row, in place. */
static void diffusion_compute(grid *g)
{
    const double r = 0.3;
    double *factor = malloc((size_t)g->n * sizeof *factor);

    for (int y = 0; y < g->m; y++) {
        double *u = g->field[g->now] + (size_t)y * (size_t)g->n;

        factor[0] = r / (1 + 2 * r);
        u[0] /= 1 + 2 * r;
        for (int i = 1; i < g->n; i++) {
            double pivot = 1 / (1 + 2 * r - r * factor[i - 1]);

            factor[i] = r * pivot;
            u[i] = (u[i] + r * u[i - 1]) * pivot;
        }
        for (int i = g->n - 2; i >= 0; i--)
            u[i] += factor[i] * u[i + 1];
    }
    free(factor);
}

grid grid_diffusion(const rows *all, int n)
{
    grid g = {.all = all,
              .m = n / all->ranks,
              .transposes = true,
              .nparts = all->ranks,
              .copy = diffusion_copy,
              .compute = diffusion_compute};
    MPI_Datatype column, resized, sent, received;

    g.n = g.m * all->ranks;
    g.bytes = (size_t)g.m * (size_t)g.n * sizeof(double);
    MPI_Type_vector(g.m, 1, g.n, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &resized);
    MPI_Type_contiguous(g.m, resized, &sent);
    MPI_Type_vector(g.m, g.m, g.n, MPI_DOUBLE, &received);
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
    sent = committed(sent);
    received = committed(received);
    for (int i = 0; i < all->ranks; i++) {
        MPI_Aint block = (MPI_Aint)sizeof(double) * g.m;

        g.out[i] = (part){i, sent, i * block, i * g.m * block, g.m * g.m};
        g.in[i] = (part){i, received, i * block, i * g.m * block, g.m * g.m};
    }
    return g;
}
