/*
 * PETSc: a sparse matrix times a dense one, MatMatMult. Ranks have rows of both, and send each other the rows of the
 * dense matrix that their sparse rows touch, of all columns at once: by indexed blocks, resized to a column. With
 * --hand the program multiplies column by column with MatMult, for which PETSc packs what it sends.
 *
 * All values are small integers, so that each way to add them has the same result.
 *
 * Options: --sizes=128,256 (the side of the grid that the rows are for).
 */
#include "rows.h"

#include <petscmat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS = 4 };

typedef struct product {
    const rows *all;
    PetscInt columns;
    Mat sparse, dense, result;
} product;

static void check(PetscErrorCode error)
{
    if (error)
        MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Sets the values of this rank's part of a dense matrix: what `value` returns for each. */
static void fill(Mat dense, double (*value)(PetscInt, PetscInt))
{
    PetscInt from, to, columns, leading;
    PetscScalar *at;

    check(MatGetOwnershipRange(dense, &from, &to));
    check(MatGetSize(dense, NULL, &columns));
    check(MatDenseGetLDA(dense, &leading));
    check(MatDenseGetArrayWrite(dense, &at));
    for (PetscInt j = 0; j < columns; j++)
        for (PetscInt i = from; i < to; i++)
            at[j * leading + i - from] = value(i, j);
    check(MatDenseRestoreArrayWrite(dense, &at));
}

static double counted(PetscInt i, PetscInt j)
{
    return (double)((i * 37 + j * 11) % 1021);
}

static double none(PetscInt i, PetscInt j)
{
    (void)i, (void)j;
    return -1;
}

static void prepare(void *data)
{
    const product *p = data;

    fill(p->dense, counted);
    fill(p->result, none);
}

static void multiply(void *data)
{
    product *p = data;

    check(MatMatMult(p->sparse, p->dense, MAT_REUSE_MATRIX, PETSC_DEFAULT, &p->result));
}

static void multiply_columns(void *data)
{
    const product *p = data;
    Vec from, to;

    for (PetscInt j = 0; j < p->columns; j++) {
        check(MatDenseGetColumnVecRead(p->dense, j, &from));
        check(MatDenseGetColumnVecWrite(p->result, j, &to));
        check(MatMult(p->sparse, from, to));
        check(MatDenseRestoreColumnVecWrite(p->result, j, &to));
        check(MatDenseRestoreColumnVecRead(p->dense, j, &from));
    }
}

static uint64_t digest(void *data)
{
    const product *p = data;
    PetscInt height, leading;
    const PetscScalar *at;
    uint64_t hash = 0;

    check(MatGetLocalSize(p->result, &height, NULL));
    check(MatDenseGetLDA(p->result, &leading));
    check(MatDenseGetArrayRead(p->result, &at));
    for (PetscInt j = 0; j < p->columns; j++)
        hash = rows_digest(hash, at + j * leading, (size_t)height * sizeof *at);
    check(MatDenseRestoreArrayRead(p->result, &at));
    return hash;
}

/* The columns of a row: beside the diagonal those of the five-point stencil, or some without order. */
static void neighbours(PetscInt side, PetscInt row, bool scattered, PetscInt at[NEIGHBOURS])
{
    uint64_t state = (uint64_t)row, all = (uint64_t)side * (uint64_t)side;
    PetscInt x = row % side, y = row / side;

    at[0] = x > 0 ? row - 1 : -1; /* PETSc ignores negative ones */
    at[1] = x < side - 1 ? row + 1 : -1;
    at[2] = y > 0 ? row - side : -1;
    at[3] = y < side - 1 ? row + side : -1;
    for (int k = 0; k < NEIGHBOURS && scattered; k++) {
        state = (state + 1) * 6364136223846793005u + 1442695040888963407u;
        at[k] = (PetscInt)((state >> 33) % all);
    }
}

static Mat make_sparse(PetscInt side, bool scattered)
{
    const PetscScalar values[NEIGHBOURS] = {1, 2, 3, 5}, diagonal = -4;
    PetscInt from, to, at[NEIGHBOURS];
    Mat a;

    check(MatCreateAIJ(MPI_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, side * side, side * side, NEIGHBOURS + 1, NULL,
                       NEIGHBOURS, NULL, &a));
    check(MatGetOwnershipRange(a, &from, &to));
    for (PetscInt i = from; i < to; i++) {
        neighbours(side, i, scattered, at);
        check(MatSetValues(a, 1, &i, 1, &i, &diagonal, ADD_VALUES));
        check(MatSetValues(a, 1, &i, NEIGHBOURS, at, values, ADD_VALUES));
    }
    check(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
    check(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
    return a;
}

static void do_product(const rows *all, PetscInt side, PetscInt columns, bool scattered)
{
    product p = {.all = all, .columns = columns};
    char name[100];

    snprintf(name, sizeof name, "%s, %d^2 rows, %d columns", scattered ? "scattered" : "five-point", (int)side,
             (int)columns);
    if (!rows_wanted(all, name))
        return;
    p.sparse = make_sparse(side, scattered);
    check(MatCreateDense(MPI_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, side * side, columns, NULL, &p.dense));
    fill(p.dense, counted);
    check(MatMatMult(p.sparse, p.dense, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &p.result));
    rows_do(all, name, &(row){&p, prepare, all->hand ? multiply_columns : multiply, digest});
    check(MatDestroy(&p.result));
    check(MatDestroy(&p.dense));
    check(MatDestroy(&p.sparse));
}

int main(int argc, char **argv)
{
    rows all = rows_begin(argc, argv, "sizes");

    check(PetscInitializeNoArguments());
    for (const char *n = rows_option(argc, argv, "sizes", "128,256"); *n; n += strcspn(n, ","), n += *n == ',')
        for (int scattered = 0; scattered < 2; scattered++)
            for (PetscInt columns = 8; columns <= 32; columns *= 4)
                do_product(&all, atoi(n), columns, scattered);
    check(PetscFinalize());
    rows_end();
    return 0;
}
