/*
 * MPI_Pack_external and MPI_Unpack_external between buffers in GPU memory and in host memory. The oracle is the MPI
 * below, on copies in host memory.
 *
 * usage: external <driver, or ->. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, COUNT = 20, AT = 24, ROOM = 1 << 14 };

static char external32[] = "external32";
static unsigned char user[ROOM], packed[ROOM], want[ROOM], got[ROOM];
static gpu_memory device[2], host[2]; /* the user's buffer, and the packed one */

static const gpu_memory *memory_of(int places, int which)
{
    return places >> which & 1 ? &device[which] : &host[which];
}

static int call(bool unpack, bool large, void *at, void *packed_at, MPI_Datatype type, MPI_Aint *position)
{
#if MPI_VERSION >= 4
    MPI_Count wide = *position;
    int rc;

    if (large) {
        rc = unpack ? MPI_Unpack_external_c(external32, packed_at, ROOM, &wide, at, COUNT, type)
                    : MPI_Pack_external_c(external32, at, COUNT, type, packed_at, ROOM, &wide);
        *position = (MPI_Aint)wide;
        return rc;
    }
#endif
    (void)large;
    return unpack ? MPI_Unpack_external(external32, packed_at, ROOM, position, at, COUNT, type)
                  : MPI_Pack_external(external32, at, COUNT, type, packed_at, ROOM, position);
}

static void check_one(const char *name, MPI_Datatype type, bool unpack, bool large, int places)
{
    const gpu_memory *u = memory_of(places, 0), *p = memory_of(places, 1);
    MPI_Aint position = AT, native = AT;
    int rc;

    for (int i = 0; i < ROOM; i++) {
        user[i] = (unsigned char)(i * 7 % 61);
        packed[i] = (unsigned char)(i * 11 % 59);
    }
    gpu_write(u, 0, user, ROOM);
    gpu_write(p, 0, packed, ROOM);
    memcpy(want, unpack ? user : packed, ROOM);
    if (unpack)
        PMPI_Unpack_external(external32, packed, ROOM, &native, want, COUNT, type);
    else
        PMPI_Pack_external(external32, user, COUNT, type, want, ROOM, &native);
    rc = call(unpack, large, u->at, p->at, type, &position);
    CHECK(rc == MPI_SUCCESS && position == native, "%s: %d, position %ld instead of %ld", name, rc, (long)position,
          (long)native);
    gpu_read(unpack ? u : p, 0, got, ROOM);
    CHECK(!memcmp(got, want, ROOM), "%s of %s%s, buffers in GPU memory %d: wrong bytes", unpack ? "unpack" : "pack",
          name, large ? ", large" : "", places);
    gpu_read(unpack ? p : u, 0, got, ROOM);
    CHECK(!memcmp(got, unpack ? packed : user, ROOM), "%s of %s: what is read was written", unpack ? "unpack" : "pack",
          name);
}

static void check_type(const char *name, MPI_Datatype type)
{
    for (int unpack = 0; unpack < 2; unpack++)
        for (int large = 0; large < 2; large++)
            for (int places = 0; places < 4; places++)
                check_one(name, type, unpack, large, places);
}

static int class_of(int rc)
{
    int class = MPI_SUCCESS;

    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    return class;
}

static void check_error(void)
{
    char other[] = "no such representation";
    MPI_Aint position = 0, native_position = 0;
    int ours, native;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    native = class_of(PMPI_Pack_external(other, user, 1, MPI_INT, want, ROOM, &native_position));
    ours = class_of(MPI_Pack_external(other, device[0].at, 1, MPI_INT, device[1].at, ROOM, &position));
    CHECK(ours == native && position == native_position, "%s: class %d instead of %d, position %ld", other, ours,
          native, (long)position);
}

int main(int argc, char **argv)
{
    MPI_Datatype spread;
    int rc;

    MPI_Init(&argc, &argv);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    for (int i = 0; i < 2; i++) {
        device[i] = gpu_memory_make(GPU_DEVICE, ROOM);
        host[i] = gpu_memory_make(GPU_HOST, ROOM);
    }
    MPI_Type_vector(3, 2, 5, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    check_type("doubles", MPI_DOUBLE);
    check_type("shorts", MPI_SHORT);
    check_type("a vector", spread);
    check_error();
    MPI_Type_free(&spread);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
