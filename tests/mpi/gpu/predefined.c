/*
 * Predefined types of GPU memory: the MPI is asked about those that the program uses, and about no others. An MPI need
 * not have all of them, and may end the program when it is asked about one that it lacks.
 *
 * usage: predefined <driver, or ->. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

#include <dlfcn.h>
#include <stdatomic.h>

enum { SKIPPED = 77, COUNT = 40, USED = 3 };

static MPI_Datatype used[USED]; /* set once MPI is there */
static _Atomic int asked, asked_of_others;

static void note(MPI_Datatype type)
{
    for (int i = 0; i < USED; i++)
        if (type == used[i]) {
            asked++;
            return;
        }
    asked_of_others++;
}

/* Packwright calls what the program has of this name, since a program comes before its libraries. */
#define SEEN __attribute__((visibility("default")))
#if MPI_VERSION >= 4
SEEN int PMPI_Type_get_envelope_c(MPI_Datatype type, MPI_Count *integers, MPI_Count *addresses, MPI_Count *counts,
                                  MPI_Count *types, int *combiner)
{
    int (*next)(MPI_Datatype, MPI_Count *, MPI_Count *, MPI_Count *, MPI_Count *, int *);

    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Type_get_envelope_c");
    note(type);
    return next(type, integers, addresses, counts, types, combiner);
}
#else
SEEN int PMPI_Type_get_envelope(MPI_Datatype type, int *integers, int *addresses, int *types, int *combiner)
{
    int (*next)(MPI_Datatype, int *, int *, int *, int *);

    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Type_get_envelope");
    note(type);
    return next(type, integers, addresses, types, combiner);
}
#endif

/* Elements of up to 16 bytes go through GPU memory, and come back as they were but for holes. */
static void check_type(MPI_Datatype type)
{
    unsigned char image[COUNT * 16], packed[COUNT * 16], unpacked[COUNT * 16];
    gpu_memory from = gpu_memory_make(GPU_DEVICE, sizeof image);
    int position = 0, size;

    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (unsigned char)(i * 7 % 251);
    gpu_write(&from, 0, image, sizeof image);
    MPI_Pack(from.at, COUNT, type, packed, sizeof packed, &position, MPI_COMM_SELF);
    MPI_Type_size(type, &size);
    CHECK(position == COUNT * size, "%d bytes are packed", position);
    memcpy(unpacked, image, sizeof image);
    position = 0;
    MPI_Unpack(packed, COUNT * size, &position, unpacked, COUNT, type, MPI_COMM_SELF);
    CHECK(!memcmp(unpacked, image, sizeof image), "elements of %d bytes: wrong bytes", size);
    gpu_memory_free(&from);
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    used[0] = MPI_INT;
    used[1] = MPI_DOUBLE;
    used[2] = MPI_DOUBLE_INT;
    for (int i = 0; i < USED; i++)
        check_type(used[i]);
    CHECK(asked > 0, "the test does not see what MPI is asked");
    CHECK(asked_of_others == 0, "MPI was asked about other types %d times", asked_of_others);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
