/*
 * ScaLAPACK: LU, matrix product, transpose and redistribution of N x N matrices of doubles over a 1 x P and a P x 1
 * grid. BLACS sends submatrices as vectors, with another number of columns in each step.
 *
 * Options: --sizes=500,1000.
 */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, OTHER_BLOCK = 40, DESCRIPTOR = 9 };

/* As the libraries export them. */
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
void Cblacs_gridexit(int context);
void Cblacs_freebuff(int context, int waits);
int numroc_(const int *n, const int *block, const int *mine, const int *first, const int *processes);
void descinit_(int *descriptor, const int *m, const int *n, const int *mb, const int *nb, const int *first_row,
               const int *first_column, const int *context, const int *leading, int *info);
void pdgetrf_(const int *m, const int *n, double *a, const int *ia, const int *ja, const int *desc, int *pivots,
              int *info);
void pdgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
             const double *a, const int *ia, const int *ja, const int *da, const double *b, const int *ib,
             const int *jb, const int *db, const double *beta, double *c, const int *ic, const int *jc, const int *dc);
void pdtran_(const int *m, const int *n, const double *alpha, const double *a, const int *ia, const int *ja,
             const int *da, const double *beta, double *c, const int *ic, const int *jc, const int *dc);
void pdgemr2d_(const int *m, const int *n, const double *a, const int *ia, const int *ja, const int *da, double *b,
               const int *ib, const int *jb, const int *db, const int *context);

/* A distributed matrix: what this rank has of it. */
typedef struct matrix {
    int descriptor[DESCRIPTOR];
    size_t doubles;
    double *at;
} matrix;

typedef struct algebra {
    int n, context, across; /* another context, whose grid has ranks in the other direction */
    matrix a, b, c, away;   /* away: on the other grid, in other blocks */
    double *first;          /* what `a` is before an exchange */
    int *pivots;
} algebra;

static const int one = 1, zero = 0;
static const double unit = 1, nothing = 0;

static int grid_of(int rows, int columns)
{
    int context;

    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Row", rows, columns);
    return context;
}

static matrix make(int n, int block, int context)
{
    int rows, columns, row, column, height, width, leading, info;
    matrix m;

    Cblacs_gridinfo(context, &rows, &columns, &row, &column);
    height = numroc_(&n, &block, &row, &zero, &rows);
    width = numroc_(&n, &block, &column, &zero, &columns);
    leading = height > 1 ? height : 1;
    descinit_(m.descriptor, &n, &n, &block, &block, &zero, &zero, &context, &leading, &info);
    m.doubles = (size_t)leading * (size_t)width;
    m.at = rows_allocate(m.doubles * sizeof(double));
    return m;
}

static void prepare(void *data)
{
    const algebra *x = data;
    uint64_t state = 12345;

    for (size_t i = 0; i < x->a.doubles; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x->first[i] = (double)(state >> 40) / (1 << 24) - 0.5;
    }
    memcpy(x->a.at, x->first, x->a.doubles * sizeof(double));
    memcpy(x->b.at, x->first, x->b.doubles * sizeof(double));
}

static void factorise(void *data)
{
    algebra *x = data;
    int info;

    memcpy(x->a.at, x->first, x->a.doubles * sizeof(double));
    pdgetrf_(&x->n, &x->n, x->a.at, &one, &one, x->a.descriptor, x->pivots, &info);
}

static void multiply(void *data)
{
    algebra *x = data;

    pdgemm_("N", "N", &x->n, &x->n, &x->n, &unit, x->a.at, &one, &one, x->a.descriptor, x->b.at, &one, &one,
            x->b.descriptor, &nothing, x->c.at, &one, &one, x->c.descriptor);
}

static void transpose(void *data)
{
    algebra *x = data;

    pdtran_(&x->n, &x->n, &unit, x->a.at, &one, &one, x->a.descriptor, &nothing, x->c.at, &one, &one, x->c.descriptor);
}

static void redistribute(void *data)
{
    algebra *x = data;

    pdgemr2d_(&x->n, &x->n, x->a.at, &one, &one, x->a.descriptor, x->away.at, &one, &one, x->away.descriptor,
              &x->context);
}

/* BLACS completes what it has sent when it needs the memory: all of it, now. */
static void turned(void *data, bool natively)
{
    (void)natively;
    Cblacs_freebuff(((algebra *)data)->context, true);
}

static uint64_t digest(void *data)
{
    const algebra *x = data;
    uint64_t hash = rows_digest(0, x->a.at, x->a.doubles * sizeof(double));

    hash = rows_digest(hash, x->c.at, x->c.doubles * sizeof(double));
    return rows_digest(hash, x->away.at, x->away.doubles * sizeof(double));
}

static const struct {
    const char *name;
    void (*exchange)(void *data);
} calls[] = {{"LU", factorise}, {"gemm", multiply}, {"transpose", transpose}, {"redistribution", redistribute}};

static void do_grid(const rows *all, int n, int height, int width)
{
    algebra x = {.n = n, .context = grid_of(height, width), .across = grid_of(width, height)};
    char name[100];

    x.a = make(n, BLOCK, x.context);
    x.b = make(n, BLOCK, x.context);
    x.c = make(n, BLOCK, x.context);
    x.away = make(n, OTHER_BLOCK, x.across);
    x.first = rows_allocate(x.a.doubles * sizeof(double));
    x.pivots = rows_allocate(((size_t)n + BLOCK) * sizeof(int));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(name, sizeof name, "%s, N = %d, %d x %d", calls[i].name, n, height, width);
        rows_do(all, name, &(row){&x, prepare, calls[i].exchange, digest, turned});
    }
    free(x.a.at);
    free(x.b.at);
    free(x.c.at);
    free(x.away.at);
    free(x.first);
    free(x.pivots);
    Cblacs_gridexit(x.context);
    Cblacs_gridexit(x.across);
}

int main(int argc, char **argv)
{
    rows all = rows_begin(argc, argv, "sizes");

    for (const char *n = rows_option(argc, argv, "sizes", "500,1000,2000,4000"); *n;
         n += strcspn(n, ","), n += *n == ',') {
        do_grid(&all, atoi(n), 1, all.ranks);
        do_grid(&all, atoi(n), all.ranks, 1);
    }
    rows_end();
    return 0;
}
