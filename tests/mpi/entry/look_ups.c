/*
 * A program that knows nothing of Packwright and has eight kernels, which each rank uses. Run with LD_PRELOAD by
 * look_ups.py. With the argument "first", rank 0 has used all of them before another rank uses one. Each rank prints
 * what memory it has at the end; of memory that ranks share, its part.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { TYPES = 8, BLOCKS = 2000, BYTES = BLOCKS * (2 * TYPES + 3) * 8 };

static unsigned char array[BYTES], packed[BYTES];

/* Returns whether the packed bytes are those of the blocks. */
static int use(int block)
{
    int stride = 2 * block + 1, position = 0, good = 1;
    MPI_Datatype type;

    MPI_Type_vector(BLOCKS, block, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Pack(array, 1, type, packed, BYTES, &position, MPI_COMM_WORLD);
    for (int i = 0; i < BLOCKS; i++)
        good = good && !memcmp(packed + (size_t)i * block * 8, array + (size_t)i * stride * 8, (size_t)block * 8);
    MPI_Type_free(&type);
    return good && position == BLOCKS * block * 8;
}

static void print_memory(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib;

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Pss: %ld", &kib) == 1)
            printf("memory %ld KiB\n", kib);
    if (f)
        fclose(f);
}

int main(int argc, char **argv)
{
    int rank, bad = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < BYTES; i++)
        array[i] = (unsigned char)(i * 31 + (i >> 8));
    if (argc > 1 && rank > 0)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int block = 1; block <= TYPES; block++)
        bad += !use(block);
    if (argc > 1 && rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    print_memory();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (bad)
        fprintf(stderr, "rank %d: %d types are packed wrongly\n", rank, bad);
    return bad > 0;
}
