#include "bench/device/layouts.h"

#include "tests/mpi/support/harness.h"

/* Where n entries of a list begin, in elements: each up to eight entries behind the one before. */
static int *places(int n, int length)
{
    int *at = malloc((size_t)n * sizeof *at), next = 0;
    uint64_t state = 17;

    for (int i = 0; i < n; i++) {
        next += length * (1 + (int)(test_random(&state) % 8));
        at[i] = next;
    }
    return at;
}

MPI_Datatype device_points(int n)
{
    int *at = places(n, 3);
    MPI_Datatype type;

    MPI_Type_create_indexed_block(n, 3, at, MPI_FLOAT, &type);
    free(at);
    return type;
}

MPI_Datatype device_face(int n)
{
    MPI_Datatype type;

    MPI_Type_vector(n / 2, n - 2, n * (n / 2), MPI_DOUBLE, &type);
    return type;
}

MPI_Datatype device_lattice(int n)
{
    MPI_Datatype su3, parity, type;

    MPI_Type_contiguous(6, MPI_FLOAT, &su3);
    MPI_Type_vector(n, n * n / 2, n * n * n / 2, su3, &parity);
    MPI_Type_create_hvector(2, 1, (MPI_Aint)n * n * n * n * 12, parity, &type);
    MPI_Type_free(&su3);
    MPI_Type_free(&parity);
    return type;
}

/* One type of several that lie one behind the other, each in an array of `stride` bytes. Frees the parts. */
static MPI_Datatype side_by_side(int n, MPI_Datatype *parts, const MPI_Aint *at)
{
    int ones[8];
    MPI_Datatype type;

    for (int i = 0; i < n; i++)
        ones[i] = 1;
    MPI_Type_create_struct(n, ones, at, parts, &type);
    for (int i = 0; i < n; i++)
        MPI_Type_free(&parts[i]);
    return type;
}

MPI_Datatype device_weather(int n)
{
    enum { ARRAYS = 7, LEVELS = 4, ROWS = 3, HEIGHT = 16 };
    MPI_Datatype parts[ARRAYS];
    MPI_Aint at[ARRAYS];

    for (int i = 0; i < ARRAYS; i++) {
        at[i] = (MPI_Aint)i * HEIGHT * LEVELS * n * 4;
        MPI_Type_create_subarray(3, (int[]){HEIGHT, LEVELS, n}, (int[]){ROWS, LEVELS, n - 2}, (int[]){1, 0, 1},
                                 MPI_ORDER_C, MPI_FLOAT, &parts[i]);
    }
    return side_by_side(ARRAYS, parts, at);
}

MPI_Datatype device_particles(int n)
{
    enum { ARRAYS = 6 };
    MPI_Datatype parts[ARRAYS];
    MPI_Aint at[ARRAYS], next = 0;

    for (int i = 0; i < ARRAYS; i++) {
        const int length = i == 0 ? 3 : 1;
        int *begin = places(n, length);

        at[i] = next;
        MPI_Type_create_indexed_block(n, length, begin, MPI_DOUBLE, &parts[i]);
        next += (MPI_Aint)(begin[n - 1] + length) * 8;
        free(begin);
    }
    return side_by_side(ARRAYS, parts, at);
}

/* The largest even n for which `packed` is no more than `bytes`, at least 8. */
static int even_root(int64_t bytes, int64_t (*packed)(int64_t))
{
    int n = 8;

    while (packed(n + 2) <= bytes)
        n += 2;
    return n;
}

static int64_t face_bytes(int64_t n)
{
    return n / 2 * (n - 2) * 8;
}

static int64_t lattice_bytes(int64_t n)
{
    return n * n * n * 24;
}

MPI_Datatype device_layout(const char *name, int bytes)
{
    if (strcmp(name, "specfem3d_cm") == 0)
        return device_points(bytes / 12);
    if (strcmp(name, "nas_mg_y") == 0)
        return device_face(even_root(bytes, face_bytes));
    if (strcmp(name, "milc_su3_zd") == 0)
        return device_lattice(even_root(bytes, lattice_bytes));
    if (strcmp(name, "wrf_y") == 0)
        return device_weather(bytes / (7 * 4 * 3 * 4) + 2);
    if (strcmp(name, "lammps_full") == 0)
        return device_particles(bytes / 64);
    return MPI_DATATYPE_NULL;
}
