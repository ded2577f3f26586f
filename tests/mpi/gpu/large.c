/*
 * Large messages between GPU buffers: those that are cut into chunks, several objects or one, and whose kernels come
 * while they are under way. Compared with what MPI packs from host memory.
 *
 * usage: large <driver, or -> [repetitions]. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, TAG = 9, TYPES = 8 };

static int rank;

static MPI_Datatype blocks_of_growing_length(int n)
{
    int *lengths = malloc((size_t)n * sizeof *lengths), *places = malloc((size_t)n * sizeof *places), at = 0;
    MPI_Datatype type;

    for (int i = 0; i < n; i++) {
        lengths[i] = 1 + i % 7;
        places[i] = at;
        at += lengths[i] + 1 + i % 3;
    }
    MPI_Type_indexed(n, lengths, places, MPI_INT, &type);
    free(lengths);
    free(places);
    return type;
}

static MPI_Datatype make_type(int i, int *count)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, inner;

    *count = 1;
    switch (i) {
    case 0: MPI_Type_vector(1 << 18, 1, 2, MPI_DOUBLE, &type); break;
    case 1:
        MPI_Type_vector(64, 3, 5, MPI_DOUBLE, &type);
        *count = 2000;
        break;
    case 2:
        MPI_Type_create_subarray(3, (int[]){66, 66, 66}, (int[]){64, 64, 64}, (int[]){1, 1, 1}, MPI_ORDER_C, MPI_DOUBLE,
                                 &type);
        break;
    case 3: type = blocks_of_growing_length(200000); break;
    case 4:
        MPI_Type_create_struct(2, (int[]){3, 1}, (MPI_Aint[]){0, 28}, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &inner);
        MPI_Type_create_resized(inner, 0, 40, &type);
        MPI_Type_free(&inner);
        *count = 100000;
        break;
    case 5: /* a transpose */
        MPI_Type_vector(512, 1, 512, MPI_DOUBLE, &inner);
        MPI_Type_create_resized(inner, 0, 8, &type);
        MPI_Type_free(&inner);
        *count = 512;
        break;
    case 6: MPI_Type_create_hvector(1024, 4096, 5000, MPI_BYTE, &type); break;
    default: MPI_Type_contiguous(1 << 20, MPI_FLOAT, &type); break;
    }
    MPI_Type_commit(&type);
    return type;
}

static void check_type(int i)
{
    int count, bytes, position = 0;
    MPI_Datatype type = make_type(i, &count);
    test_buffer from = test_buffer_create(type, count), want = test_buffer_create(type, count),
                got = test_buffer_create(type, count);
    gpu_memory out = gpu_memory_make(GPU_DEVICE, from.bytes), in = gpu_memory_make(GPU_DEVICE, from.bytes);
    size_t origin = (size_t)(from.origin - from.memory);
    char *packed;

    test_buffer_fill(&from, 1);
    test_buffer_fill(&want, 2);
    gpu_write(&out, 0, from.memory, from.bytes);
    gpu_write(&in, 0, want.memory, want.bytes);
    bytes = test_packed_bytes(type, count);
    packed = malloc((size_t)bytes);
    PMPI_Pack(from.origin, count, type, packed, bytes, &position, MPI_COMM_WORLD);
    position = 0;
    PMPI_Unpack(packed, bytes, &position, want.origin, count, type, MPI_COMM_WORLD);
    MPI_Sendrecv(out.at + origin, count, type, 1 - rank, TAG, in.at + origin, count, type, 1 - rank, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    gpu_read(&in, 0, got.memory, got.bytes);
    CHECK(test_buffer_equal(&got, &want), "type %d", i);
    gpu_memory_free(&out);
    gpu_memory_free(&in);
    test_buffer_free(&from);
    test_buffer_free(&want);
    test_buffer_free(&got);
    free(packed);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int repetitions = argc > 2 ? atoi(argv[2]) : 3, rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    for (int r = 0; r < repetitions; r++)
        for (int i = 0; i < TYPES; i++)
            check_type(i);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
