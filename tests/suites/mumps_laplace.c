// Solves a Laplace equation on a cubic grid by MUMPS, whose answer is known: mumps_laplace SYMMETRY SIDE. The matrix
// comes in parts, one from each rank. Says "No errors" if the answer is right.
#include <dmumps_c.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { INITIALISE = -1, END = -2, EVERYTHING = 6, WORLD = -987654, DISTRIBUTED = 3 };
#define ICNTL(id, i) ((id).icntl[(i) - 1]) // as MUMPS numbers them

static void add(DMUMPS_STRUC_C *id, int row, int column, double value)
{
    id->irn_loc[id->nnz_loc] = row + 1;
    id->jcn_loc[id->nnz_loc] = column + 1;
    id->a_loc[id->nnz_loc++] = value;
}

// The rows of this rank; of a symmetric matrix only the lower half.
static void build(DMUMPS_STRUC_C *id, int side, int rank, int ranks)
{
    int n = side * side * side;
    id->n = n;
    id->nnz_loc = 0;
    id->irn_loc = malloc(7 * (size_t)n * sizeof *id->irn_loc);
    id->jcn_loc = malloc(7 * (size_t)n * sizeof *id->jcn_loc);
    id->a_loc = malloc(7 * (size_t)n * sizeof *id->a_loc);
    for (int row = rank; row < n; row += ranks) {
        int steps[] = {1, side, side * side}, at[] = {row % side, row / side % side, row / (side * side)};
        add(id, row, row, 6.5);
        for (int d = 0; d < 3; d++) {
            if (at[d] > 0)
                add(id, row, row - steps[d], -1);
            if (at[d] < side - 1 && id->sym == 0)
                add(id, row, row + steps[d], -1);
        }
    }
}

// The right-hand side whose answer is 1, 2, 3 and so on, again after ten.
static double answer(int row)
{
    return 1 + row % 10;
}

static double *right_hand_side(int side)
{
    int n = side * side * side;
    double *rhs = malloc((size_t)n * sizeof *rhs);
    for (int row = 0; row < n; row++) {
        int steps[] = {1, side, side * side}, at[] = {row % side, row / side % side, row / (side * side)};
        rhs[row] = 6.5 * answer(row);
        for (int d = 0; d < 3; d++)
            rhs[row] -= (at[d] > 0 ? answer(row - steps[d]) : 0) + (at[d] < side - 1 ? answer(row + steps[d]) : 0);
    }
    return rhs;
}

int main(int argc, char **argv)
{
    int rank, ranks, side = argc > 2 ? atoi(argv[2]) : 10;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    DMUMPS_STRUC_C id = {.comm_fortran = WORLD, .par = 1, .sym = argc > 1 ? atoi(argv[1]) : 0, .job = INITIALISE};
    dmumps_c(&id);
    build(&id, side, rank, ranks);
    ICNTL(id, 1) = ICNTL(id, 2) = ICNTL(id, 3) = -1; // says nothing
    ICNTL(id, 4) = 0;
    ICNTL(id, 18) = DISTRIBUTED;
    if (rank == 0)
        id.rhs = right_hand_side(side);
    id.job = EVERYTHING;
    dmumps_c(&id);
    if (rank == 0) {
        double worst = 0;
        for (int row = 0; row < id.n; row++)
            worst = fmax(worst, fabs(id.rhs[row] - answer(row)));
        if (id.infog[0] == 0 && worst < 1e-9)
            printf("No errors\n");
        else
            printf("infog %d %d, error %g\n", id.infog[0], id.infog[1], worst);
    }
    id.job = END;
    dmumps_c(&id);
    MPI_Finalize();
    return 0;
}
